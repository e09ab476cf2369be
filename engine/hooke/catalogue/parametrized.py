"""The common base class of algorithms and workloads: a frozen value with parameters, a name and a title."""

from __future__ import annotations

import inspect
import re

from pydantic import BaseModel, ConfigDict


class Parametrized(BaseModel):
    """Validated parameters; the name in specifications is derived from that of the class."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)
    # validators are built on first use: a rank validates one algorithm and one workload of dozens

    @classmethod
    def id(cls) -> str:
        """Return the name used in specifications: `SyncEASGD` is `sync-easgd`, `DigitsMLP` is `digits-mlp`."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", cls.__name__).lower()

    @classmethod
    def title(cls) -> str:
        """Return the first line of the docstring, without its full stop."""
        return (inspect.getdoc(cls) or cls.__name__).splitlines()[0].rstrip(".")
