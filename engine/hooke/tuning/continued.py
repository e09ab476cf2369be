"""An experiment that continues earlier ones: their trials count in its searches.

A trial counts because the new experiment would have made the same run: workload, conditions, clusters and seeds of
trials are equal, and its setting lies in the new space. Spaces may only become wider, therefore.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hooke.catalogue.joined import JoinedOffer, Searchable, given, joined, setting_name, split
from hooke.catalogue.searched import with_defaults
from hooke.errors import Fault
from hooke.spec.pointers import pointer
from hooke.spec.specification import ClusterChoice, ExperimentSpec, Variant
from hooke.tuning.search import Bracket, rungs, tuning_seeds
from hooke.tuning.settings import free_spaces

Where = tuple[str, str, int]
"""(variant, cluster, workers) of a search."""
EQUAL = ("workload", "batch", "sharding", "first_seed", "target", "evaluation", "compute", "on_bad_worker")
"""Keys of an experiment that determine what its trials show."""
OTHER = "differs in the experiment that this one continues, so its trials do not count here: make them equal"


@dataclass(frozen=True)
class Tried:
    """What a trial has run with."""

    parameters: dict[str, Any]
    """Of the algorithm, and settings of the workload, under their names in a search (`hooke.catalogue.joined`)."""
    algorithm_hash: str | None = None
    """SHA-256 of the source of a user's own algorithm."""
    workload_hash: str | None = None
    workload: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the workload that all variants share; empty: not known."""


Trials = Mapping[Where, Mapping[int, Tried]]
"""The trials of each search of one experiment, by number."""


@dataclass(frozen=True)
class Earlier:
    """An experiment that is continued, with its own trials."""

    spec: ExperimentSpec
    tried: Trials


def brackets(earlier: Sequence[Earlier], where: Where) -> tuple[Bracket, ...]:
    """Return the brackets of a search that earlier experiments made, the first one first."""
    made = [(each.spec, each.tried[where]) for each in earlier if each.tried.get(where)]
    return tuple(Bracket(min(tried), len(tried), rungs(spec), tuning_seeds(spec)) for spec, tried in made)


def differences(spec: ExperimentSpec, earlier: ExperimentSpec) -> Iterator[Fault]:
    """Yield what makes the trials of an earlier experiment other ones than those of `spec`."""
    for key in EQUAL:
        if getattr(spec, key) != getattr(earlier, key):
            yield Fault(pointer(key), OTHER)
    for key in ("samples", "max_seconds", "schedule_samples"):
        if getattr(spec.budget, key) != getattr(earlier.budget, key):
            yield Fault(pointer("budget", key), OTHER)
    yield from _of_tuning(spec, earlier)
    variants = {variant.name: variant for variant in earlier.variants}
    for i, variant in enumerate(spec.variants):
        if (before := variants.get(variant.name)) is None:
            yield Fault(
                pointer("variants", i, "name"),
                "the experiment that this one continues has no variant of this name, so its trials would be fewer",
            )
            continue
        for key in ("algorithm", "communication"):
            if getattr(variant, key) != getattr(before, key):
                yield Fault(pointer("variants", i, key), OTHER)
    clusters = {cluster.name: cluster for cluster in earlier.clusters}
    for i, cluster in enumerate(spec.clusters):
        place = clusters.get(cluster.name)
        if place and _place(cluster) != _place(place):
            yield Fault(pointer("clusters", i), OTHER)


def _place(cluster: ClusterChoice) -> tuple[object, ...]:
    """Return what a cluster is, apart from its name: how many run there, and how often, may change."""
    return cluster.host, cluster.virtual, cluster.groups


def _of_tuning(spec: ExperimentSpec, earlier: ExperimentSpec) -> Iterator[Fault]:
    if earlier.tuning is None:
        yield Fault("/tuning/continues", "that experiment has no tuning, so it has no trials to continue")
    elif spec.tuning is not None:
        if spec.tuning.seeds != earlier.tuning.seeds:
            yield Fault("/tuning/seeds", OTHER)
        if (spec.tuning.samples or spec.budget.samples) != (earlier.tuning.samples or earlier.budget.samples):
            yield Fault("/tuning/samples", OTHER)


def outside(
    variant: Variant, offer: Searchable, tried: Mapping[int, Mapping[str, Any]], *prefix: object
) -> Iterator[Fault]:
    """Yield the parameters for which a trial has a value that the variant would not try; `prefix`: its path.

    `tried`: the setting of each trial, with the defaults of parameters that the method got later.
    """
    spaces = free_spaces(variant, offer)
    plain = {name: value for name, value in _without(offer, tried).items() if name not in spaces}
    values = plain | with_defaults(given(variant, offer), offer, spaces)
    for name in values | spaces:
        space = spaces.get(name)
        for number, trial in tried.items():
            had = trial.get(name, plain.get(name))
            here = space is not None and space.applies(trial)
            if space is not None and here and space.position(had) is None:
                here_is = pointer(*prefix, "search", name)
                yield Fault(
                    here_is, f"trial {number} had {had!r}, outside of this space: it can only become wider"
                )
                break
            if not here and had != values.get(name):
                setting = setting_name(name)
                place = ("parameters", name) if setting is None else ("workload_settings", setting)
                yield Fault(
                    pointer(*prefix, *place),
                    f"trial {number} of the experiment that is continued had {had!r}, not {values.get(name)!r}",
                )
                break


def _without(offer: Searchable, tried: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the settings of the workload that trials have, as they are where a variant names none of them."""
    if not isinstance(offer, JoinedOffer):
        return {}
    shared, _ = offer.workload.resolve(offer.chosen.parameters)
    return joined({}, {name: shared.get(name) for trial in tried.values() for name in split(trial)[1]})
