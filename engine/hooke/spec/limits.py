"""Limits of a run, and how often it is evaluated."""

from __future__ import annotations

from pydantic import Field

from hooke.spec.frozen import Frozen


class Budget(Frozen):
    """Limits of a run; the same for every method."""

    samples: int = Field(ge=1, le=10**12, title="Samples", description="Gradients x batch of all workers.")
    schedule_samples: int | None = Field(
        None,
        ge=1,
        le=10**12,
        exclude_if=lambda value: value is None,  # documents without it keep their fingerprint
        title="Samples of the schedule",
        description="Samples over which schedules of the learning rate run; empty: those of the budget. Trials "
        "use those of the whole budget.",
    )
    max_seconds: float | None = Field(
        None, gt=0, le=10**7, title="Wall limit", description="Seconds; then the run ends as timed out."
    )
    max_stall_seconds: float | None = Field(
        None,
        gt=0,
        le=10**7,
        exclude_if=lambda value: value is None,  # documents without it keep their fingerprint
        title="Stall limit",
        description="Wall seconds without a step and without an evaluation after which ranks count as hung; "
        "empty: 60. Pauses of up to 20 times the longest pause so far are always allowed.",
    )


class EvaluationSettings(Frozen):
    """How often the center is evaluated on the validation part, off the clock."""

    every: int = Field(ge=1, le=10**12, title="Every", description="Samples between evaluations.")
