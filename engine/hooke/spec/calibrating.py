"""Messages between API and agent about a calibration; the document itself is `hooke.calibration.documents`."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, model_validator

from hooke.spec.events import Record
from hooke.spec.frozen import Name

MOST_WORKLOADS = 8
"""Workloads of one calibration: each takes several seconds."""


class CalibrationOrder(Record):
    """An order to calibrate a cluster; the agent carries it out while no run is active."""

    id: str = Field(min_length=1, max_length=40, pattern=r"^[A-Za-z0-9_]+$")
    workers: int = Field(ge=1, le=4096)
    workloads: list[Name] = Field(max_length=MOST_WORKLOADS)
    precisions: list[str] = Field(default_factory=lambda: ["fp32"], max_length=2)
    seconds: float = Field(25.0, ge=1, le=300)
    """For the measurements, without start-up."""


class CalibrationReport(Record):
    """The agent's answer: a `hooke.calibration/1` document, or why there is none, or not yet."""

    id: str = Field(min_length=1, max_length=40)
    document: dict[str, Any] | None = None
    why: str = Field("", max_length=4000)
    doing: str = Field("", max_length=1000)
    """What is done, or waited for, of a calibration that has not ended; such a report is repeated within 60 s."""

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if [self.document is not None, bool(self.why), bool(self.doing)].count(True) != 1:
            raise ValueError("a document, the reason why there is none, or what is done: one of them")
        return self
