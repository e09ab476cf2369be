"""Clusters of an experiment that differ in nothing but the speeds of their workers: how far these are apart."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hooke.comparison.wording import listed
from hooke.spec.devices import PROFILES, of_worker
from hooke.spec.specification import ClusterChoice, VirtualCluster


def spreads(clusters: Sequence[ClusterChoice], workers: int) -> list[float] | None:
    """Return the speed of the fastest over that of the slowest worker of each cluster.

    None if they are less than two, not all virtual, differ in anything else, or all have the same spread. Speeds
    are those at the beginning; changes over time are something else.
    """
    simulated = [cluster.virtual for cluster in clusters if cluster.virtual]
    if len(simulated) < 2 or len(simulated) < len(clusters):
        return None
    if len({_otherwise(cluster, workers) for cluster in clusters}) > 1:
        return None
    found = [_spread(network, workers) for network in simulated]
    return found if len(set(found)) > 1 else None


def why_no_axis(clusters: Sequence[ClusterChoice], workers: int) -> str | None:
    """Return why the clusters are not ordered by the spread of speeds; None if they are, or no speeds differ.

    A spread is a number only where nothing else differs: real clusters differ in their machines, too, and
    stragglers and changes of speed have no fastest and slowest worker.
    """
    uneven = [each.name for each in clusters if _is_uneven(each, workers)]
    if len(clusters) < 2 or not uneven or spreads(clusters, workers) is not None:
        return None
    names = listed(uneven)
    head = f"Workers are unequal on {names}, but clusters are not ordered by the spread of speeds:"
    if any(cluster.virtual is None for cluster in clusters):
        return f"{head} measured ones differ in their machines, too."
    if len({_otherwise(cluster, workers) for cluster in clusters}) > 1:
        return f"{head} they differ in more than speeds at the beginning, as in stragglers, changes or links."
    return f"{head} it is the same on all of them."


def _is_uneven(cluster: ClusterChoice, workers: int) -> bool:
    """Return whether workers of a cluster are meant to differ in speed, at the beginning or later."""
    if cluster.virtual is None:
        groups = [of_worker(cluster.groups, worker) for worker in range(workers)]
        return len({(g.kind, g.threads, g.speed) if g else None for g in groups}) > 1
    network = cluster.virtual
    return _spread(network, workers) > 1 or bool(network.speed_changes) or network.straggling > 0


def _spread(network: VirtualCluster, workers: int) -> float:
    speeds = []
    for worker in range(workers):
        group, own = of_worker(network.devices, worker), network.speeds
        profile = PROFILES[group.kind].speed * group.speed if group else 1.0
        speeds.append(profile * (own[worker % len(own)] if own else 1.0))
    return max(speeds) / min(speeds)


def _otherwise(cluster: ClusterChoice, workers: int) -> str:
    """Return all of a virtual cluster but its name, its seeds and speeds, as text."""
    network: dict[str, Any] = cluster.model_dump(mode="json")["virtual"]
    for name in ("speeds", "devices"):
        network.pop(name, None)
    devices = cluster.virtual.devices if cluster.virtual else ()
    groups = [of_worker(devices, worker) for worker in range(workers)]
    kinds = [("cpu", 1, 1, None) if g is None else (g.kind, g.threads, g.parts, g.precision) for g in groups]
    return json.dumps([cluster.computed_on, network, kinds], sort_keys=True)
