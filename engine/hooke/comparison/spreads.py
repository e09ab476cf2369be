"""Clusters of an experiment that differ in nothing but the speeds of their workers: how far these are apart."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from hooke.comparison.wording import listed
from hooke.spec.devices import PROFILES, DeviceGroup, of_worker
from hooke.spec.specification import ClusterChoice

Device = Literal["auto", "cpu", "cuda"]
"""`compute.device` of the experiment: where workers without a kind compute."""


def spreads(clusters: Sequence[ClusterChoice], workers: int, device: Device = "auto") -> list[float] | None:
    """Return the speed of the fastest over that of the slowest worker of each cluster.

    None if they are less than two, some virtual and some not, differ in anything else, or all have the same
    spread. Real ones are alike where they are the same registered cluster, and their workers of the same kinds,
    slowed down or not. Workers without a kind are of that of `device`; with `auto`, which may find a CUDA device,
    of none that is known. Speeds are those at the beginning; changes over time are something else.
    """
    if len(clusters) < 2 or len({_otherwise(cluster, workers, device) for cluster in clusters}) > 1:
        return None
    found = [_spread(cluster, workers) for cluster in clusters]
    return found if len(set(found)) > 1 else None


def why_no_axis(clusters: Sequence[ClusterChoice], workers: int, device: Device = "auto") -> str | None:
    """Return why the clusters are not ordered by the spread of speeds; None if they are, or no speeds differ.

    A spread is a number only where nothing else differs: real clusters differ in their machines, too, and
    stragglers and changes of speed have no fastest and slowest worker.
    """
    uneven = [each.name for each in clusters if _is_uneven(each, workers)]
    if len(clusters) < 2 or not uneven or spreads(clusters, workers, device) is not None:
        return None
    names = listed(uneven)
    head = f"Workers are unequal on {names}, but clusters are not ordered by the spread of speeds:"
    if len({cluster.host for cluster in clusters if cluster.virtual is None}) > 1:
        return f"{head} measured ones differ in their machines, too."
    if len({cluster.virtual is None for cluster in clusters}) > 1:
        return f"{head} some are simulated, and others are not."
    if len({cluster.virtual is None and not cluster.groups for cluster in clusters}) > 1 and device == "auto":
        return f"{head} some have workers without a kind, which compute on what `compute.device: auto` finds."
    if len({_otherwise(cluster, workers, device) for cluster in clusters}) > 1:
        return f"{head} they differ in more than speeds at the beginning, as in stragglers, changes or links."
    return f"{head} it is the same on all of them."


def _is_uneven(cluster: ClusterChoice, workers: int) -> bool:
    """Return whether workers of a cluster are meant to differ in speed, at the beginning or later."""
    groups, network = _groups(cluster, workers), cluster.virtual
    if any(group is not None and not group.steady for group in groups):
        return True
    if network is None:
        return len({(g.kind, g.threads, g.speed) if g else None for g in groups}) > 1
    return _spread(cluster, workers) > 1 or bool(network.speed_changes) or network.straggling > 0


def _groups(cluster: ClusterChoice, workers: int) -> list[DeviceGroup | None]:
    described = cluster.virtual.devices if cluster.virtual else cluster.groups
    return [of_worker(described, worker) for worker in range(workers)]


def _spread(cluster: ClusterChoice, workers: int) -> float:
    """Return it; of a real cluster by what its workers of the same kinds are slowed down to."""
    own = cluster.virtual.speeds if cluster.virtual else ()
    speeds = []
    for worker, group in enumerate(_groups(cluster, workers)):
        profile = PROFILES[group.kind].speed if group and cluster.virtual else 1.0
        speeds.append(profile * (group.speed if group else 1.0) * (own[worker % len(own)] if own else 1.0))
    return max(speeds) / min(speeds)


def _otherwise(cluster: ClusterChoice, workers: int, device: Device) -> str:
    """Return all of a cluster but its name, its seeds and speeds, as text."""
    network: dict[str, Any] | None = cluster.model_dump(mode="json")["virtual"]
    if network is not None:
        network = {name: value for name, value in network.items() if name not in ("speeds", "devices")}
    device = device if network is None else "cpu"
    kinds = [_kind(group, device) for group in _groups(cluster, workers)]
    return json.dumps([cluster.host, network, kinds], sort_keys=True)


def _kind(group: DeviceGroup | None, device: Device) -> list[Any]:
    """Return all of a group but how many workers it has, and their speed; without a group that of `device`."""
    if group is None and device == "auto":
        return []
    told = DeviceGroup(kind=device) if group is None else group
    return [told.parts, told.model_dump(mode="json", exclude={"count", "speed", "sub_batches"})]
