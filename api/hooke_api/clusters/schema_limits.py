"""Limits of the JSON Schemas that agents report for users' files, checked before anything is validated by them.

A schema is a program. Ten definitions that each refer twice to the next one are evaluated a thousand times, and a
pattern may take longer than anybody waits. Hyper-parameters need nothing of that kind: the schemas of the built-in
methods have no references and a cost of some 200.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

MOST_BYTES = 64 * 1024
MOST_DEPTH = 24
MOST_REFERENCES = 200
MOST_COST = 5_000
"""Subschemas that are evaluated, references followed, of one value."""
MOST_VALUES = 1_000
"""Values of the parameters that are validated by such a schema."""
REFUSED_WORDS = frozenset(
    [
        "$id",
        "$anchor",
        "$dynamicRef",
        "$dynamicAnchor",
        "$recursiveRef",
        "unevaluatedProperties",
        "unevaluatedItems",
        "patternProperties",
    ]
)
"""Keywords that move references, or whose cost grows with the depth, and which no form can show."""
_TWICE = frozenset({"oneOf", "contains", "if"})
"""Keywords whose subschemas the validator evaluates up to twice."""
_NESTED_REPETITION = re.compile(r"\)[*+{]")
_LONGEST_PATTERN = 200


class _Excess(Exception):
    """A schema exceeds a limit; the message says which."""


def schema_fault(schema: Mapping[str, Any]) -> str | None:
    """Return why a reported schema is not used, or None: too large, too deep, too many references, or invalid."""
    try:
        text = json.dumps(schema, sort_keys=True)
    except (ValueError, RecursionError):
        return "cannot be written as JSON"
    if len(text) > MOST_BYTES:
        return f"has more than {MOST_BYTES // 1024} KiB"
    return _fault(text)


@lru_cache(256)
def _fault(text: str) -> str | None:
    from jsonschema import Draft202012Validator, SchemaError  # only needed for user files

    schema = json.loads(text)
    try:
        _Size(schema).check()
        Draft202012Validator.check_schema(schema)
    except _Excess as error:
        return str(error)
    except SchemaError as error:
        return f"is invalid: {str(error).splitlines()[0]}"
    return None


def too_many_values(values: Mapping[str, Any]) -> bool:
    """Return whether parameters have more values than are validated by a reported schema."""
    pending: list[Any] = [values]
    count = 0
    while pending and count <= MOST_VALUES:
        value = pending.pop()
        count += 1
        if isinstance(value, Mapping):
            pending += value.values()
        elif isinstance(value, list):
            pending += value
    return count > MOST_VALUES


class _Size:
    """Depth, references and cost of one schema; each target of references is measured once."""

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._references = 0
        self._costs: dict[str, int] = {}
        self._open: set[str] = set()

    def check(self) -> None:
        """Raise _Excess if a limit is exceeded."""
        if self._cost(self._schema, 0) > MOST_COST:
            raise _Excess(f"is evaluated in more than {MOST_COST} steps, references followed")

    def _cost(self, node: Any, depth: int) -> int:
        if depth > MOST_DEPTH:
            raise _Excess(f"is nested deeper than {MOST_DEPTH} levels")
        if isinstance(node, list):
            return sum(self._cost(item, depth + 1) for item in node)
        if not isinstance(node, dict):
            return 0
        return 1 + sum(self._parts(node, depth))

    def _parts(self, node: dict[str, Any], depth: int) -> Iterator[int]:
        for word, part in node.items():
            if word in REFUSED_WORDS:
                raise _Excess(f"uses {word}")
            if word == "pattern" and isinstance(part, str):
                self._check_pattern(part)
            if word == "$ref" and isinstance(part, str):
                yield self._referred(part, depth)
            else:
                yield self._cost(part, depth + 1) * (2 if word in _TWICE else 1)

    def _check_pattern(self, pattern: str) -> None:
        if len(pattern) > _LONGEST_PATTERN or _NESTED_REPETITION.search(pattern):
            raise _Excess(f"has a pattern that may take long: {pattern[:60]!r}")

    def _referred(self, reference: str, depth: int) -> int:
        self._references += 1
        if self._references > MOST_REFERENCES:
            raise _Excess(f"has more than {MOST_REFERENCES} references")
        if reference in self._open:
            raise _Excess(f"refers to itself: {reference[:60]!r}")
        if reference not in self._costs:
            self._open.add(reference)
            self._costs[reference] = self._cost(self._target(reference), depth + 1)
            self._open.discard(reference)
        return self._costs[reference]

    def _target(self, reference: str) -> Any:
        if reference != "#" and not reference.startswith("#/"):
            raise _Excess(f"refers to another document: {reference[:60]!r}")
        node = self._schema
        for part in reference.split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~").replace("%25", "%")
            if isinstance(node, dict) and name in node:
                node = node[name]
            elif isinstance(node, list) and name.isdecimal() and int(name) < len(node):
                node = node[int(name)]
            else:
                raise _Excess(f"refers to what it does not have: {reference[:60]!r}")
        return node
