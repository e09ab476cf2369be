"""The settings that a search tries: points of a scrambled Halton sequence in the space of the free parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hooke.catalogue.joined import Searchable, given
from hooke.catalogue.searched import with_defaults
from hooke.spec.spaces import Edge, Space, by_condition
from hooke.spec.specification import Variant
from hooke.tuning.halton import halton

ATTEMPTS = 8
"""Points drawn per trial, at most: those that cannot run, or were drawn before, are replaced by the next ones."""
REACH = (0.5, 0.25, 0.1)
"""Shares of its width by which a space is widened: the first that the parameter's own limits allow."""
NEAR = (0.5, 0.1, 0.01, 0.001)
"""Shares of the distance of the two choices at an end, for numbers shortly beyond it."""
SCRAMBLE = 0
"""Seed of the sequence: the same points for every variant with as many free parameters."""


def free_spaces(variant: Variant, offer: Searchable) -> dict[str, Space]:
    """Return the space of each parameter that is searched.

    These are the spaces that the algorithm declares, replaced or removed by those of the variant, which may name
    settings of the workload, too (`hooke.catalogue.joined`); what has a value of its own is not searched, nor is
    one whose condition does not hold for parameters that are not searched. Each comes after those on which its
    condition depends.
    """
    declared: dict[str, Space | None] = {**offer.spaces, **variant.search}
    values = given(variant, offer)
    free = {name: space for name, space in declared.items() if space and name not in values}
    values = with_defaults(values, offer, free)
    while closed := [name for name, space in free.items() if not _may_apply(space, free, values)]:
        free = {name: space for name, space in free.items() if name not in closed}
    return by_condition({name: space.on(free.keys()) for name, space in free.items()})[0]


def _may_apply(space: Space, free: Mapping[str, Space], values: Mapping[str, Any]) -> bool:
    """Return whether the conditions on parameters that are not searched hold."""
    return space.on(space.conditions - free.keys()).applies(values)


def settings(
    trials: int,
    variant: Variant,
    offer: Searchable,
    workers: int,
    before: Sequence[Mapping[str, Any]] = (),
    passed: int | None = None,
) -> list[dict[str, Any]]:
    """Return the parameters of each trial, defaults included, each setting once.

    `before`: settings that were tried already; `passed`: points of the sequence that are passed over, by default
    as many. Fewer, if the space has fewer, or if too many of its points cannot run; one, the one given, if no
    parameter is free.
    """
    spaces = free_spaces(variant, offer)
    start = with_defaults(given(variant, offer), offer, spaces)
    if not spaces:
        return [] if start in before else [start]
    found: list[dict[str, Any]] = []
    passed = len(before) if passed is None else passed
    for point in halton(len(spaces), passed + ATTEMPTS * (len(before) + trials), passed, SCRAMBLE):
        resolved, why = _tried(start, spaces, point, offer, workers)
        if not why and resolved not in found and resolved not in before:
            found.append(resolved)
        if len(found) == trials:
            break
    return found


def why_none(variant: Variant, offer: Searchable, workers: int) -> str:
    """Return why the first point of a space cannot run."""
    spaces = free_spaces(variant, offer)
    start = with_defaults(given(variant, offer), offer, spaces)
    return _tried(start, spaces, next(halton(len(spaces), 1, 0, SCRAMBLE)), offer, workers)[1]


def _tried(
    start: Mapping[str, Any], spaces: Mapping[str, Space], point: list[float], offer: Searchable, workers: int
) -> tuple[dict[str, Any], str]:
    """Return the parameters at a point, and why they cannot run on a number of workers; empty if they can."""
    resolved, faults = offer.resolve(_values(start, spaces, point))
    if faults:
        return resolved, f"{faults[0].pointer[1:]}: {faults[0].message}"
    return resolved, next(iter(offer.faults(resolved, workers)), "")


@dataclass(frozen=True)
class AtEdge:
    """A chosen value that lies at an end of its space: a better one may lie beyond."""

    end: Edge
    wider: Space | None
    """A space that reaches further; None where choices do not say what follows them, or it cannot be taken."""


def edges(values: Mapping[str, Any], variant: Variant, offer: Searchable) -> dict[str, AtEdge]:
    """Return the searched parameters whose value lies at an end of its space that could be moved further."""
    found = {}
    for name, space in free_spaces(variant, offer).items():
        if space.applies(values) and (end := space.edge(values.get(name))) is not None:
            wider = next(_wider(space, end, name, values, offer), None)
            if wider or any(not offer.resolve({**values, name: value})[1] for value in _next_to(space, end)):
                found[name] = AtEdge(end, wider)
    return found


def _next_to(space: Space, end: Edge) -> Iterator[float]:
    """Yield numbers shortly beyond the choices at an end, of which the parameter may take one; none of intervals.

    The choice that would follow may be too far, as a rate of 0 after 0.3, 0.2, 0.1.
    """
    numbers = [choice for choice in space.choices or () if isinstance(choice, int | float)]
    if len(numbers) > 1:
        last, other = sorted(numbers, reverse=end == "high")[:2]
        yield last + (1 if end == "high" else -1)
        yield from (last + (last - other) * share for share in NEAR)


def _wider(space: Space, end: Edge, name: str, values: Mapping[str, Any], offer: Searchable) -> Iterator[Space]:
    """Yield wider spaces, the widest first, of which the parameter takes the new end."""
    for share in REACH:
        try:
            wider = space.widened(end, share)
        except ValueError:
            continue
        value = _end_of(wider, end)
        if value != _end_of(space, end) and not offer.resolve({**values, name: value})[1]:
            yield wider


def _end_of(space: Space, end: Edge) -> Any:
    if space.choices is not None:
        return space.choices[0 if end == "low" else -1]
    return round(getattr(space, end)) if space.integer else getattr(space, end)


def _values(start: Mapping[str, Any], spaces: Mapping[str, Space], point: list[float]) -> dict[str, Any]:
    values = dict(start)
    for (name, space), share in zip(spaces.items(), point, strict=True):
        if space.applies(values):
            values[name] = space.at(share)
    return values
