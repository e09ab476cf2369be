"""A virtual cluster whose workers compute as fast as those of a real run did."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hooke.errors import ArgumentError
from hooke.spec.devices import DeviceGroup

DIGITS = 4
"""Of a speed, and of the seconds of a sample: a run seldom measures more."""
BLOCKS = 20
"""Parts of a worker's steps, at most, whose differences tell how sure its speed is."""
NAME = "measured-speeds"
"""Of the cluster, until it is given another one."""
MOST = 256
"""Workers that can be described, a group for each."""
CONTAINED = ("compute_seconds_per_step", "compute_seconds_after_exchange", "jitter_between_ranks")
"""Constants of a calibration that are in the measured speeds."""
SOURCE_LENGTH = 240


class Work(NamedTuple):
    """What a worker computed in a run."""

    samples: float
    seconds: float
    """Of computing gradients, sleep of a slowed worker included."""
    error: float | None = None
    """Standard error of samples per second, relative; None: not known."""


def error_of(seconds: Sequence[float]) -> float | None:
    """Return the relative standard error of a worker's speed, by the seconds of computing of its steps in order.

    By the means of blocks, because steps next to one another are alike: what takes a core takes it for a while.
    """
    blocks = min(BLOCKS, len(seconds) // 2)
    if blocks < 2:  # noqa: PLR2004 - one has no spread
        return None
    length = len(seconds) // blocks
    means = [math.fsum(seconds[k * length : (k + 1) * length]) / length for k in range(blocks)]
    mean = math.fsum(means) / blocks
    if mean <= 0:
        return None
    return math.sqrt(math.fsum((each - mean) ** 2 for each in means) / (blocks - 1) / blocks) / mean


def cluster_like(
    work: Sequence[Work | None], groups: Sequence[DeviceGroup | None], batch: int, what: str, computed_on: str
) -> dict[str, Any]:
    """Return a virtual cluster, as an experiment names it, whose workers have the measured speeds, each a group.

    `compute_seconds_per_sample` is that of the fastest process or thread, at the run's batch; the `speed` of a
    group is relative to it. Devices become processes (`cpu`) of their speed. Speeds are means over the run, with
    changes and stragglers of its workers in them. `what`: the run, for the source of the compute time.

    Raises ArgumentError if a worker has computed nothing, or there are too many.
    """
    if len(work) > MOST:
        raise ArgumentError(f"{what} has {len(work)} workers: at most {MOST} can have a speed each")
    rates = []
    for worker, (each, group) in enumerate(zip(work, groups, strict=True)):
        if each is None or each.seconds <= 0 or each.samples <= 0:
            raise ArgumentError(f"no speed of worker {worker} of {what} is known: it has told of no step")
        rates.append(each.samples / each.seconds / (group.at_once(batch) if group else 1.0))
    fastest = max(rates)
    virtual = {
        "compute_seconds_per_sample": _rounded(1 / fastest),
        "compute_source": f"measured: the workers of {what}, batch {batch}{_sure(work)}"[:SOURCE_LENGTH],
    }
    told = [_group(group, rate / fastest) for group, rate in zip(groups, rates, strict=True)]
    return {"name": NAME, "computed_on": computed_on, "workers": told, "virtual": virtual}


def calibrated(cluster: Mapping[str, Any], like: str) -> dict[str, Any]:
    """Return such a cluster with all other constants from the calibration of a cluster, or from its file."""
    return {**cluster, "virtual": {"like": like, **dict.fromkeys(CONTAINED, 0.0), **cluster["virtual"]}}


def _group(group: DeviceGroup | None, speed: float) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": "cpu"}
    if group is not None and group.shares_weights:
        found = {"kind": group.kind, "threads": group.threads}
        found |= {} if group.sub_batches is None else {"sub_batches": group.sub_batches}
    if group is not None and group.precision is not None:
        found["precision"] = group.precision
    return found | ({"speed": rounded} if (rounded := _rounded(speed)) != 1 else {})


def _sure(work: Sequence[Work | None]) -> str:
    known = [each.error for each in work if each is not None and each.error is not None]
    return f", standard errors of speeds up to {100 * max(known):.2g}%" if known else ""


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
