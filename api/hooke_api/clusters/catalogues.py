"""The catalogue of each cluster, as reported by its agent; the API host has no user files.

A built-in algorithm or workload with the same source as here is validated by its class; everything else by its
JSON Schema, and again by the engine when it runs.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast, get_args

from hooke.catalogue.claims import Coordination
from hooke.catalogue.discovery import built_in
from hooke.catalogue.items import Kind
from hooke.catalogue.offers import Catalogue, Offer, brought_along, per_variant, reasons
from hooke.errors import Fault
from hooke.spec.pointers import MISSING, MOST_MEANT, UNKNOWN, meant, pointer
from hooke.spec.spaces import Space
from pydantic import ValidationError
from sqlalchemy import select
from sqlalchemy.orm import Session

from hooke_api.clusters.schema_limits import MOST_VALUES, schema_fault, too_many_values
from hooke_api.models import CatalogueEntry, Cluster


@dataclass(frozen=True)
class Reported:
    """An algorithm or workload known only by its description: JSON Schema and other reported fields."""

    document: Mapping[str, Any]

    @property
    def hash(self) -> str | None:
        """SHA-256 of its source file, or None if unknown."""
        found = self.document.get("hash")
        return found if isinstance(found, str) else None

    @property
    def own(self) -> bool:
        """Whether it is a user's own, that is, not reported as built-in."""
        return str(self.document.get("origin", "built-in")) != "built-in"

    @property
    def servers(self) -> int:
        """Number of servers: 0 or 1."""
        return int(self.document.get("servers") == 1)

    @property
    def classes(self) -> int | None:
        """None: known only to its class."""
        return None

    @property
    def per_variant(self) -> frozenset[str]:
        """The parameters that a variant may set."""
        schema = self.document.get("schema")
        return per_variant(schema) if isinstance(schema, dict) else frozenset()

    @property
    def max_workers(self) -> int | None:
        """Maximum number of workers, or None."""
        found = self.document.get("max_workers")
        return found if isinstance(found, int) and found >= 1 else None

    @property
    def coordination(self) -> Coordination:
        """What lets a worker take its next step; `synchronous` if not reported."""
        said = self.document.get("coordination")
        return cast(Coordination, said) if said in get_args(Coordination) else "synchronous"

    @property
    def may_drop(self) -> bool:
        """Whether it can continue without a worker that has NaN or Inf."""
        return bool(self.document.get("may_drop"))

    @property
    def compressible(self) -> bool:
        """Whether the wire types sign and top-k can be used; agents before 0.12 do not report it."""
        return bool(self.document.get("compressible", True))

    @property
    def encodes_itself(self) -> bool:
        """Whether it encodes its messages, so that a wire type changes nothing."""
        return bool(self.document.get("encodes_itself", False))

    @property
    def takes_threads(self) -> bool:
        """Whether its workers may have threads that share their weights; older agents do not report it."""
        return bool(self.document.get("takes_threads", True))

    @property
    def takes_bf16_weights(self) -> bool:
        """Whether its weights may be bfloat16; older agents do not report it."""
        return bool(self.document.get("takes_bf16_weights", False))

    @property
    def period_field(self) -> str | None:
        """Name of the parameter with the number of local steps per exchange."""
        found = self.document.get("period_field", "period")  # not reported by agents of version 0.1
        return found if isinstance(found, str) else None

    @property
    def spaces(self) -> Mapping[str, Space]:
        """Parameter -> the values that tuning tries; those that cannot be read are left out."""
        said = self.document.get("search")
        return dict(_spaces(said if isinstance(said, dict) else {}))

    @property
    def updates_field(self) -> str | None:
        """Name of the parameter with how workers add to a shared center."""
        earlier = "updates" if self.coordination == "lock-free" else None  # not reported by agents of version 0.1
        found = self.document.get("updates_field", earlier)
        return found if isinstance(found, str) else None

    def first_period(self, values: Mapping[str, Any]) -> int:
        """Return the number of local steps before a worker's first exchange; 1 without such a parameter."""
        found = values.get(self.period_field or "")
        return found if isinstance(found, int) and found >= 1 else 1

    def gradients_per_step(self, values: Mapping[str, Any]) -> int:
        """Return the number of gradients that a worker averages for one step; 1 without such a parameter."""
        found = values.get("accumulation")
        return found if isinstance(found, int) and found >= 1 else 1

    def faults(self, values: Mapping[str, Any], workers: int) -> list[str]:
        """Return an empty list: only its class can check this, when the run starts."""
        del values, workers
        return []

    def warnings(self, values: Mapping[str, Any], workers: int) -> list[str]:
        """Return an empty list: only its class can check this, when the run starts."""
        del values, workers
        return []

    def resolve(self, values: Mapping[str, Any], *prefix: object) -> tuple[dict[str, Any], list[Fault]]:
        """Return the parameters with the defaults of the schema, and the violations of the schema."""
        schema = self.document.get("schema")
        if not isinstance(schema, dict):
            return dict(values), []
        fields = schema.get("properties")
        defaults = {
            name: copy.deepcopy(field["default"])
            for name, field in (fields.items() if isinstance(fields, dict) else ())
            if isinstance(field, dict) and "default" in field
        }
        return defaults | dict(values), list(_misfits(schema, values, prefix))


def _spaces(said: Mapping[str, Any]) -> Iterator[tuple[str, Space]]:
    for name, document in said.items():
        with suppress(ValidationError):  # of an agent of another version
            yield name, Space.model_validate(document)


def _misfits(schema: dict[str, Any], values: Mapping[str, Any], prefix: tuple[object, ...]) -> Iterator[Fault]:
    """Return one fault for each location that violates the schema, or the fault of the schema."""
    from jsonschema import Draft202012Validator  # only needed for user files
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    if why := schema_fault(schema):
        yield Fault(pointer(*prefix[:-1]), f"the schema reported by its agent {why}")
        return
    if too_many_values(values):
        yield Fault(pointer(*prefix), f"more than {MOST_VALUES} values")
        return
    try:
        # an empty registry: references resolve within the schema, never over the network
        validator = Draft202012Validator(schema, registry=Registry())
        for error in validator.iter_errors(dict(values)):
            place = [*prefix, *error.absolute_path]
            if error.validator == "required":
                missing = [name for name in error.validator_value if name not in error.instance]
                yield from (Fault(pointer(*place, name), MISSING) for name in missing)
            elif error.validator == "additionalProperties" and error.validator_value is False:
                known = error.schema.get("properties", {})
                strange = [name for name in error.instance if name not in known]
                likely = known if len(strange) <= MOST_MEANT else ()
                yield from (Fault(pointer(*place, each), UNKNOWN + meant(each, likely)) for each in strange)
            elif error.context:
                yield Fault(pointer(*place), ", or: ".join(dict.fromkeys(e.message for e in error.context)))
            else:
                yield Fault(pointer(*place), error.message)
    except Unresolvable as error:
        why = f"the schema reported by its agent is invalid: {str(error).splitlines()[0]}"
        yield Fault(pointer(*prefix[:-1]), why)


def _offer(kind: Kind, document: Mapping[str, Any]) -> Any:
    """Return the offer of one reported entry: the local class if its source is the same."""
    name = str(document["name"])
    known: Offer | None = getattr(brought_along(), f"{kind}s").get(name)
    reported = Reported(document)
    if known is not None and not reported.own and reported.hash in (None, known.hash):
        return known
    return reported


def offered(session: Session, hosts: Collection[str] | None = None) -> dict[str, Catalogue]:
    """Return the catalogues of all or some registered clusters; the built-in one for clusters without a report."""
    query = select(CatalogueEntry.cluster, CatalogueEntry.kind, CatalogueEntry.document)
    clusters = select(Cluster.name, Cluster.problems)
    if hosts is not None:
        query, clusters = query.where(CatalogueEntry.cluster.in_(hosts)), clusters.where(Cluster.name.in_(hosts))
    entries: dict[str, dict[str, dict[str, Any]]] = {}
    for host, kind, document in session.execute(query.order_by(CatalogueEntry.cluster, CatalogueEntry.name)):
        entries.setdefault(host, {}).setdefault(kind, {})[document["name"]] = _offer(kind, document)
    found = {}
    for host, problems in session.execute(clusters):
        said, builtin = entries.get(host, {}), brought_along()
        file_faults = reasons((problem["name"], problem["file"], problem["error"]) for problem in problems)
        found[host] = Catalogue(
            said.get("algorithm", builtin.algorithms), said.get("workload", builtin.workloads), file_faults
        )
    return found


def described(session: Session, kind: Kind) -> list[dict[str, Any]]:
    """Return every offered algorithm or workload by name; `offers` maps clusters to source hashes.

    If clusters have different sources under one name, the built-in one is described, otherwise that of the first.
    """
    known = {name: item.description for name, item in built_in(kind).items()}
    found: dict[str, dict[str, Any]] = {name: entry | {"offers": {}} for name, entry in known.items()}
    reported: dict[str, list[dict[str, Any]]] = {host: [] for host in session.scalars(select(Cluster.name))}
    query = select(CatalogueEntry.cluster, CatalogueEntry.document).where(CatalogueEntry.kind == kind)
    for host, document in session.execute(query.order_by(CatalogueEntry.cluster, CatalogueEntry.name)):
        reported[host].append(document)
    for host, documents in sorted(reported.items()):
        for document in documents or known.values():
            name = str(document["name"])
            entry = found.setdefault(name, _whole(document) | {"offers": {}})
            entry["offers"][host] = document.get("hash") or entry["hash"]
    return [found[name] for name in sorted(found)]


def _whole(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a reported entry with all fields of a view, with defaults for missing ones."""
    schema, payload = document.get("schema"), document.get("payload_per_step")
    reported = Reported(document)
    return {
        "name": str(document["name"]),
        "title": str(document.get("title") or document["name"]),
        "documentation": str(document.get("documentation") or ""),
        "origin": str(document.get("origin") or "built-in"),
        "hash": reported.hash or "",
        "family": str(document.get("family") or "Other"),
        "payload_per_step": payload if isinstance(payload, int | float) else None,
        "servers": reported.servers,
        "max_workers": reported.max_workers,
        "may_drop": reported.may_drop,
        "deterministic": bool(document.get("deterministic", True)),
        "coordination": str(document.get("coordination") or "synchronous"),
        "search": {
            name: space.model_dump(mode="json", exclude_defaults=True) for name, space in reported.spaces.items()
        },
        "target": document.get("target") if isinstance(document.get("target"), int | float) else None,
        "schema": schema if isinstance(schema, dict) else {},
    }
