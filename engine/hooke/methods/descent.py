"""The settings of local steps: optimizer and momentum, beside those of every step (`hooke.methods.settings`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from hooke.methods.muon import MuonStep
from hooke.methods.rowwise import LazyAdamStep, RowAdamStep, RowStep
from hooke.methods.settings import SCHEDULED, STEP, StepSettings
from hooke.methods.steps import AdamStep, LocalStep, Step
from hooke.spec.spaces import Space

if TYPE_CHECKING:
    from hooke.catalogue.rank import Rank

Optimizer = Literal["sgd", "adamw", "muon", "row-adagrad", "row-adam", "lazy-adam"]
ADAPTIVE: dict[str, type[AdamStep | LazyAdamStep | RowStep]] = {
    "adamw": AdamStep,
    "row-adagrad": RowStep,
    "row-adam": RowAdamStep,
    "lazy-adam": LazyAdamStep,
}
"""Optimizers that scale each step by past gradients, and have no momentum of their own."""
ADAM_RATE = 0.03
"""Learning rates above this one are usual for SGD, but not for AdamW."""
ADAM_ACCESSES = 23
"""Vector accesses of AdamW's step beyond those of x' = x - lr g."""
ROW_ACCESSES = 6
"""The same of row-wise Adagrad: the mean and the scaling of the gradient, and its squares, twice."""


class Descent(StepSettings):
    """An algorithm whose workers take gradient steps by any optimizer.

    The gradient that is applied is clipped; then SGD adds weight_decay x to it, at its point, while the other
    optimizers shrink the weights (decoupled).
    """

    search = {
        "lr": Space(low=0.003, high=1.0, scale="log"),
        "momentum": Space(low=0.0, high=0.97, scale="reverse-log", when={"optimizer": ["sgd", "muon"]}),
        "momentum_kind": Space(
            choices=["heavy-ball", "nesterov"], when={"optimizer": ["sgd", "muon"]}, unless={"momentum": [0.0]}
        ),
        "weight_decay": Space(
            low=0.001,
            high=0.3,
            scale="log",
            when={"optimizer": ["adamw", "muon", "row-adagrad", "row-adam", "lazy-adam"]},
        ),
        **SCHEDULED,
    }

    momentum: float = Field(0.0, ge=0, lt=1, title="Momentum", description="Factor of the velocity (mu); 0: none.")
    momentum_kind: Literal["heavy-ball", "nesterov"] = Field(
        "heavy-ball",
        title="Kind of momentum",
        description="Gradient at x (heavy ball), or at the look-ahead point x + mu v (Nesterov).",
    )
    optimizer: Optimizer = Field(
        "sgd",
        title="Optimizer",
        description="Of a worker's steps. Muon: matrices of hidden layers, AdamW for the other weights. Row-wise "
        "Adagrad: one sum of squares per row; row-wise Adam: one second moment per row; lazy Adam: AdamW of rows "
        "with a gradient.",
        json_schema_extra=STEP,
    )

    def warnings(self, workers: int) -> list[str]:
        """Return warnings on settings of the step that have no effect, or probably not the one intended."""
        told = super().warnings(workers)
        if self.optimizer not in ("sgd", "muon") and self.momentum > 0:
            told.append(f"momentum has no effect with optimizer = {self.optimizer}")
        if self.optimizer == "muon" and self.momentum == 0:
            told.append("muon without momentum orthogonalizes single gradients: momentum 0.95 is published")
        if self.optimizer not in ("sgd", "row-adagrad") and self.lr > ADAM_RATE:
            told.append(
                f"lr = {self.lr:g} is large for {self.optimizer}, whose steps have about this length in every "
                "weight: usual values are 0.0001 to 0.01"
            )
        return told

    def decay(self) -> float:
        """Return the weight decay, with the method's default where none is given."""
        return self.weight_decay or 0.0

    def local_step(self, r: Rank) -> Step:
        """Return the local step for this rank's weights."""
        decay, clip, schedule = self.decay(), self.clip_norm, self._scheduled(r)
        if self.optimizer in ADAPTIVE:
            return ADAPTIVE[self.optimizer](r, self.lr, decay=decay, clip=clip, schedule=schedule)
        made = MuonStep if self.optimizer == "muon" else LocalStep
        nesterov = self.momentum_kind == "nesterov"
        return made(r, self.lr, self.momentum, nesterov, decay=decay, clip=clip, schedule=schedule)

    def velocity_accesses(self) -> int:
        """Return the vector accesses that momentum adds to a step of SGD: 5 for heavy ball, 10 for Nesterov."""
        if not self.momentum or self.optimizer != "sgd":
            return 0
        return 10 if self.momentum_kind == "nesterov" else 5

    def optimizer_accesses(self) -> int:
        """Return the vector accesses of an optimizer beyond those of SGD."""
        return {"sgd": 0, "row-adagrad": ROW_ACCESSES}.get(self.optimizer, ADAM_ACCESSES)

    def step_accesses(self) -> float:
        """Return the vector accesses of x' = x - lr g and of the optimizer."""
        return 3 + self.optimizer_accesses()

    def setting_accesses(self) -> int:
        """Return the vector accesses that all other settings add to a step."""
        coupled = 5 if self.optimizer == "sgd" and self.decay() else 0
        scaled = 2 if self.optimizer == "sgd" and (coupled or self.clip_norm) else 0
        more = 3 * self.accumulation + 5 if self.accumulation > 1 else 0
        return coupled + scaled + (1 if self.clip_norm else 0) + more

    def vector_accesses(self, server: bool) -> float:
        """Return the vector reads and writes of one step; only workers take steps."""
        own = self.velocity_accesses() + self.optimizer_accesses()
        return super().vector_accesses(server) + (0 if server else own)


class Periodic(Descent):
    """A method whose workers exchange once per `period` local steps."""

    period_field: ClassVar[str | None] = "period"
    search = {"period": Space(low=1, high=64, scale="log", integer=True)}

    period: int = Field(1, ge=1, le=10_000, title="Period", description="Local steps per exchange (tau).")
