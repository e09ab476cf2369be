"""An entry of a catalogue: an algorithm or workload that can be run here, and its description as plain data."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from typing import Any, Literal

from hooke.catalogue.claims import payload_per_step

Kind = Literal["algorithm", "workload"]
Origin = Literal["built-in", "file", "entry point"]
DECLARED = (
    *("family", "servers", "max_workers", "coordination", "may_drop", "compressible", "encodes_itself"),
    *("takes_threads", "takes_bf16_weights", "deterministic", "period_field", "updates_field"),
)
"""Members of an algorithm that its description contains."""


@dataclass(frozen=True)
class CatalogueItem:
    """One algorithm or workload that can be run here; `hash` is the SHA-256 of its source file."""

    kind: Kind
    name: str
    cls: type[Any]
    origin: Origin
    file: str
    hash: str

    @functools.cached_property
    def description(self) -> dict[str, Any]:
        """Return it as plain data: name, title, documentation, schema, origin, hash, and fields of its kind.

        Computed once, on first use. Raises whatever a user's class raises.
        """
        cls: Any = self.cls
        common = {
            "name": self.name,
            "title": cls.title(),
            "documentation": inspect.getdoc(cls) or "",
            "origin": self.origin,
            "hash": self.hash,
            "schema": cls.model_json_schema(),
        }
        if self.kind == "workload":
            return common | {"target": cls.target}
        declared = {name: getattr(cls, name) for name in DECLARED}
        spaces = {name: s.model_dump(mode="json", exclude_defaults=True) for name, s in cls.spaces().items()}
        return common | declared | {"payload_per_step": payload_per_step(cls), "search": spaces}
