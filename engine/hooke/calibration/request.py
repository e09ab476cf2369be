"""What the ranks of a calibration are asked to measure, and what they answer: files in their folder."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from hooke.calibration.documents import ComputeRate, Curve
from hooke.spec.frozen import Frozen, Name

REQUEST, ANSWER = "request.json", "measured.json"


class WorkloadRequest(Frozen):
    """A workload whose gradients are timed."""

    name: Name
    parameters: dict[str, Any] = Field(default_factory=dict)
    precision: Literal["fp32", "bf16"] = "fp32"


class Request(Frozen):
    """`request.json`."""

    workloads: list[WorkloadRequest] = Field(default_factory=list)
    seconds: float = Field(30.0, gt=0)
    """Time for all measurements; start-up is not part of it."""
    only_start: bool = False
    """Measure nothing but the start-up."""


class Answer(Frozen):
    """`measured.json`, written by rank 0."""

    ready: float
    """Unix time at which the last rank had initialized."""
    hosts: int = 1
    cores: int = 1
    load: float = 0.0
    oversubscribed: bool = False
    hardware: dict[str, str | int | float]
    versions: dict[str, str]
    curves: list[Curve] = Field(default_factory=list)
    compute: list[ComputeRate] = Field(default_factory=list)
