"""Documents as JSON: YAML has values that JSON has not, such as NaN."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from hooke.errors import ArgumentError

_DEPTH = 60
"""Levels that are searched for what JSON cannot hold; a server accepts no more."""


def as_json(body: Any) -> bytes | None:
    """Return a document, if there is one, as JSON. Raises ArgumentError with the place of what JSON cannot say."""
    if body is None:
        return None
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError) as error:
        said = next(_faults(body, ()), f"the document cannot be sent: {error}")
        raise ArgumentError(said) from None


def _faults(node: Any, path: tuple[object, ...]) -> Iterator[str]:
    from hooke.spec.pointers import pointer  # it imports pydantic

    if len(path) > _DEPTH:
        yield f"the document is nested deeper than {_DEPTH} levels, or contains itself"
    elif isinstance(node, dict):
        for key, value in node.items():
            yield from _faults(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _faults(value, (*path, index))
    elif isinstance(node, float) and not math.isfinite(node):
        yield f"{pointer(*path) or '/'}: {node} is not a finite number"
    elif not isinstance(node, str | int | float | None):
        yield f"{pointer(*path) or '/'}: a {type(node).__name__} cannot be sent: write a text or a number"
