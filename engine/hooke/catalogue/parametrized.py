"""The common base class of algorithms and workloads: a frozen value with parameters, a name and a title."""

from __future__ import annotations

import inspect
import re
import types
import typing
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator


class Parametrized(BaseModel):
    """Validated parameters; the name in specifications is derived from that of the class."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)
    # validators are built on first use: a rank validates one algorithm and one workload of dozens

    @field_validator("*", mode="before")
    @classmethod
    def _no_boolean_for_a_number(cls, value: Any, info: ValidationInfo) -> Any:
        """Refuse true and false, which Python takes as 1 and 0, for a parameter that is a number."""
        if isinstance(value, bool) and info.field_name is not None:
            kinds = _kinds(cls.model_fields[info.field_name].annotation)
            if bool not in kinds and kinds & {int, float}:
                raise ValueError(f"a number is needed, not {str(value).lower()}")
        return value

    @classmethod
    def id(cls) -> str:
        """Return the name used in specifications: `SyncEASGD` is `sync-easgd`, `DigitsMLP` is `digits-mlp`."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", cls.__name__).lower()

    @classmethod
    def title(cls) -> str:
        """Return the first line of the docstring, without its full stop."""
        return (inspect.getdoc(cls) or cls.__name__).splitlines()[0].rstrip(".")


def _kinds(annotation: Any) -> set[Any]:
    """Return the types of which a value may be."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType, typing.Annotated):
        return {kind for each in typing.get_args(annotation) for kind in _kinds(each)}
    return {annotation}
