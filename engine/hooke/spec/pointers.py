"""JSON Pointers into a document, and conversion of pydantic's errors to faults."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from hooke.errors import Fault
from hooke.spec.frozen import NAME
from hooke.spec.unequal import as_written

MISSING = "this field is missing"
UNKNOWN = "this name is unknown here"
FIELDS = "fields are needed here, not a single value or a list"
OF_NAMES = "a name has 1 to 63 lower-case letters, digits, dots, dashes and underscores, a letter or digit first"
MOST_MEANT = 20
"""Faults of a document for which similar names are looked for: it takes time, and nobody reads more."""


def pointer(*parts: object) -> str:
    """Return an RFC 6901 JSON Pointer of the given path."""
    return "".join("/" + str(p).replace("~", "~0").replace("/", "~1") for p in parts)


def _place(document: Any, loc: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Return the part of pydantic's location that is in the document, or a key missing from it.

    The rest names a branch of a union, which is not part of the document.
    """
    node = document
    for depth, part in enumerate(loc):
        if isinstance(node, dict) and isinstance(part, str):
            if part not in node:  # a key that is missing, or pydantic's mark of a key that is wrong itself
                return loc[:depth] if part == "[key]" else loc[: depth + 1]
            node = node[part]
        elif isinstance(node, (list, tuple)) and isinstance(part, int) and part < len(node):
            node = node[part]
        else:
            return loc[:depth]
    return loc


def message(error: Mapping[str, Any]) -> str:
    """Return what one of pydantic's errors says, in words of a document instead of those of Python."""
    known = {"missing": MISSING, "extra_forbidden": UNKNOWN, "model_type": FIELDS, "dict_type": FIELDS}
    said = str(error["msg"]).removeprefix("Value error, ")
    return known.get(error["type"]) or (OF_NAMES if NAME in said else said)


def meant(name: str, known: Iterable[str]) -> str:
    """Return the question, behind a semicolon, whether a similar name was meant; empty if none is similar."""
    close = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {close[0]}?" if close else ""


def faults(error: ValidationError, document: Any, *prefix: object, known: Iterable[str] = ()) -> list[Fault]:
    """Return one fault per location; the messages of the branches of a union are joined by `or`.

    `known`: names that the document may have, one of which may be meant by one that it may not have; others that
    may be meant are those that are missing beside it.
    """
    found: dict[str, list[str]] = {}
    missing: dict[str, list[str]] = {pointer(*prefix): list(known)}
    for item in error.errors(include_url=False, include_context=False, include_input=False):
        place = pointer(*prefix, *_place(document, as_written(document, item["loc"])))
        found.setdefault(place, []).append(message(item))
        if item["type"] == "missing":
            around, _, name = place.rpartition("/")
            missing.setdefault(around, []).append(name)
    for place, said in list(found.items())[:MOST_MEANT]:
        around, _, name = place.rpartition("/")
        said[:] = [each + meant(name, missing.get(around, ())) if each == UNKNOWN else each for each in said]
    return [Fault(place, ", or: ".join(dict.fromkeys(said))) for place, said in found.items()]
