"""The part of the API's document that is about some operations: Schemathesis prepares all of what it is given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any


def part(document: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return a document with the paths of these operations, with all methods there, and what these refer to."""
    paths = {
        path: methods
        for path, methods in document["paths"].items()
        if any(operation["operationId"] in names for operation in methods.values())
    }
    components: dict[str, dict[str, Any]] = {}
    left, known = list(_references(paths)), set()
    while left:
        reference = left.pop()
        if reference in known:
            continue
        known.add(reference)
        _, of, kind, name = reference.split("/")
        found = document[of][kind][name]
        components.setdefault(kind, {})[name] = found
        left.extend(_references(found))
    return document | {"paths": paths, "components": components}


def _references(value: Any) -> Iterator[str]:
    """Yield every `$ref` in a document."""
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for each in value.values():
            yield from _references(each)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)
