"""Requests and responses about calibrations."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from hooke.calibration.documents import Calibration
from hooke.spec.calibrating import MOST_WORKLOADS
from hooke.spec.frozen import Name
from pydantic import BaseModel, ConfigDict, Field

from hooke_api.base.schema import View


class CalibrationRequest(BaseModel):
    """What a calibration measures; everything has a default."""

    model_config = ConfigDict(extra="forbid")

    workers: int | None = Field(
        None, ge=1, le=4096, strict=True, description="Ranks; empty: one per slot, at most 8."
    )
    workloads: list[Name] = Field(default=["digits-mlp"], max_length=MOST_WORKLOADS)
    precisions: list[Literal["fp32", "bf16"]] = Field(default=["fp32"], min_length=1, max_length=2)


class CalibrationView(View):
    """A calibration of a cluster."""

    id: str
    cluster: str
    state: Literal["queued", "running", "cancelling", "succeeded", "failed", "cancelled"]
    """`queued`: its cluster is offline or has an active run."""
    workers: int
    """Number of ranks that measure."""
    workloads: list[str]
    """Workloads whose gradients are timed."""
    created_at: datetime
    ended_at: datetime | None
    why: str
    """Why it failed; until it ends, what is done, in the words of agent and scheduler."""
    calibration: Calibration | None
    """What was measured."""
    drift: list[str]
    """Differences from the calibration that succeeded before it, in sentences; empty for the first one."""


class CalibrationList(View):
    """The latest calibrations of a cluster, newest first."""

    items: list[CalibrationView]
