"""Workers of kinds of their own: devices, threads that share the weights, and what these take in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from hooke.catalogue.groups import RATE
from hooke.catalogue.workload import Objective
from hooke.spec.devices import DeviceGroup
from hooke.spec.specification import Compute, RunSpec

if TYPE_CHECKING:
    from hooke.loop.state import RankState
    from hooke.objective.hogwild import Hogwild, Interleaved


def compute_of(compute: Compute, group: DeviceGroup | None, simulated: bool) -> Compute:
    """Return how a worker of this group computes its gradients, or a thread of it."""
    if group is None:
        return compute
    chosen: dict[str, Any] = {} if group.precision is None else {"precision": group.precision}
    if not simulated:
        chosen["device"] = "cuda" if group.kind == "cuda" else "cpu"
    if group.kind == "hogwild-cpu" or group.threads > 1:
        chosen["threads"] = 1 if group.kind == "hogwild-cpu" else group.threads
    return compute.model_copy(update=chosen)


def shared_by_threads(
    base: Objective, make: Callable[[int], Objective], spec: RunSpec, group: DeviceGroup | None
) -> Objective:
    """Return the objective of a worker whose threads share its weights, or `base` where there are none.

    `make` returns the objective of thread 1, 2, ... of the same worker.
    """
    if group is None or not group.shares_weights:
        return base
    from hooke.objective.hogwild import Interleaved, Threads

    eta = float(spec.algorithm.parameters[RATE])
    if spec.virtual is not None:
        return Interleaved(base, eta, group.parts, group.threads, 1 / spec.virtual.memory_bandwidth)
    return Threads(base, [make(thread) for thread in range(1, group.threads)], eta, group.parts)


def virtual_seconds(r: RankState, batch: Any) -> float:
    """Return the virtual seconds of the next gradient; of threads, until the last sub-batch has ended."""
    now, sent = r.ledger.wall(), r.comm.traffic.payload
    if r.group is None or not r.group.shares_weights:
        return r.compute_time.seconds(now, sent, r.joined)
    times = [r.compute_time.seconds(now, sent, r.joined, len(part)) for part in batch]
    return cast("Interleaved", r.objective).plan(times)


def updates(r: RankState) -> tuple[float, float]:
    """Return the L1 norms of the lost and of all updates by threads that share this rank's weights."""
    if r.group is None or not r.group.shares_weights:
        return 0.0, 0.0
    objective = cast("Hogwild", r.objective)
    return objective.lost, objective.pushed
