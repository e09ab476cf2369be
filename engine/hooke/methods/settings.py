"""The settings of a step that do not depend on its optimizer: schedule, weight decay, clipping, accumulation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, field_validator

from hooke.catalogue.algorithm import Algorithm
from hooke.methods.schedule import Kind, Schedule
from hooke.methods.steps import Step
from hooke.spec.spaces import Space

if TYPE_CHECKING:
    from hooke.catalogue.rank import Rank

Share = Annotated[float, Field(gt=0, lt=1)]

STEP: dict[str, Any] = {"group": "Settings of the step"}
"""Marks the settings that the form shows together and that docs/algorithms.md lists once, for all methods."""
SCHEDULED: dict[str, Space | None] = {
    "warmup": Space(low=0.0, high=0.2, when={"schedule": ["cosine"]}),
    "final_share": Space(low=0.0, high=0.2, when={"schedule": ["cosine"]}),
    "milestone_factor": Space(low=0.1, high=0.5, when={"schedule": ["step"]}),
}
"""Spaces of a schedule, searched where a variant turns it on."""


class StepSettings(Algorithm):
    """An algorithm with a step of its own, or, by `Descent`, with any optimizer.

    The gradient that is applied is clipped; the weights are shrunk by the weight decay times the rate of the step.
    The schedule multiplies lr, and nothing else. A worker's progress is its own step t over its equal share of the
    budget, T = ceil(steps of the budget / P), in every method.
    """

    lr: float = Field(0.05, gt=0, le=10, title="Learning rate", description="Step length eta.")
    weight_decay: float | None = Field(
        0.0,
        ge=0,
        le=1,
        title="Weight decay",
        description="Part of the gradient with SGD; decoupled with others. Empty: the method's default.",
        json_schema_extra=STEP,
    )
    clip_norm: float | None = Field(
        None,
        gt=0,
        title="Clip norm",
        description="Largest L2 norm of the gradient that is applied: the mean where workers apply a mean.",
        json_schema_extra=STEP,
    )
    schedule: Kind = Field(
        "constant", title="Schedule", description="Of the learning rate, over the budget.", json_schema_extra=STEP
    )
    warmup: float = Field(
        0.0,
        ge=0,
        lt=1,
        title="Warm-up",
        description="Share of the budget in which the learning rate rises linearly, with any schedule.",
        json_schema_extra=STEP,
    )
    final_share: float = Field(
        0.0,
        ge=0,
        le=1,
        title="Final share",
        description="Share of the learning rate at the end, with the cosine schedule.",
        json_schema_extra=STEP,
    )
    milestones: tuple[Share, ...] = Field(
        (0.5, 0.75),
        max_length=16,
        title="Milestones",
        description="Shares of the budget after which the learning rate is reduced, with the step schedule.",
        json_schema_extra=STEP,
    )
    milestone_factor: float = Field(
        0.1,
        gt=0,
        le=1,
        title="Milestone factor",
        description="Factor of the learning rate at each milestone, with the step schedule.",
        json_schema_extra=STEP,
    )
    accumulation: int = Field(
        1,
        ge=1,
        le=10_000,
        title="Accumulation",
        description="Gradients of successive batches that are averaged for one step.",
        json_schema_extra=STEP,
    )

    @field_validator("milestones")
    @classmethod
    def _in_order(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        if list(value) != sorted(set(value)):
            raise ValueError("write the milestones in ascending order, each once")
        return value

    def warnings(self, workers: int) -> list[str]:
        """Return warnings on settings of a schedule that have no effect."""
        told = super().warnings(workers)
        for name, schedule in (("final_share", "cosine"), ("milestones", "step"), ("milestone_factor", "step")):
            if self.schedule != schedule and getattr(self, name) != StepSettings.model_fields[name].default:
                told.append(f"{name} has no effect with schedule = {self.schedule}: it belongs to {schedule}")
        return told

    def gradients_per_step(self) -> int:
        """Return the gradients that a worker averages for one step."""
        return self.accumulation

    def own_step(self, r: Rank) -> Step:
        """Return rate, clipping and weight decay of this rank's steps, for a method that takes them itself."""
        decay = self.weight_decay or 0.0
        return Step(r, self.lr, decay=decay, clip=self.clip_norm, schedule=self._scheduled(r))

    def _scheduled(self, r: Rank) -> Schedule | None:
        if self.schedule == "constant" and not self.warmup:
            return None
        reduced = (self.final_share, self.milestones, self.milestone_factor)
        return Schedule(self.schedule, r.budget_steps, self.warmup, *reduced)

    def setting_accesses(self) -> int:
        """Return the vector accesses that these settings add to a step."""
        more = 3 * self.accumulation + 5 if self.accumulation > 1 else 0
        return (2 if self.weight_decay else 0) + (3 if self.clip_norm else 0) + more

    def vector_accesses(self, server: bool) -> float:
        """Return the vector reads and writes of one step; only workers take steps."""
        return super().vector_accesses(server) + (0 if server else self.setting_accesses())
