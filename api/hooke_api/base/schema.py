"""The base class of responses: immutable, documented by the texts below their fields, without NaN in the JSON."""

from __future__ import annotations

from hooke.errors import Fault
from pydantic import BaseModel, ConfigDict, Field


class View(BaseModel):
    """A response, or a part of one."""

    model_config = ConfigDict(frozen=True, from_attributes=True, use_attribute_docstrings=True)


class ProblemDetails(View):
    """RFC 9457 problem+json; the body of every 4xx and 5xx."""

    type: str = Field(description="Stable URI of the kind of error, below /problems/.")
    title: str
    """The kind of error, in words."""
    status: int
    """Its HTTP status."""
    detail: str
    """What happened, where, and what to do."""
    instance: str
    """Path of the request."""
    request_id: str
    errors: list[Fault] = Field(default_factory=list)
