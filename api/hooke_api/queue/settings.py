"""The policy of a cluster's queue: its settings, as stored in the column `policy` of a cluster."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

LOWEST, HIGHEST = -100, 100
Priority = Annotated[int, Field(ge=LOWEST, le=HIGHEST)]
"""Priority of an experiment; a higher one goes first where the policy is `priority`."""
Limit = Annotated[int, Field(ge=1, le=1_000_000, strict=True)]


class Order(StrEnum):
    """What decides which experiment comes first."""

    FIRST_COME = "first-come"
    PRIORITY = "priority"
    FAIR_SHARE = "fair-share"
    SHORTEST_SERVICE = "shortest-service"


class QueuePolicy(BaseModel):
    """Order and limits of one cluster's queue."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    order: Order = Field(Order.FIRST_COME, description="What decides which experiment comes first.")
    ageing_minutes: Annotated[float, Field(gt=0, le=1e6, strict=True)] | None = Field(
        60.0,
        description="priority: minutes of waiting that count as one point; null: waiting counts nothing.",
    )
    half_life_hours: Annotated[float, Field(gt=0, le=1e5, strict=True)] = Field(
        24.0, description="fair-share: hours after which past use of the cluster counts half."
    )
    patience_hours: Annotated[float, Field(gt=0, le=1e5, strict=True)] | None = Field(
        24.0,
        description="shortest-service: an experiment that has waited for so many hours goes first; null: never.",
    )
    max_waiting_runs: Limit | None = Field(
        None, description="Runs of one user that may wait; an experiment that exceeds it is refused."
    )
    max_active_runs: Limit | None = Field(
        None, description="Runs of one user that may be active at once; others are held back."
    )
