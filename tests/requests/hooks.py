"""What Schemathesis is not to send: values that are no text in a document, and one in an address."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import schemathesis


@schemathesis.hook
def filter_query(context: schemathesis.HookContext, query: dict[str, Any] | None) -> bool:
    """Return whether to send a query: not with a value that an address writes as one that is accepted.

    There `true` and 1 are texts, and a text is a list of one.
    """
    operation = context.operation
    if operation is None or not query:
        return True
    for name, value in query.items():
        known = operation.query.get(name)
        if known is None or (isinstance(value, list) and all(isinstance(each, str) for each in value)):
            continue
        one, several = _patterns(known.definition.get("schema", {}))
        patterns = several if isinstance(value, str) else [*one, *several]
        texts = list(_texts(value))
        if all(any(re.search(pattern, text) for pattern in patterns) for text in texts):
            return False
    return True


def _texts(value: Any) -> Iterator[str]:
    """Yield what an address has of a value: lists and objects in it are lost."""
    if isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)
    else:
        yield value if isinstance(value, str) else json.dumps(value)


def _patterns(schema: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return what the text of a parameter may look like, and that of each of several."""
    kinds = [schema, *schema.get("anyOf", ())]
    items = [kind["items"] for kind in kinds if kind.get("type") == "array"]
    items += [each for kind in items for each in kind.get("anyOf", ())]
    one, several = (
        [kind.get("pattern", "") for kind in of if kind.get("type") == "string" and "enum" not in kind]
        for of in (kinds, items)
    )
    return one, several
