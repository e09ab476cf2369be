"""What a tuned experiment leaves to no search: values, spaces and communication that were given to variants.

Equal numbers of trials do not make such a comparison one of methods at their best: a value may have been searched
elsewhere, and a space may lie beside the good settings. So the tuning behind a verdict names them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hooke.catalogue.joined import joined, offer_of
from hooke.catalogue.offers import brought_along
from hooke.comparison.wording import count
from hooke.spec.communication import Communication
from hooke.spec.specification import ExperimentSpec, Variant
from hooke.tuning.settings import free_spaces

MOST = 6
"""Variants that are named."""


def by_hand(spec: ExperimentSpec) -> str:
    """Return in words what not all variants have alike, sentences with a space before each; empty: nothing.

    Then what all have alike: it may suit one of them better.
    """
    if spec.tuning is None:
        return ""
    base = next((each for each in spec.variants if each.name == spec.baseline), spec.variants[0])
    values = {each.name: _values(each) for each in spec.variants}
    spaces = {each.name: _spaces(each) for each in spec.variants}
    sent = {each.name: _sent(each, base.communication) for each in spec.variants}
    given = {each.name: [each.algorithm] * (each.algorithm in spec.tuning.given) for each in spec.variants}
    return "".join(
        [
            *_told("Not searched", _own(values)),
            *_told("Searched in spaces of their own", _own(spaces)),
            *_told("Searched in spaces that the specification gives for an algorithm", given),
            *_told(f"With other communication than {base.name}", sent),
            *_told_of_all(
                base.name if len(spec.variants) == 1 else "All variants alike",
                [_alike(values), _alike(spaces), _alike_sent(spec)],
            ),
        ]
    )


def dimensions(spec: ExperimentSpec) -> str:
    """Return how many parameters were searched, if not as many of all variants, a sentence with a space before it.

    Of algorithms that are not built in it is not known.
    """
    found = searched(spec)
    return fewest_and_most(found, known_of_all=len(found) == len(spec.variants))


def searched(spec: ExperimentSpec) -> dict[str, int]:
    """Return by variant how many parameters were searched; without those of algorithms that are not built in."""
    if spec.tuning is None:
        return {}
    offered, found = brought_along(), dict[str, int]()
    workload = offered.workloads.get(spec.workload.name)
    for variant in spec.variants:
        if method := offered.algorithms.get(variant.algorithm):
            begun = spec.tuning.spaces.get(variant.algorithm)
            offer = offer_of(variant, method, workload, spec.workload, begun) if workload else method
            found[variant.name] = len(free_spaces(variant, offer))
    return found


def fewest_and_most(found: Mapping[str, int], *, known_of_all: bool) -> str:
    """Return a sentence, with a space before it, on numbers of searched parameters; empty where they are the same.

    A method with three times as many parameters that matter is called slower in most simulated comparisons with
    one that is as fast at its best (decision 150).
    """
    least, most = (pick(found, key=found.__getitem__, default="") for pick in (min, max))
    if not found or found[least] == found[most]:
        return ""
    of = "" if known_of_all else " of built-in methods"
    return (
        f" Between {found[least]} ({least}) and {count(found[most], 'parameter')} ({most}){of} were searched: as "
        "many trials find the best of many less often than of few."
    )


def _values(variant: Variant) -> dict[str, Any]:
    """Return what a variant is given, and as None what it keeps at its default."""
    defaults = {name: None for name, space in variant.search.items() if space is None}
    return joined(variant.parameters, variant.workload_settings) | defaults


def _spaces(variant: Variant) -> dict[str, Any]:
    return {name: space for name, space in variant.search.items() if space is not None}


def _alike(given: Mapping[str, dict[str, Any]]) -> list[str]:
    """Return the names of what all variants of the experiment have alike."""
    first, *others = given.values()
    return [name for name, value in first.items() if all(of.get(name, ...) == value for of in others)]


def _own(given: Mapping[str, dict[str, Any]]) -> dict[str, list[str]]:
    """Return by variant the names of the rest."""
    alike = _alike(given)
    return {who: [name for name in of if name not in alike] for who, of in given.items()}


def _sent(variant: Variant, other: Communication) -> list[str]:
    own = variant.communication
    names = [name for name in Communication.model_fields if getattr(own, name) != getattr(other, name)]
    return [f"{name} {getattr(own, name)}" for name in names]


def _alike_sent(spec: ExperimentSpec) -> list[str]:
    """Return what all variants have alike of communication that is not the default."""
    first, *others = [_sent(each, Communication()) for each in spec.variants]
    return [each for each in first if all(each in other for other in others)]


def _told_of_all(who: str, alike: Sequence[list[str]]) -> Iterator[str]:
    values, spaces, sent = alike
    parts = [f"not searched {', '.join(values)}"] if values else []
    parts += [f"searched in a space of the specification {', '.join(spaces)}"] if spaces else []
    parts += [f"communication with {', '.join(sent)}"] if sent else []
    if parts:
        yield f" {who}: {'; '.join(parts)}."


def _told(what: str, found: Mapping[str, list[str]]) -> Iterator[str]:
    named = [f"{name} ({', '.join(of)})" for name, of in found.items() if of]
    if named:
        more = [f"and {len(named) - MOST} more"] if len(named) > MOST else []
        yield f" {what}: {', '.join([*named[:MOST], *more])}."
