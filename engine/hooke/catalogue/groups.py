"""Checks of groups of workers (`hooke.spec.devices`): kinds that a cluster has, numbers, threads and methods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hooke.catalogue.offers import AlgorithmOffer
from hooke.errors import Fault
from hooke.spec.devices import REAL, DeviceGroup
from hooke.spec.pointers import pointer
from hooke.spec.specification import ClusterChoice, Compute, ExperimentSpec, RunSpec

MOST_THREADS = 1024
RATE = "lr"
"""The parameter with the rate at which threads of a worker update the weights that they share."""


def check_threads(compute: Compute) -> list[Fault]:
    """Return what is wrong with the threads of a rank; the specification takes any number, as earlier ones did."""
    if compute.threads == "group" or 1 <= compute.threads <= MOST_THREADS:
        return []
    return [Fault("/compute/threads", f"a rank has 1 to {MOST_THREADS:,} threads, or `group`")]


def groups_of(cluster: ClusterChoice) -> tuple[DeviceGroup, ...]:
    """Return the groups of a cluster: of a virtual one its devices."""
    return cluster.virtual.devices if cluster.virtual else cluster.groups


def check_cluster(cluster: ClusterChoice, batch: int, *prefix: object) -> list[Fault]:
    """Return the faults of a cluster's groups, apart from those of the methods that run there."""
    groups, place = groups_of(cluster), pointer(*prefix, "workers")
    if cluster.virtual and cluster.groups:
        return [Fault(place, "the groups of a virtual cluster are its `devices`: write them as `workers`")]
    found = [Fault(place, why) for why in _of_threads(groups, batch)]
    if cluster.virtual:
        return found
    found += [Fault(place, why) for why in _of_real(groups)]
    described = sum(group.count for group in groups)
    if groups and any(workers != described for workers in cluster.workers):
        found.append(Fault(place, f"the groups are those of {described} workers: write workers: [{described}]"))
    return found


def check_run(spec: RunSpec, method: AlgorithmOffer) -> list[Fault]:
    """Return the faults of a run's groups; `method`: that of the run."""
    simulated = spec.world == "virtual" and spec.virtual is not None
    groups = spec.virtual.devices if simulated and spec.virtual else spec.groups
    told = [*_of_threads(groups, spec.batch), *([] if simulated else _of_real(groups))]
    told += _of_method(groups, spec.algorithm.name, method, method.resolve(spec.algorithm.parameters)[0])
    if simulated and spec.groups and not groups:
        return [Fault("/groups", "the kinds of workers of a simulated run are `virtual.devices`: give them there")]
    described = sum(group.count for group in groups)
    if not simulated and 0 < described < spec.workers:  # a method may take fewer workers than there are
        told.append(f"the groups are those of {described} workers, but the run has {spec.workers}")
    return [Fault("/virtual/devices" if simulated else "/groups", why) for why in told]


def check_methods(spec: ExperimentSpec, variant: int, method: AlgorithmOffer) -> list[Fault]:
    """Return why a variant, which is of this method, cannot run on workers with threads."""
    groups = [group for cluster in spec.clusters for group in groups_of(cluster)]
    chosen = spec.variants[variant]
    have, space = dict(method.resolve(chosen.parameters)[0]), chosen.search.get("optimizer")
    if chosen.search.get(RATE) is not None:
        have.setdefault(RATE, 1.0)
    tried = [have.get("optimizer", "sgd")] if space is None or space.choices is None else space.choices
    every = [_of_method(groups, chosen.algorithm, method, have | {"optimizer": each}) for each in tried]
    told = [why for found in every for why in found]
    return [Fault(pointer("variants", variant, "algorithm"), why) for why in dict.fromkeys(told)]


def _of_real(groups: Iterable[DeviceGroup]) -> list[str]:
    found = [
        f"a real cluster has no device {group.kind}, which is simulated: choose one of {', '.join(REAL)}"
        for group in groups
        if group.kind not in REAL
    ]
    if any(group.speed > 1 for group in groups):
        found.append("a real worker can only be slowed down: give a speed of at most 1")
    elif any(group.most > 1 for group in groups):
        found.append("a real worker can only be slowed down: after a change its speed is above 1, times `speed`")
    return list(dict.fromkeys(found))


def _of_threads(groups: Iterable[DeviceGroup], batch: int) -> list[str]:
    most = max((group.parts for group in groups), default=1)
    if most <= batch:
        return []
    return [f"a batch of {batch} has no {most} sub-batches: take a larger batch, or fewer threads or sub-batches"]


def _of_method(
    groups: Sequence[DeviceGroup], name: str, method: AlgorithmOffer, parameters: Mapping[str, Any]
) -> list[str]:
    if not any(group.shares_weights for group in groups):
        return []
    if not method.takes_threads:
        plain = "threads that share weights take plain steps of SGD at the rate `lr`, which"
        return [f"{plain} in {name} is the length of other steps: give its workers one thread each (kind cpu)"]
    if not isinstance(parameters.get(RATE), int | float):
        return [f"threads that share weights step at the rate `{RATE}`, which {name} does not have"]
    if (optimizer := parameters.get("optimizer", "sgd")) != "sgd":
        return [f"threads that share weights take steps of SGD, but the optimizer is {optimizer}: choose sgd"]
    return []
