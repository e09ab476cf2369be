"""Validation of search spaces: every parameter exists and takes the values at both ends of its space."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hooke.catalogue.joined import JoinedOffer, Searchable, given, setting_name
from hooke.catalogue.offers import AlgorithmOffer
from hooke.errors import Fault
from hooke.spec.pointers import UNKNOWN, pointer
from hooke.spec.spaces import Space, by_condition
from hooke.spec.specification import ExperimentSpec, Variant

MOST_EVALUATIONS = 10_000
"""Of one run."""
ALMOST_ONE = 1 - 1e-12
NO_PARAMETER = "the algorithm has no parameter of this name"


def too_often(samples: int, budget: str) -> str:
    """Return what is said of evaluations that are more than a run may have."""
    least = -(-samples // MOST_EVALUATIONS)
    return f"more than 10,000 evaluations fit in {budget}: evaluate every {least:,} samples or more seldom"


def check_tuning(spec: ExperimentSpec) -> Iterator[Fault]:
    """Yield the faults of what an experiment says of its tuning, as far as no catalogue is needed."""
    if spec.tuning is None:
        for i, variant in enumerate(spec.variants):
            if variant.search:
                yield Fault(pointer("variants", i, "search"), "nothing is searched without `tuning`")
        return
    if spec.tuning.sampler != "tpe" and spec.tuning.search != "optuna":
        yield Fault(
            "/tuning/sampler", f"no effect with the search `{spec.tuning.search}`: samplers are those of `optuna`"
        )
    names = [cluster.name for cluster in spec.clusters]
    if spec.tuning.cluster and spec.tuning.cluster not in names:
        why = f"no cluster of this experiment has this name; there are: {', '.join(names)}"
        yield Fault("/tuning/cluster", why)
    if spec.evaluation.every * MOST_EVALUATIONS < (spec.tuning.samples or 0):
        yield Fault("/tuning/samples", too_often(spec.tuning.samples or 0, "the budget of a trial"))


def with_defaults(values: Mapping[str, Any], offer: Searchable, spaces: Mapping[str, Space]) -> dict[str, Any]:
    """Return parameters with all defaults; those that have none, but a space, are left out."""
    resolved, faults = offer.resolve(values)
    places = {fault.pointer for fault in faults}
    lacking = {
        name: space.at(0.5) for name, space in spaces.items() if pointer(name) in places and name not in values
    }
    if not lacking:
        return resolved
    filled, _ = offer.resolve({**lacking, **values})
    return {name: value for name, value in filled.items() if name not in lacking}


def given_by_trials(spec: ExperimentSpec, index: int, offers: Iterable[AlgorithmOffer]) -> set[str]:
    """Return the places of parameters of a variant that need no value, because trials give them one."""
    if spec.tuning is None:
        return set()
    variant = spec.variants[index]
    declared = [spec.tuning.spaces.get(variant.algorithm, offer.spaces) for offer in offers]
    free = {name for spaces in declared for name, space in {**spaces, **variant.search}.items() if space}
    return {pointer("variants", index, "parameters", name) for name in free - variant.parameters.keys()}


def check_search(variant: Variant, offer: Searchable, *prefix: object) -> Iterator[Fault]:
    """Yield the faults of a variant's own search spaces; `prefix` is the path of the variant."""
    values = given(variant, offer)
    if isinstance(offer, JoinedOffer) and offer.begun is not None:
        yield from _check_begun(offer.method, offer.begun, "tuning", "spaces", variant.algorithm)
    for name, space in variant.search.items():
        place = (*prefix, "search", name)
        if name in values:
            where = "parameters" if setting_name(name) is None else "workload_settings"
            yield Fault(pointer(*place), f"this parameter has a value in `{where}`: give one or the other")
            continue
        if (why := unknown_name(name, offer)) and (space is None or setting_name(name)):
            yield Fault(pointer(*place), why)
            continue
        tried = [] if space is None else _extremes(space)
        faults = [why for value in tried for why in _refused(values, name, value, offer)]
        yield from (Fault(pointer(*place), why) for why in dict.fromkeys(faults))
        if space is not None:
            for kind, other, named in _conditions(space):
                whys = _of_condition(values, other, named, offer)
                yield from (Fault(pointer(*place, kind, other), why) for why in dict.fromkeys(whys))
    searched = {name: space for name, space in {**offer.spaces, **variant.search}.items() if space}
    free = {name: space for name, space in searched.items() if name not in values}
    for name in sorted(by_condition(free)[1] & variant.search.keys()):
        why = "the condition depends on the parameter itself, or on one that depends on it"
        kind = "when" if searched[name].when else "unless"
        yield Fault(pointer(*prefix, "search", name, kind), why)


def _check_begun(offer: AlgorithmOffer, begun: Mapping[str, Space], *prefix: object) -> Iterator[Fault]:
    """Yield the names of spaces of an algorithm, and of their conditions, that are no parameters of it."""
    known = with_defaults({}, offer, offer.spaces).keys() | offer.spaces.keys()
    for name, space in sorted(begun.items()):
        conditions = [((name, kind, other), other, had[0]) for kind, other, had in _conditions(space)]
        for where, each, value in [((name,), name, space.at(0.5)), *conditions]:
            if each not in known and NO_PARAMETER in _refused({}, each, value, offer):
                yield Fault(pointer(*prefix, *where), NO_PARAMETER)


def unknown_name(name: str, offer: Searchable, values: Mapping[str, Any] | None = None) -> str | None:
    """Return why a search cannot name this; None: it is a parameter of the method, or a workload's setting."""
    setting = setting_name(name)
    if setting is not None:
        return offer.why_not(setting) if isinstance(offer, JoinedOffer) else None
    if name in offer.spaces or name in with_defaults(values or {}, offer, offer.spaces):
        return None
    return NO_PARAMETER


def _extremes(space: Space) -> list[Any]:
    return list(space.choices) if space.choices is not None else [space.at(0.0), space.at(ALMOST_ONE)]


def _conditions(space: Space) -> Iterator[tuple[str, str, list[Any]]]:
    """Yield the kind of each condition of a space, its parameter, and the values that it names."""
    for kind, named in (("when", space.when), ("unless", space.unless)):
        yield from ((kind, name, list(values)) for name, values in named.items())


def _of_condition(have: Mapping[str, Any], name: str, values: list[Any], offer: Searchable) -> Iterator[str]:
    if why := unknown_name(name, offer, have):
        yield why
        return
    for value in values:
        yield from _refused(have, name, value, offer)


def _refused(have: Mapping[str, Any], name: str, value: Any, offer: Searchable) -> Iterator[str]:
    own, who = pointer(name), "algorithm" if setting_name(name) is None else "workload"
    for fault in offer.resolve({**have, name: value})[1]:
        if fault.pointer == own and fault.message.startswith(UNKNOWN):
            yield f"the {who} has no parameter of this name"
        elif fault.pointer == own:
            yield f"the {who} does not take {value!r}: {fault.message}"
