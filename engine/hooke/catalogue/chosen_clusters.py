"""Faults of the clusters that an experiment chooses, without a look at their catalogues."""

from __future__ import annotations

from collections.abc import Sequence

from hooke.errors import Fault
from hooke.spec.pointers import pointer
from hooke.spec.specification import ClusterChoice


def twice(names: Sequence[object]) -> list[int]:
    """Return the places of names that are there already."""
    return [i for i, name in enumerate(names) if name in names[:i]]


def check_cluster(cluster: ClusterChoice, *prefix: object) -> list[Fault]:
    """Return the faults of a cluster of an experiment by itself."""
    found = [
        Fault(pointer(*prefix, "workers", j), "this number of workers is listed twice")
        for j in twice(cluster.workers)
    ]
    if cluster.computed_on and not (cluster.virtual or cluster.groups):
        why = "only a virtual cluster, or one with kinds of workers, is computed on another one"
        found.append(Fault(pointer(*prefix, "computed_on"), why))
    if cluster.virtual and not cluster.computed_on:
        found.append(Fault(pointer(*prefix, "computed_on"), "name the cluster that computes this virtual one"))
    if cluster.virtual and (described := cluster.virtual.described):
        for j, workers in enumerate(cluster.workers):
            if workers != described:
                why = f"the devices are those of {described} workers: write workers: [{described}]"
                found.append(Fault(pointer(*prefix, "workers", j), why))
    if cluster.virtual and "auto" in cluster.workers:
        found.append(Fault(pointer(*prefix, "workers"), "a virtual cluster needs a number of workers"))
    return found
