"""JSON Pointers into a document, and conversion of pydantic's errors to faults."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from hooke.errors import Fault
from hooke.spec.unequal import as_written


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


def faults(error: ValidationError, document: Any, *prefix: object) -> list[Fault]:
    """Return one fault per location; the messages of the branches of a union are joined by `or`."""
    found: dict[str, list[str]] = {}
    for item in error.errors(include_url=False, include_context=False, include_input=False):
        place = _place(document, as_written(document, item["loc"]))
        found.setdefault(pointer(*prefix, *place), []).append(item["msg"].removeprefix("Value error, "))
    return [Fault(place, ", or: ".join(dict.fromkeys(said))) for place, said in found.items()]
