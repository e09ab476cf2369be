"""Methods with an inner optimizer on every worker and an outer one along the change of their weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field, model_validator

from hooke.methods.descent import Optimizer, Periodic
from hooke.methods.settings import STEP
from hooke.spec.spaces import Space

DECAY = 0.1
"""Of AdamW and Muon, where none is given: as published."""
EARLIER = {"inner": "optimizer", "decay": "weight_decay"}
"""Earlier name of a parameter -> its current name."""


class Inner(Periodic):
    """A method with inner steps (AdamW by default) and, once per period, an outer step."""

    search = {
        "lr": Space(low=0.0003, high=0.03, scale="log"),
        "weight_decay": None,
        "outer_lr": Space(low=0.2, high=1.2),
    }

    lr: float = Field(0.001, gt=0, le=10, title="Learning rate", description="Step length of the inner steps.")
    period: int = Field(20, ge=1, le=10_000, title="Period", description="Inner steps per outer step (H).")
    optimizer: Optimizer = Field(
        "adamw", title="Inner optimizer", description="Of the inner steps.", json_schema_extra=STEP
    )
    weight_decay: float | None = Field(
        None,
        ge=0,
        le=1,
        title="Weight decay",
        description=f"Of the inner steps. Empty: {DECAY} with AdamW and Muon, none with SGD.",
        json_schema_extra=STEP,
    )
    outer_lr: float = Field(0.7, gt=0, le=10, title="Outer learning rate", description="Of the outer steps.")

    @model_validator(mode="before")
    @classmethod
    def _read_earlier_names(cls, value: Any) -> Any:
        """Accept `inner` and `decay`, of earlier versions. There `decay` had no effect with `inner` = sgd."""
        if not isinstance(value, Mapping) or not EARLIER.keys() & value.keys():
            return value
        if twice := [f"`{old}` is now `{new}`" for old, new in EARLIER.items() if {old, new} <= value.keys()]:
            raise ValueError(f"{' and '.join(twice)}: give the current name only")
        if value.get("inner") == "sgd":
            value = {name: given for name, given in value.items() if name != "decay"}
        return {EARLIER.get(name, name): given for name, given in value.items()}

    def decay(self) -> float:
        """Return the weight decay of the inner steps."""
        if self.weight_decay is None:
            return DECAY if self.optimizer in ("adamw", "muon") else 0.0
        return self.weight_decay


class Outer(Inner):
    """A method whose outer step has momentum."""

    search = {"outer_momentum": Space(low=0.0, high=0.95, scale="reverse-log")}

    outer_momentum: float = Field(0.9, ge=0, lt=1, title="Outer momentum", description="Of the outer steps (mu).")
