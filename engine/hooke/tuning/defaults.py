"""Defaults that stay: what runs of a variant have had by default, further runs of it have, too.

A specification names some parameters; runs have all of them, with the defaults of the time when they were planned.
So the runs of an experiment tell these, whatever they are by now. Variants without a run have those of now. The
workload is one for all variants, and keeps its defaults for those that are added later, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hooke.catalogue.expand import Location
from hooke.catalogue.joined import setting_name
from hooke.catalogue.offers import AlgorithmOffer, Offer
from hooke.catalogue.searched import with_defaults
from hooke.errors import Fault, SpecError
from hooke.spec.pointers import pointer
from hooke.spec.spaces import Space
from hooke.spec.specification import ExperimentSpec, Variant
from hooke.tuning.continued import Earlier, Tried

WITHOUT: Mapping[tuple[str, str], Any] = {("adaptive-sgd", "at_once"): 0.0}
"""(algorithm, parameter) -> what runs did that were made before there was this parameter, where its default is
another one by now. Of all other parameters that an algorithm got later the default changes nothing."""


@dataclass(frozen=True)
class Defaults:
    """Values that runs of an experiment, or of those that it continues, have had by default."""

    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Variant -> parameter -> value; without those that the variant names."""
    workload: Mapping[str, Any] = field(default_factory=dict)
    """Parameter of the workload -> value."""
    changed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Variant -> parameter -> the default by now, where it is another one."""
    workload_changed: Mapping[str, Any] = field(default_factory=dict)
    """The same of the workload."""

    def of(self, variant: str) -> Mapping[str, Any]:
        """Return those of a variant."""
        return self.parameters.get(variant, {})

    def applied(self, spec: ExperimentSpec) -> ExperimentSpec:
        """Return the specification that names them, from which runs are planned.

        With tuning it names those of the workload: a variant would not search what it names.
        """
        workload = spec.workload.model_copy(update={"parameters": {**self.workload, **spec.workload.parameters}})
        if spec.tuning is not None:
            return spec.model_copy(update={"workload": workload})
        variants = [
            each.model_copy(update={"parameters": {**self.of(each.name), **each.parameters}})
            for each in spec.variants
        ]
        return spec.model_copy(update={"workload": workload, "variants": variants})


def defaults_of(
    spec: ExperimentSpec,
    places: Sequence[Location],
    made: Sequence[Earlier],
    spaces: Mapping[str, Mapping[str, Space]],
) -> Defaults:
    """Return the defaults of runs that exist.

    `made`: the experiment with its runs, or trials, and those that it continues, the newest one first. `spaces`:
    those of each algorithm. Raises SpecError for a value that algorithm or workload do not take any more.
    """
    if not places or not any(each.tried for each in made):
        return Defaults()
    offered, faults = places[0].offered, list[Fault]()
    found, changed = dict[str, dict[str, Any]](), dict[str, dict[str, Any]]()
    for i, variant in enumerate(spec.variants):
        offer = offered.algorithms[variant.algorithm]
        declared = spaces.get(variant.algorithm, {})
        own = {name: space for name, space in {**declared, **variant.search}.items() if space is not None}
        now = with_defaults(variant.parameters, offer, own)
        had = _had(variant, list(_runs_of(variant, offer, made)), declared)
        kept = {name: value for name, value in had.items() if name in now or name in own}
        found[variant.name] = kept
        changed[variant.name] = {n: now[n] for n, value in kept.items() if n in now and now[n] != value}
        faults += _refused(variant, kept, offer, own, i)
    workload = offered.workloads[spec.workload.name]
    runs = (trial for each in made for tried in each.tried.values() for trial in tried.values())
    mine = (run.workload for run in runs if run.workload and run.workload_hash == _source(workload))
    first: Mapping[str, Any] = next(mine, {})
    named, known = spec.workload.parameters, workload.resolve(spec.workload.parameters)[0]
    kept = {name: value for name, value in first.items() if name in known and name not in named}
    faults += [
        Fault(each.pointer, f"the value that its runs have had by default: {each.message}")
        for each in workload.resolve({**kept, **named}, "workload", "parameters")[1]
    ]
    if faults:
        raise SpecError(faults)
    of_variants = {name: values for name, values in changed.items() if values}
    return Defaults(found, kept, of_variants, {name: known[name] for name in kept if known[name] != kept[name]})


def _runs_of(variant: Variant, offer: AlgorithmOffer, made: Sequence[Earlier]) -> Iterator[tuple[Variant, Tried]]:
    """Yield the runs, or trials, of a variant, each with the variant as it was in their experiment.

    Runs of another source of the algorithm do not count.
    """
    for each in made:
        same = [own for own in each.spec.variants if own.name == variant.name]
        then = [own for own in same if own.algorithm == variant.algorithm]
        mine = [tried for at, tried in each.tried.items() if at[0] == variant.name]
        runs = [run for tried in mine for run in tried.values() if run.algorithm_hash == _source(offer)]
        yield from ((own, run) for own in then for run in runs)


def _source(offer: Offer) -> str | None:
    return offer.hash if offer.own else None


def _had(variant: Variant, runs: Sequence[tuple[Variant, Tried]], spaces: Mapping[str, Space]) -> dict[str, Any]:
    """Return the values that all runs have had of parameters which their variant neither named nor searched.

    `spaces`: those of the algorithm.
    """
    had = dict[str, list[Any]]()
    for own, run in runs:
        searched = {**spaces, **own.search}
        for name, value in run.parameters.items():
            space = searched.get(name)
            free = space is not None and space.applies(run.parameters)
            if not (free or name in own.parameters or setting_name(name)):
                had.setdefault(name, []).append(value)
    found = {name: values[0] for name, values in had.items() if all(value == values[0] for value in values)}
    for (algorithm, name), value in WITHOUT.items():
        if algorithm == variant.algorithm and runs and not any(name in run.parameters for _, run in runs):
            found[name] = value
    return {name: value for name, value in found.items() if name not in variant.parameters}


def _refused(
    variant: Variant, kept: Mapping[str, Any], offer: AlgorithmOffer, spaces: Mapping[str, Space], index: int
) -> Iterator[Fault]:
    """Yield the values that the algorithm does not take any more."""
    place = ("variants", index, "parameters")
    lacking = {pointer(*place, name) for name in spaces}  # given by trials
    for each in offer.resolve({**kept, **variant.parameters}, *place)[1]:
        if each.pointer not in lacking:
            yield Fault(each.pointer, f"the value that its runs have had by default: {each.message}")
