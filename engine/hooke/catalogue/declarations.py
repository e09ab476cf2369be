"""Whether what an algorithm declares about itself can be used: a class that declares nonsense is not offered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from hooke.catalogue.claims import Coordination, Limit
from hooke.comm.base import Updates
from hooke.spec.spaces import Space

LONGEST_FAMILY = 60
"""Characters of a family: it is a heading."""


def check(cls: Any, base: Any) -> None:
    """Raise ValueError that names what cannot be used as it is declared, in a class derived from `base`."""
    declared = (
        _of_members(cls, base),
        _of_the_period(cls),
        _of_the_updates(cls),
        _of_search(cls),
        _of_claims(cls),
    )
    if wrong := [why for part in declared for why in part]:
        raise ValueError("; ".join(wrong))


def _is_count(value: object, least: int = 0) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _of_members(cls: Any, base: Any) -> Iterator[str]:
    for name in sorted(base.__class_vars__.intersection(cls.model_fields)):
        yield f"`{name}` is declared as a parameter: write it without an annotation, or as ClassVar"
    family = cls.family
    if not (isinstance(family, str) and 0 < len(family) <= LONGEST_FAMILY and family.isprintable()):
        yield f"`family` is a heading: a line of 1 to {LONGEST_FAMILY} characters"
    if cls.run is base.run:
        yield "it defines no `run`"
    if cls.coordination not in get_args(Coordination):
        yield f"`coordination` is one of {', '.join(get_args(Coordination))}"
    elif not _is_count(cls.servers) or cls.servers > (0 if cls.coordination == "lock-free" else 1):
        yield "`servers` is 0 or 1, and 0 where workers are lock-free"
    elif cls.coordination == "parameter-server" and cls.servers != 1:
        yield "`servers` is 1 where a parameter server coordinates"
    if cls.max_workers is not None and not _is_count(cls.max_workers, 1):
        yield "`max_workers` is a positive number, or None"
    for name in (
        "may_drop",
        "compressible",
        "encodes_itself",
        "takes_threads",
        "takes_bf16_weights",
        "deterministic",
    ):
        if not isinstance(getattr(cls, name), bool):
            yield f"`{name}` is True or False"
    if not _is_count(cls.server_accesses):
        yield "`server_accesses` is a number of vector reads and writes"
    both = cls.accesses if isinstance(cls.accesses, tuple) else (cls.accesses, 0)
    if len(both) != 2 or not all(map(_is_count, both)):
        yield "`accesses` is a number of vector reads and writes, or (those of a step, those of an exchange)"


def _of_the_period(cls: Any) -> Iterator[str]:
    name = cls.period_field
    if name is None:
        return
    field = cls.model_fields.get(name) if isinstance(name, str) else None
    if field is None or field.annotation is not int:
        yield f"`period_field` names {name!r}, which is not a parameter of type int"
    elif not field.is_required() and not _is_count(field.get_default(call_default_factory=True), 1):
        yield f"`period_field` names {name!r}, whose default is not a positive number"


def _of_search(cls: Any) -> Iterator[str]:
    if not isinstance(cls.search, Mapping):
        yield "`search` maps parameters to spaces"
        return
    for name, space in cls.search.items():
        if name not in cls.model_fields:
            yield f"`search` names {name!r}, which is not a parameter"
        elif space is not None and not isinstance(space, Space):
            yield f"`search` of {name!r} is a Space, or None"


def _of_the_updates(cls: Any) -> Iterator[str]:
    name = cls.updates_field
    if name is None:
        return
    field = cls.model_fields.get(name) if isinstance(name, str) else None
    choices = get_args(field.annotation) if field else ()
    if not choices or any(choice not in get_args(Updates) for choice in choices):
        yield f"`updates_field` names {name!r}, which is not a parameter of type Updates"


def _of_claims(cls: Any) -> Iterator[str]:
    if cls.reference is not None and not (isinstance(cls.reference, str) and "." in cls.reference):
        yield "`reference` is a text of the form module.function"
    if cls.exchange is not None and not callable(cls.exchange):
        yield "`exchange` is a function of a method and a step"
    if not _all(cls.limits, Limit):
        yield "`limits` is a list of Limit"
    if cls.conserves not in (None, "weights", "weights and center"):
        yield "`conserves` is 'weights' or 'weights and center'"
    if not isinstance(cls.tested_with, Mapping):
        yield "`tested_with` maps parameters to values"
    if not _all(cls.tested_together, Mapping):
        yield "`tested_together` is a list of mappings of parameters to values"


def _all(items: Any, kind: type[Any]) -> bool:
    return isinstance(items, Sequence) and all(isinstance(item, kind) for item in items)
