"""Sweeps: a variant with several values of a parameter stands for one variant per value.

They are expanded before anything else is done with an experiment, so that nothing else knows of them: stored
documents have the variants that a sweep stands for. Faults of these are told where they are in the document sent.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from hooke.errors import Fault, SpecError
from hooke.spec.pointers import pointer
from hooke.spec.spaces import same
from hooke.spec.specification import MAX_VARIANTS, ExperimentSpec, Variant

LONGEST_NAME = 120


@dataclass(frozen=True)
class _Made:
    """One variant that a sweep stands for."""

    variant: Variant
    origin: int
    """Index of the swept variant."""
    chosen: dict[str, int]
    """Swept parameter -> index of its value."""


@dataclass(frozen=True)
class Expanded:
    """An experiment without sweeps, and where its variants come from."""

    spec: ExperimentSpec
    _made: tuple[_Made, ...]

    def as_sent(self, faults: Iterable[Fault]) -> list[Fault]:
        """Return faults with pointers into the document as it was sent, each once."""
        return list(dict.fromkeys(replace(each, pointer=self._place(each.pointer)) for each in faults))

    @contextmanager
    def telling(self) -> Iterator[ExperimentSpec]:
        """Raise any SpecError of the block with pointers into the document as it was sent."""
        try:
            yield self.spec
        except SpecError as error:
            raise SpecError(self.as_sent(error.faults)) from None

    def _place(self, place: str) -> str:
        _, *parts = place.split("/")
        if len(parts) < 2 or parts[0] != "variants":
            return place
        made = self._made[int(parts[1])]
        for name, index in made.chosen.items():
            at = pointer("variants", parts[1], "parameters", name)
            if place == at or place.startswith(f"{at}/"):
                return pointer("variants", made.origin, "sweep", name, index)
        return "/".join(["", "variants", str(made.origin), *parts[2:]])


def expanded(spec: ExperimentSpec) -> Expanded:
    """Return an experiment with a variant for each combination of the values of its sweeps.

    A baseline that names a swept variant is the one with the first value of each. Raises SpecError for a parameter
    with another value or a search, for a value that is listed twice, and for too many or too long names.
    """
    faults = [fault for i, variant in enumerate(spec.variants) for fault in _faults(variant, i)]
    count = sum(_count(variant) for variant in spec.variants)
    if count > MAX_VARIANTS:
        why = f"{count} variants, those of sweeps included; at most {MAX_VARIANTS} fit in one experiment"
        faults.append(Fault("/variants", why))
    if faults:
        raise SpecError(faults)
    made = [each for i, variant in enumerate(spec.variants) for each in _expand(variant, i)]
    if too_long := [each.origin for each in made if len(each.variant.name) > LONGEST_NAME]:
        why = f"a name with its values would have more than {LONGEST_NAME} characters: shorten the name"
        raise SpecError([Fault(pointer("variants", i, "name"), why) for i in dict.fromkeys(too_long)])
    first = {spec.variants[each.origin].name: each.variant.name for each in reversed(made)}
    names = {variant.name for variant in spec.variants if not variant.sweep}
    baseline = spec.baseline if spec.baseline in names else first.get(spec.baseline, spec.baseline)
    changes = {"variants": [each.variant for each in made], "baseline": baseline}
    return Expanded(spec.model_copy(update=changes) if any(v.sweep for v in spec.variants) else spec, tuple(made))


def _count(variant: Variant) -> int:
    count = 1
    for values in variant.sweep.values():
        count *= len(values)
    return count


def _faults(variant: Variant, index: int) -> Iterator[Fault]:
    for name, values in variant.sweep.items():
        place = ("variants", index, "sweep", name)
        if name in variant.parameters:
            yield Fault(pointer(*place), "this parameter has a value in `parameters`: give one or the other")
        if name in variant.search:
            yield Fault(pointer(*place), "this parameter is in `search`: sweep or search it")
        for k, value in enumerate(values):
            if any(same(value, other) for other in values[:k]):
                yield Fault(pointer(*place, k), "this value is listed twice")


def _expand(variant: Variant, origin: int) -> Iterator[_Made]:
    if not variant.sweep:
        yield _Made(variant, origin, {})
        return
    for indices in itertools.product(*(range(len(values)) for values in variant.sweep.values())):
        chosen = dict(zip(variant.sweep, indices, strict=True))
        values: dict[str, Any] = {name: variant.sweep[name][k] for name, k in chosen.items()}
        told = ", ".join(f"{name} {word(value)}" for name, value in values.items())
        changes = {
            "name": f"{variant.name} ({told})",
            "parameters": {**variant.parameters, **values},
            "sweep": {},
        }
        yield _Made(variant.model_copy(update=changes), origin, chosen)


def word(value: object) -> str:
    """Return the value of a parameter as it is told: "empty", "true", "0.5"."""
    if value is None:
        return "empty"
    return str(value).lower() if isinstance(value, bool) else str(value)
