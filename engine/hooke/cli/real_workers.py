"""Workers of a simulated run as those of a real one: their kinds, speeds, changes of speed and stragglers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from pydantic import ValidationError

from hooke.errors import Fault, SpecError
from hooke.spec.devices import LEAST_SPEED, REAL, Change, DeviceGroup, Kind, of_worker
from hooke.spec.pointers import faults
from hooke.spec.specification import VirtualCluster

HOST: Kind = "cpu-28"
"""The profile of a CPU; those of all other virtual devices are GPUs."""
ROUNDING = 1e-15
"""By how much a speed may be above 1 that is divided by the highest one."""


def real_workers(virtual: object, workers: int, device: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the groups of real workers 0, 1, ... that differ as simulated ones do, and what is told of them.

    No groups where all are alike. A virtual device becomes a CUDA device, `cpu-28` a process. `device`: of workers
    without a kind, as in `compute`. Real workers can only be slowed down: if any speed is above 1, all are divided
    by the highest one. Raises SpecError for an invalid cluster, and where changes of a worker are given twice.
    """
    try:
        cluster = VirtualCluster.model_validate(virtual)
    except ValidationError as error:
        raise SpecError(faults(error, virtual, "virtual")) from None
    if not (cluster.devices or cluster.speeds or cluster.speed_changes or cluster.straggling):
        return [], []
    usual = DeviceGroup(kind="cuda" if device == "cuda" else "cpu")
    simulated = [of_worker(cluster.devices, worker) or usual for worker in range(workers)]
    changes = [_changes(cluster, worker, group) for worker, group in enumerate(simulated)]
    speeds = [group.speed * _own(cluster, worker) for worker, group in enumerate(simulated)]
    highest = [max([1.0, *(change.speed for change in each)]) for each in changes]
    most = max([1.0, *(speed * factor for speed, factor in zip(speeds, highest, strict=True))])
    found = []
    for worker, group in enumerate(simulated):
        speed, (chance, longer) = speeds[worker] / most, cluster.stragglers(worker)
        if speed * highest[worker] > 1:  # by rounding
            speed *= 1 - ROUNDING
        update: dict[str, Any] = {"kind": _kind(group), "count": 1, "speed": max(LEAST_SPEED, speed)}
        update |= {"changes": changes[worker], "straggling": chance, "straggling_factor": longer}
        found.append(group.model_copy(update=update))
    alike = [(group, len(list(same))) for group, same in groupby(found)]
    groups = [group.model_copy(update={"count": count}) for group, count in alike]
    return [group.model_dump(mode="json") for group in groups], list(_told(cluster, most))


def _kind(group: DeviceGroup) -> Kind:
    return group.kind if group.kind in REAL else "cpu" if group.kind == HOST else "cuda"


def _own(cluster: VirtualCluster, worker: int) -> float:
    return cluster.speeds[worker % len(cluster.speeds)] if cluster.speeds else 1.0


def _changes(cluster: VirtualCluster, worker: int, group: DeviceGroup) -> tuple[Change, ...]:
    own = [each for each in cluster.speed_changes if each.worker in (None, worker)]
    if own and group.changes:
        why = f"worker {worker} has changes of its kind, too: a real worker has one list of them"
        raise SpecError([Fault("/virtual/speed_changes", why)])
    return tuple(Change(at=each.at, over=each.over, speed=each.speed) for each in own) or group.changes


def _told(cluster: VirtualCluster, most: float) -> Iterator[str]:
    kinds = dict.fromkeys(group.kind for group in cluster.devices if group.kind not in REAL)
    if kinds:
        told = ", ".join(f"{kind} becomes {'cpu' if kind == HOST else 'cuda'}" for kind in kinds)
        yield f"with real workers {told}, without the assumed speed, memory and link"
    if most > 1:
        yield f"real workers can only be slowed down: their speeds are the simulated ones over {most:g}"
