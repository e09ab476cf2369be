"""What a worker did over time, from its own rows: utilization and throughput in equal parts of its time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hooke.spec.devices import DeviceGroup, of_worker
from hooke.trace.phases import PHASES
from pydantic import TypeAdapter

from hooke_api.metrics.table import Column, Floats, sizes_of, unequal_batches

OWN = ("wall", *map(str, PHASES), "joined")
"""Columns that are read of a worker."""
PARTS = 60
"""Maximum number of parts."""
_GROUPS = TypeAdapter(tuple[DeviceGroup, ...])

Rows = Mapping[str, Column]


@dataclass(frozen=True)
class OverTime:
    """Utilization and throughput of a worker; equal lengths. NaN in a part in which the clock stood throughout."""

    ends: Floats
    """End of each part, s since the start, evaluations included."""
    computing: Floats
    """Share of the part in which it computed gradients; without the time of evaluations."""
    steps: Floats
    """Steps per second; without the time of evaluations."""


def over_time_of(own: Rows) -> OverTime:
    """Return what a worker did from the beginning of its first row to the end of its last one, in equal parts.

    Within a row time is divided evenly, so that a part without the end of a step has its share, too.
    """
    wall = own["wall"].astype(np.float64)
    phases = {name: own[name].astype(np.float64) for name in map(str, PHASES)}
    began = wall[0] - sum(float(column[0]) for column in phases.values()) if len(wall) else 0.0
    if not len(wall) or not wall[-1] > began:
        empty = np.empty(0)
        return OverTime(empty, empty, empty)
    edges, moments = np.linspace(began, wall[-1], min(PARTS, len(wall)) + 1), np.concatenate([[began], wall])

    def within(column: Floats) -> Floats:
        """Return what a column adds up to in each part."""
        return np.diff(np.interp(edges, moments, np.concatenate([[0.0], np.cumsum(column)])))

    whole, other = np.diff(edges), np.sum([phases[name] for name in phases if name != "evaluate"], axis=0)
    # evaluations after the last step are in its row, too, but not in the row's time
    stood = np.minimum(phases["evaluate"], np.maximum(np.diff(moments) - other, 0.0))
    train = whole - within(stood)
    train[train < 1e-6 * whole] = np.nan
    share = np.clip(within(phases["compute"]) / train, 0.0, 1.0)
    return OverTime(edges[1:], share, within(np.ones(len(wall))) / train)


def samples_of_a_step(spec: Mapping[str, Any], workers: int, notes: Mapping[str, str] | None = None) -> list[int]:
    """Return the samples of a step of each worker of a resolved specification; `notes`: of a rank of the run."""
    chosen = spec["algorithm"]
    parameters = chosen.get("parameters", {})
    batches = unequal_batches(chosen["name"], sizes_of(parameters, notes), workers)
    each: Sequence[int] = batches or [int(parameters.get("accumulation") or 1)] * workers
    return [int(spec["batch"]) * count for count in each]


def groups_of(spec: Mapping[str, Any], workers: int) -> list[DeviceGroup | None]:
    """Return the group of each worker; None without kinds."""
    found = spec.get("groups") or (spec.get("virtual") or {}).get("devices") or ()
    groups = _GROUPS.validate_python(tuple(found))
    return [of_worker(groups, worker) for worker in range(workers)]


def kinds_of(spec: Mapping[str, Any], workers: int) -> list[str | None]:
    """Return the kind of each worker as the form writes it (`hogwild-cpu:8`, `cpu@0.5`); None without kinds."""
    return [None if group is None else group.notation for group in groups_of(spec, workers)]
