"""The OpenAPI document of the API."""

from __future__ import annotations

from threading import Lock
from typing import Any

from fastapi import FastAPI
from hooke.spec.events import Ingest
from pydantic.json_schema import models_json_schema

from hooke_api.web.common_fields import describe

_REFERENCE = "#/components/schemas/{model}"
_MAKING = Lock()
"""Held while the document is made: nobody is to see an unfinished one."""


def document(app: FastAPI) -> dict[str, Any]:
    """Return FastAPI's document with problems, common fields, and the body of ingest, which is read raw."""
    with _MAKING:
        return app.openapi_schema or _made(app)


def _made(app: FastAPI) -> dict[str, Any]:
    found = FastAPI.openapi(app)
    _, definitions = models_json_schema([(Ingest, "validation")], ref_template=_REFERENCE)
    schemas = found["components"]["schemas"]
    for name, schema in definitions["$defs"].items():
        schemas.setdefault(name, schema)
    found["paths"]["/api/v1/ingest"]["post"]["requestBody"] = {
        "required": True,
        "content": {"application/json": {"schema": {"$ref": _REFERENCE.format(model="Ingest")}}},
    }
    # the answer is one event after another, of `itemSchema`, and not one text
    del found["paths"]["/api/v1/events"]["get"]["responses"]["200"]["content"]["text/event-stream"]["schema"]
    describe(found)
    problem = {"schema": {"$ref": _REFERENCE.format(model="ProblemDetails")}}
    for methods in found["paths"].values():
        for operation in methods.values():
            operation["responses"]["default"]["content"] = {"application/problem+json": problem}
    return found
