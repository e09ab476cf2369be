"""Methods with an inner optimizer on every worker and an outer one along the change of their weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from hooke.methods.descent import AdamStep, LocalStep, Periodic
from hooke.spec.spaces import Space

if TYPE_CHECKING:
    from hooke.catalogue.rank import Rank


class Outer(Periodic):
    """A method with inner steps (AdamW or SGD) and, once per period, an outer step with momentum."""

    search = {
        "lr": Space(low=0.0003, high=0.03, scale="log"),
        "momentum": Space(low=0.0, high=0.97, scale="reverse-log", when={"inner": ["sgd"]}),
        "momentum_kind": Space(choices=["heavy-ball", "nesterov"], when={"inner": ["sgd"]}),
        "outer_lr": Space(low=0.2, high=1.2),
        "outer_momentum": Space(low=0.0, high=0.95, scale="reverse-log"),
    }

    lr: float = Field(0.001, gt=0, le=10, title="Learning rate", description="Step length of the inner steps.")
    period: int = Field(20, ge=1, le=10_000, title="Period", description="Inner steps per outer step (H).")
    inner: Literal["adamw", "sgd"] = Field("adamw", title="Inner", description="Optimizer of the workers.")
    decay: float = Field(0.1, ge=0, le=1, title="Weight decay", description="Decoupled weight decay of AdamW.")
    outer_lr: float = Field(0.7, gt=0, le=10, title="Outer learning rate", description="Of the outer steps.")
    outer_momentum: float = Field(0.9, ge=0, lt=1, title="Outer momentum", description="Of the outer steps (mu).")

    def warnings(self, workers: int) -> list[str]:
        """Warn that momentum has no effect with AdamW."""
        idle = self.momentum > 0 and self.inner == "adamw"
        told = ["momentum has no effect with inner = adamw, which has moments of its own"] if idle else []
        return [*super().warnings(workers), *told]

    def inner_step(self, r: Rank) -> AdamStep | LocalStep:
        """Return the inner step for this rank's weights."""
        return AdamStep(r, self.lr, self.decay) if self.inner == "adamw" else self.local_step(r)
