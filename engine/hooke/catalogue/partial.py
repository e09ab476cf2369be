"""Further faults of a document whose form is wrong in places: the rest of it is checked as well."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pydantic import ValidationError

from hooke.errors import Fault, SpecError
from hooke.spec.pointers import faults as told
from hooke.spec.specification import ExperimentSpec

_UNNAMED = "unnamed"
_LARGE = 10**9
_STANDINS: dict[str, Any] = {
    "name": _UNNAMED,
    "algorithm": _UNNAMED,
    "baseline": _UNNAMED,
    "workload": {"name": _UNNAMED},
    "variants": [{"name": _UNNAMED, "algorithm": _UNNAMED}],
    "clusters": [{"name": _UNNAMED}],
    "budget": {"samples": _LARGE},
    "evaluation": {"every": _LARGE},
    "samples": _LARGE,
    "every": _LARGE,
    "value": 0.5,
    "workers": [1],
}
"""Values for fields that have no default. What is found at the same place, or inside it, is not told."""
_ROUNDS = 4
"""Each takes away what the one before has uncovered, as a field that is missing once a wrong value is gone."""
_MOST = 1000
"""Faults of form beyond which the rest is not looked at: it costs time, and nobody reads more."""
_FOLLOW = {
    "budget": {"evaluation", "tuning"},
    "clusters": {"tuning"},
    "evaluation": {"budget", "tuning"},
    "target": {"tuning"},
    "tuning": {"budget", "evaluation", "variants"},
    "variants": {"baseline"},
}
"""Part of the document -> the other parts that are judged by it."""
_JUDGING = frozenset({"virtual", "groups", "computed_on", "on", "sweep", "search"})
"""Parts of a cluster or a variant by which its other parts are judged."""
_ITEM = 3
"""Parts of the pointer of an item: `/clusters/0` has an empty one first."""


def further(document: Any, faults: Iterable[Fault], check: Callable[[ExperimentSpec], object]) -> list[Fault]:
    """Return the faults that `check` finds beside those of the form.

    `check` raises SpecError, with pointers into the document as it was sent. None where the rest cannot be read.
    """
    places = [fault.pointer for fault in faults]
    spec = _mended(document, places) if len(places) <= _MOST else None
    if spec is None:
        return []
    try:
        check(spec)
    except SpecError as error:
        wrong = _Wrong(places)
        return [fault for fault in error.faults if not wrong.explains(fault.pointer)]
    return []


def _mended(document: Any, places: list[str]) -> ExperimentSpec | None:
    """Return the experiment without what is wrong in it; appends further places to `places`."""
    pending = list(places)
    for _ in range(_ROUNDS):
        pending = [_whole(place) for place in pending]
        places += pending
        for place in pending:
            document = _without(document, place.split("/")[1:])
        try:
            return ExperimentSpec.model_validate(document)
        except ValidationError as error:
            pending = [fault.pointer for fault in told(error, document)]
        if len(places) + len(pending) > _MOST:
            return None
    return None


def _whole(place: str) -> str:
    """Return the list of which a place is an item: without the item, those behind it would have other places."""
    before, _, last = place.rpartition("/")
    return before if last.isdigit() else place


def _without(node: Any, parts: list[str]) -> Any:
    """Return a copy in which the value at a place is a stand-in, or gone; copies only what is on the way."""
    if not parts:
        return node
    key, *rest = parts
    if isinstance(node, list) and key.isdigit() and int(key) < len(node):
        return [_without(item, rest) if i == int(key) else item for i, item in enumerate(node)]
    if not isinstance(node, dict):
        return node
    name = key.replace("~1", "/").replace("~0", "~")
    if rest and name in node:
        return {**node, name: _without(node[name], rest)}
    kept = {other: value for other, value in node.items() if other != name}
    return {**kept, name: _STANDINS[name]} if name in _STANDINS else kept


class _Wrong:
    """The places that are wrong; sets, so that thousands of them cost the sum of their sizes."""

    def __init__(self, places: Iterable[str]) -> None:
        split = [place.split("/") for place in places]
        self._places = {tuple(parts) for parts in split}
        self._around = {tuple(parts[:n]) for parts in split for n in range(1, len(parts) + 1)}
        self._judged = {tuple(parts[:_ITEM]) for parts in split if parts[_ITEM:] and parts[_ITEM] in _JUDGING}
        self._following = {(name,) for parts in split if len(parts) > 1 for name in _FOLLOW.get(parts[1], ())}

    def explains(self, found: str) -> bool:
        """Return whether a fault may follow from what stands in at one of these places."""
        at = tuple(found.split("/"))
        within = any(at[:n] in self._places for n in range(1, len(at) + 1))
        return within or at in self._around or at[:_ITEM] in self._judged or at[1:2] in self._following
