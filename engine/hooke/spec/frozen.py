"""The base class of specifications, and the types of names."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

NAME = r"^[a-z0-9][a-z0-9._-]{0,62}$"
Name = Annotated[str, StringConstraints(pattern=NAME)]
"""Lower-case letters, digits, dot, dash, underscore: safe in URLs, file names and queue names."""
Parameter = Annotated[str, StringConstraints(min_length=1, max_length=120)]
"""Name of a parameter of an algorithm."""
Label = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=120)]


class Frozen(BaseModel):
    """Immutable, no unknown fields, no NaN or infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, populate_by_name=True)
