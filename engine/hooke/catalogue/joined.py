"""What a search chooses from: parameters of a method, and the settings of the workload that a variant may set.

In a search the setting NAME of the workload is called `workload.NAME`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from hooke.catalogue.offers import AlgorithmOffer, WorkloadOffer
from hooke.errors import Fault
from hooke.spec.pointers import pointer
from hooke.spec.spaces import Space
from hooke.spec.specification import Variant, WorkloadChoice

PREFIX = "workload."


class Searchable(Protocol):
    """What a search has to know of a method, or of one with the settings of a workload."""

    @property
    def spaces(self) -> Mapping[str, Space]:
        """Parameter -> the values that tuning tries where a variant says nothing else."""

    def resolve(self, values: Mapping[str, Any], *prefix: object) -> tuple[dict[str, Any], list[Fault]]:
        """Return the parameters with all defaults, and the faults, whose paths begin with `prefix`."""

    def faults(self, values: Mapping[str, Any], workers: int) -> list[str]:
        """Return the reasons why valid parameters cannot run on that many workers."""


def setting_name(name: str) -> str | None:
    """Return the setting of the workload that a name in a search means; None: it is a parameter of the method."""
    return name.removeprefix(PREFIX) if name.startswith(PREFIX) else None


def joined(parameters: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters of a method and settings of a workload under their names in a search."""
    return {**parameters, **{PREFIX + name: value for name, value in settings.items()}}


def split(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters of the method and the settings of the workload."""
    own = {name: value for name, value in values.items() if setting_name(name) is None}
    return own, {name.removeprefix(PREFIX): value for name, value in values.items() if name not in own}


@dataclass(frozen=True)
class JoinedOffer:
    """A method and the workload of an experiment, as a variant searches them."""

    method: AlgorithmOffer
    workload: WorkloadOffer
    chosen: WorkloadChoice
    conditions: frozenset[str] = field(default_factory=frozenset)
    """Settings of the workload on which spaces of the variant depend: they are part of every result."""
    begun: Mapping[str, Space] | None = None
    """The spaces with which its experiment was begun; None: those that the method declares now."""
    kept: Mapping[str, Any] = field(default_factory=dict)
    """What runs of the variant have had by default, whatever the defaults of the method are by now."""

    @property
    def spaces(self) -> Mapping[str, Space]:
        """Return those of the method: settings of the workload are searched only where a variant names them."""
        return self.method.spaces if self.begun is None else self.begun

    def resolve(self, values: Mapping[str, Any], *prefix: object) -> tuple[dict[str, Any], list[Fault]]:
        """Return the parameters with all defaults, the settings that are given, and the faults of both."""
        own, settings = split(values)
        resolved, faults = self.method.resolve({**self.kept, **own}, *prefix)
        if not settings and not self.conditions:
            return resolved, faults
        trained, wrong = self.workload.resolve(self.chosen.parameters | settings)
        named = {name: trained.get(name) for name in (*sorted(self.conditions - settings.keys()), *settings)}
        return joined(resolved, named), faults + [_placed(each, settings, prefix) for each in wrong]

    def faults(self, values: Mapping[str, Any], workers: int) -> list[str]:
        """Return the reasons why valid parameters cannot run on that many workers."""
        return self.method.faults(split(values)[0], workers)

    def why_not(self, name: str) -> str | None:
        """Return why a variant cannot search this setting of the workload; None: it can."""
        if name in self.workload.per_variant:
            return None
        known = ", ".join(PREFIX + each for each in sorted(self.workload.per_variant)) or "none"
        return (
            f"a variant cannot set this parameter of {self.chosen.name}, so it cannot search it; it may: {known}"
        )


def _placed(fault: Fault, settings: Iterable[str], prefix: tuple[object, ...]) -> Fault:
    """Return a fault of the workload at the name that its parameter has in a search."""
    name = fault.pointer.removeprefix("/")
    if name in settings:
        return Fault(pointer(*prefix, PREFIX + name), fault.message)
    return Fault(pointer(*prefix), f"{name}: {fault.message}" if name else fault.message)


def offer_of(
    variant: Variant,
    method: AlgorithmOffer,
    workload: WorkloadOffer,
    chosen: WorkloadChoice,
    begun: Mapping[str, Space] | None = None,
    kept: Mapping[str, Any] | None = None,
) -> JoinedOffer:
    """Return what a variant of an experiment searches; `begun`, `kept`: see `JoinedOffer`."""
    named = {name for space in variant.search.values() if space is not None for name in space.conditions}
    settings = frozenset(n for each in named if (n := setting_name(each)))
    return JoinedOffer(method, workload, chosen, settings, begun, kept or {})


def given(variant: Variant, offer: Searchable) -> dict[str, Any]:
    """Return what a variant gives, under the names of a search."""
    return joined(variant.parameters, variant.workload_settings if isinstance(offer, JoinedOffer) else {})
