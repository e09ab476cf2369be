"""What a specification may choose from: the algorithms and workloads that one place offers.

On a cluster they are classes (`here`). The host of the API has no files of users: there an entry is what an agent
reported, a JSON Schema and a few words. Validation and expansion take either.
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
from hooke.catalogue.discovery import CatalogueItem, built_in, found
from hooke.catalogue.workload import Workload
from hooke.errors import Fault
from hooke.spec.pointers import faults


class Offer(Protocol):
    """What algorithms and workloads have in common."""

    @property
    def hash(self) -> str | None:
        """SHA-256 of its source file, or None where nobody said."""

    @property
    def own(self) -> bool:
        """A user's own: a run records the hash of the source that it meant."""

    def resolve(self, values: Mapping[str, Any], *prefix: object) -> tuple[dict[str, Any], list[Fault]]:
        """Return the parameters with every default, and the faults; these lie below the path `prefix`."""


class WorkloadOffer(Offer, Protocol):
    """A workload."""

    @property
    def classes(self) -> int | None:
        """How many classes it tells apart, where it does and says so."""


class AlgorithmOffer(Offer, Protocol):
    """An algorithm."""

    @property
    def servers(self) -> int:
        """Ranks that only hold the center."""

    @property
    def max_workers(self) -> int | None:
        """Workers that it can use at most."""

    @property
    def coordination(self) -> Coordination:
        """Who tells a worker to go on."""

    @property
    def may_drop(self) -> bool:
        """It goes on without a worker whose numbers went bad."""

    @property
    def period_field(self) -> str | None:
        """The parameter that says how many local steps lie between two exchanges of a worker."""

    def exchange_period(self, values: Mapping[str, Any]) -> int:
        """Return that number of local steps, at most; 1 where no parameter says it."""

    def faults(self, values: Mapping[str, Any], workers: int) -> list[str]:
        """Return why valid parameters cannot run on that many workers."""

    def warnings(self, values: Mapping[str, Any], workers: int) -> list[str]:
        """Return what a user should know before they do."""


@dataclass(frozen=True)
class Catalogue:
    """What one place offers, by name."""

    algorithms: Mapping[str, AlgorithmOffer]
    workloads: Mapping[str, WorkloadOffer]
    file_faults: Mapping[str, str] = field(default_factory=dict)
    """Why a file of a user's is not offered, by its name: said where a specification names it."""


@dataclass(frozen=True)
class ClassOffer:
    """An offer whose class is at hand."""

    kind: type[BaseModel]
    hash: str | None = None
    own: bool = False

    def resolve(self, values: Mapping[str, Any], *prefix: object) -> tuple[dict[str, Any], list[Fault]]:
        """Return the parameters with every default, and the faults."""
        try:
            return self.kind.model_validate(values).model_dump(mode="json"), []
        except ValidationError as error:
            return dict(values), faults(error, values, *prefix)


@dataclass(frozen=True)
class ClassWorkloadOffer(ClassOffer):
    """A workload whose class is at hand."""

    kind: type[Workload]

    @property
    def classes(self) -> int | None:
        """How many classes it tells apart, where it does and says so."""
        return self.kind.classes


@dataclass(frozen=True)
class ClassAlgorithmOffer(ClassOffer):
    """An algorithm whose class is at hand."""

    kind: type[Algorithm]

    @property
    def servers(self) -> int:
        """Ranks that only hold the center."""
        return self.kind.servers

    @property
    def max_workers(self) -> int | None:
        """Workers that it can use at most."""
        return self.kind.max_workers

    @property
    def coordination(self) -> Coordination:
        """Who tells a worker to go on."""
        return self.kind.coordination

    @property
    def may_drop(self) -> bool:
        """It goes on without a worker whose numbers went bad."""
        return self.kind.may_drop

    @property
    def period_field(self) -> str | None:
        """The parameter that says how many local steps lie between two exchanges of a worker."""
        return self.kind.period_field

    def exchange_period(self, values: Mapping[str, Any]) -> int:
        """Return that number of local steps, at most; 1 where no parameter says it."""
        return self.kind.model_validate(values).exchange_period()

    def faults(self, values: Mapping[str, Any], workers: int) -> list[str]:
        """Return why valid parameters cannot run on that many workers."""
        return self.kind.model_validate(values).faults(workers)

    def warnings(self, values: Mapping[str, Any], workers: int) -> list[str]:
        """Return what a user should know before they do."""
        return self.kind.model_validate(values).warnings(workers)


def method(item: CatalogueItem, cls: type[Algorithm] | None = None) -> ClassAlgorithmOffer:
    """Return the offer of an algorithm that was found."""
    return ClassAlgorithmOffer(cls or item.cls, item.hash, item.origin != "built-in")


def workload(item: CatalogueItem, cls: type[Workload] | None = None) -> ClassWorkloadOffer:
    """Return the offer of a workload that was found."""
    return ClassWorkloadOffer(cls or item.cls, item.hash, item.origin != "built-in")


def here() -> Catalogue:
    """Return what can be run on this machine: built-in, in HOOKE_PATH, installed."""
    methods, models = found("algorithm"), found("workload")
    return Catalogue(
        # the classes as `hooke.catalogue.algorithm` knows them: what is run is what is validated
        {name: _method(name, cls, methods.items) for name, cls in algorithms.catalogue().items()},
        {name: _workload(name, cls, models.items) for name, cls in workloads.catalogue().items()},
        reasons((fault.name, fault.file, fault.error) for fault in (*methods.file_faults, *models.file_faults)),
    )


def reasons(file_faults: Iterable[tuple[str, str, str]]) -> dict[str, str]:
    """Return (name, file, error) of what is not offered, by the name that a specification would use."""
    return {name.lower().replace("_", "-"): f"{file}: {error}" for name, file, error in file_faults}


def _method(name: str, cls: type[Algorithm], items: Mapping[str, CatalogueItem]) -> ClassAlgorithmOffer:
    return method(items[name], cls) if name in items else ClassAlgorithmOffer(cls)


def _workload(name: str, cls: type[Workload], items: Mapping[str, CatalogueItem]) -> ClassWorkloadOffer:
    return workload(items[name], cls) if name in items else ClassWorkloadOffer(cls)


@functools.cache
def brought_along() -> Catalogue:
    """Return the built-in catalogue: the same on every machine that runs this version."""
    return Catalogue(
        {name: method(item) for name, item in built_in("algorithm").items()},
        {name: workload(item) for name, item in built_in("workload").items()},
    )


def unknown(kind: str, name: str, catalogues: Mapping[str, Catalogue], lacking: Iterable[str]) -> str:
    """Return why a name cannot be chosen: nobody offers it, or these clusters do not."""
    missing = list(lacking)
    why = [
        f"{host}: {said}" if host else said for host in missing if (said := catalogues[host].file_faults.get(name))
    ]
    reasons = f" ({'; '.join(why)})" if why else ""
    if len(missing) == len(catalogues):
        known = sorted({each for catalogue in catalogues.values() for each in getattr(catalogue, f"{kind}s")})
        return f"no {kind} is called {name!r}{reasons}; there are: {', '.join(known)}"
    having = ", ".join(host for host in catalogues if host not in missing)
    return (
        f"{', '.join(missing)} offers no {kind} called {name!r}{reasons}, {having} does: put its file there, too, "
        "or leave the cluster out"
    )


def conflict(kind: str, name: str, offers: Mapping[str, Offer]) -> str | None:
    """Return what is wrong where clusters offer different sources under one name."""
    hashes = {host: offer.hash for host, offer in offers.items() if offer.hash is not None}
    if len(set(hashes.values())) < 2:
        return None
    told = ", ".join(f"{host} {digest[:12]}" for host, digest in hashes.items())
    return f"the clusters hold different sources of the {kind} {name!r} ({told}): bring the same file to each"
