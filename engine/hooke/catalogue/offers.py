"""Catalogues: the algorithms and workloads that a specification may name.

On a cluster the entries are classes (`here`). The host of the API has no files of users: its entries are the
reports of agents, with a JSON Schema and a few attributes. Validation and expansion accept both.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic import BaseModel, ValidationError

from hooke.catalogue import algorithm as algorithms
from hooke.catalogue import workload as workloads
from hooke.catalogue.algorithm import Algorithm
from hooke.catalogue.claims import Coordination
from hooke.catalogue.discovery import built_in, found
from hooke.catalogue.items import CatalogueItem
from hooke.catalogue.workload import Workload
from hooke.errors import Fault
from hooke.spec.pointers import faults
from hooke.spec.spaces import Space


class Offer(Protocol):
    """Common properties of algorithms and workloads."""

    @property
    def hash(self) -> str | None:
        """SHA-256 of its source file; None if unknown."""

    @property
    def own(self) -> bool:
        """Whether it is a user's own; a run then records the hash of the planned source."""

    def resolve(self, values: Mapping[str, Any], *prefix: object) -> tuple[dict[str, Any], list[Fault]]:
        """Return the parameters with all defaults, and the faults, whose paths begin with `prefix`."""


class WorkloadOffer(Offer, Protocol):
    """A workload."""

    @property
    def classes(self) -> int | None:
        """Number of classes, if it is a classification with equally frequent classes, else None."""

    @property
    def per_variant(self) -> frozenset[str]:
        """The parameters that a variant may set: they change how it is trained, not what is learned."""


class AlgorithmOffer(Offer, Protocol):
    """An algorithm."""

    @property
    def servers(self) -> int:
        """Number of ranks that only hold the center."""

    @property
    def max_workers(self) -> int | None:
        """Largest number of workers that it can use; None: no limit."""

    @property
    def coordination(self) -> Coordination:
        """What lets a worker take its next step."""

    @property
    def may_drop(self) -> bool:
        """Whether it can continue without a worker that holds NaN or Inf."""

    @property
    def compressible(self) -> bool:
        """Whether the wire types sign and top-k can be used."""

    @property
    def encodes_itself(self) -> bool:
        """Whether it encodes its messages, so that a wire type changes nothing."""

    @property
    def takes_threads(self) -> bool:
        """Whether its workers may have threads that share their weights."""

    @property
    def takes_bf16_weights(self) -> bool:
        """Whether its weights may be bfloat16, which only local steps round at random."""

    @property
    def period_field(self) -> str | None:
        """The parameter with the number of local steps per exchange of a worker; None: one step."""

    @property
    def spaces(self) -> Mapping[str, Space]:
        """Parameter -> the values that tuning tries."""

    @property
    def updates_field(self) -> str | None:
        """The parameter with how workers add to a shared center (`Updates`); None: there is no such choice."""

    def first_period(self, values: Mapping[str, Any]) -> int:
        """Return the number of local steps before a worker's first exchange; 1 if there is no such parameter."""

    def gradients_per_step(self, values: Mapping[str, Any]) -> int:
        """Return the number of gradients that a worker averages for one step."""

    def faults(self, values: Mapping[str, Any], workers: int) -> list[str]:
        """Return the reasons why valid parameters cannot run on that many workers."""

    def warnings(self, values: Mapping[str, Any], workers: int) -> list[str]:
        """Return warnings for a run with these parameters on that many workers."""


@dataclass(frozen=True)
class Catalogue:
    """The algorithms and workloads of one place, by name."""

    algorithms: Mapping[str, AlgorithmOffer]
    workloads: Mapping[str, WorkloadOffer]
    file_faults: Mapping[str, str] = field(default_factory=dict)
    """Name of a user's file that is not offered -> the reason, shown if a specification uses the name."""


@dataclass(frozen=True)
class ClassOffer:
    """An offer of a class."""

    kind: type[BaseModel]
    hash: str | None = None
    own: bool = False

    def resolve(self, values: Mapping[str, Any], *prefix: object) -> tuple[dict[str, Any], list[Fault]]:
        """Return the parameters with all defaults, and the faults."""
        try:
            return self.kind.model_validate(values).model_dump(mode="json"), []
        except ValidationError as error:
            return dict(values), faults(error, values, *prefix, known=self.kind.model_fields)


@dataclass(frozen=True)
class ClassWorkloadOffer(ClassOffer):
    """A workload given as a class."""

    kind: type[Workload]

    @property
    def classes(self) -> int | None:
        """Number of classes, if it is a classification with equally frequent classes, else None."""
        return self.kind.classes

    @property
    def per_variant(self) -> frozenset[str]:
        """The parameters that a variant may set."""
        return per_variant(self.kind.model_json_schema())


@dataclass(frozen=True)
class ClassAlgorithmOffer(ClassOffer):
    """An algorithm given as a class."""

    kind: type[Algorithm]

    @property
    def servers(self) -> int:
        """Number of ranks that only hold the center."""
        return self.kind.servers

    @property
    def max_workers(self) -> int | None:
        """Largest number of workers that it can use; None: no limit."""
        return self.kind.max_workers

    @property
    def coordination(self) -> Coordination:
        """What lets a worker take its next step."""
        return self.kind.coordination

    @property
    def may_drop(self) -> bool:
        """Whether it can continue without a worker that holds NaN or Inf."""
        return self.kind.may_drop

    @property
    def compressible(self) -> bool:
        """Whether the wire types sign and top-k can be used."""
        return self.kind.compressible

    @property
    def encodes_itself(self) -> bool:
        """Whether it encodes its messages, so that a wire type changes nothing."""
        return self.kind.encodes_itself

    @property
    def takes_threads(self) -> bool:
        """Whether its workers may have threads that share their weights."""
        return self.kind.takes_threads

    @property
    def takes_bf16_weights(self) -> bool:
        """Whether its weights may be bfloat16, which only local steps round at random."""
        return self.kind.takes_bf16_weights

    @property
    def period_field(self) -> str | None:
        """The parameter with the number of local steps per exchange of a worker; None: one step."""
        return self.kind.period_field

    @property
    def spaces(self) -> Mapping[str, Space]:
        """Parameter -> the values that tuning tries."""
        return self.kind.spaces()

    @property
    def updates_field(self) -> str | None:
        """The parameter with how workers add to a shared center (`Updates`); None: there is no such choice."""
        return self.kind.updates_field

    def first_period(self, values: Mapping[str, Any]) -> int:
        """Return the number of local steps before a worker's first exchange; 1 if there is no such parameter."""
        return self.kind.model_validate(values).first_period()

    def gradients_per_step(self, values: Mapping[str, Any]) -> int:
        """Return the number of gradients that a worker averages for one step."""
        return self.kind.model_validate(values).gradients_per_step()

    def faults(self, values: Mapping[str, Any], workers: int) -> list[str]:
        """Return the reasons why valid parameters cannot run on that many workers."""
        return self.kind.model_validate(values).faults(workers)

    def warnings(self, values: Mapping[str, Any], workers: int) -> list[str]:
        """Return warnings for a run with these parameters on that many workers."""
        return self.kind.model_validate(values).warnings(workers)


def per_variant(schema: Mapping[str, Any]) -> frozenset[str]:
    """Return the parameters that a JSON Schema marks as those that a variant may set."""
    fields = schema.get("properties")
    found = fields.items() if isinstance(fields, dict) else ()
    return frozenset(name for name, each in found if isinstance(each, dict) and each.get("per_variant") is True)


def method(item: CatalogueItem, cls: type[Algorithm] | None = None) -> ClassAlgorithmOffer:
    """Return the offer of a discovered algorithm."""
    return ClassAlgorithmOffer(cls or item.cls, item.hash, item.origin != "built-in")


def workload(item: CatalogueItem, cls: type[Workload] | None = None) -> ClassWorkloadOffer:
    """Return the offer of a discovered workload."""
    return ClassWorkloadOffer(cls or item.cls, item.hash, item.origin != "built-in")


def here() -> Catalogue:
    """Return the catalogue of this machine: built-in, in HOOKE_PATH, installed."""
    methods, models = found("algorithm"), found("workload")
    return Catalogue(
        # the classes of `hooke.catalogue.algorithm`, so that the validated classes are those that run
        {name: _method(name, cls, methods.items) for name, cls in algorithms.catalogue().items()},
        {name: _workload(name, cls, models.items) for name, cls in tuple(workloads.catalogue().items())},
        reasons((fault.name, fault.file, fault.error) for fault in (*methods.file_faults, *models.file_faults)),
    )


def reasons(file_faults: Iterable[tuple[str, str, str]]) -> dict[str, str]:
    """Return name -> reason for each (name, file, error); names are written as in specifications."""
    return {name.lower().replace("_", "-"): f"{file}: {error}" for name, file, error in file_faults}


def _method(name: str, cls: type[Algorithm], items: Mapping[str, CatalogueItem]) -> ClassAlgorithmOffer:
    return method(items[name], cls) if name in items else ClassAlgorithmOffer(cls)


def _workload(name: str, cls: type[Workload], items: Mapping[str, CatalogueItem]) -> ClassWorkloadOffer:
    return workload(items[name], cls) if name in items else ClassWorkloadOffer(cls)


@functools.cache
def brought_along() -> Catalogue:
    """Return the built-in catalogue, which is the same on every machine with this version."""
    return Catalogue(
        {name: method(item) for name, item in built_in("algorithm").items()},
        {name: workload(item) for name, item in built_in("workload").items()},
    )
