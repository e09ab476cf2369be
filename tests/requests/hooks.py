"""What Schemathesis is not to send: values that are no text in a document, and one in an address."""

from __future__ import annotations

from typing import Any

import schemathesis


@schemathesis.hook
def filter_query(context: schemathesis.HookContext, query: dict[str, Any] | None) -> bool:
    """Return whether to send a query: not with `true` or a number where any text is accepted."""
    operation = context.operation
    if operation is None or not query:
        return True
    for name, value in query.items():
        known = operation.query.get(name)
        if known is not None and not isinstance(value, str) and _takes_text(known.definition.get("schema", {})):
            return isinstance(value, list) and all(isinstance(each, str) for each in value)
    return True


def _takes_text(schema: dict[str, Any]) -> bool:
    """Return whether a parameter, or each of several, may be any text."""
    kinds = [schema, *schema.get("anyOf", ())]
    kinds += [kind["items"] for kind in kinds if kind.get("type") == "array"]
    return any(kind.get("type") == "string" and not {"enum", "pattern"} & kind.keys() for kind in kinds)
