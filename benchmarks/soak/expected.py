"""What a run of the load must store, in closed form from its specification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Expected:
    """Steps and evaluations of a run that succeeds, each exactly once."""

    each: int | None
    """Steps of every worker; None where a server divides them."""
    total: int
    """Steps of all workers together."""
    evaluations: tuple[int, ...]
    """Samples at which the center is evaluated, from the initial weights to the end of the budget."""


def expected(spec: Mapping[str, Any], workers: int, servers: int) -> Expected:
    """Return what `hooke.run/1` must store: budget / batch steps, and an evaluation at every multiple of `every`.

    Raises ValueError for a budget that is no multiple of the samples per step, or of the evaluations' interval.
    """
    samples, batch, every = spec["budget"]["samples"], spec["batch"], spec["evaluation"]["every"]
    if samples % (batch * workers) or samples % every or every % (batch * workers):
        raise ValueError(f"{samples} samples, evaluated every {every}, are no whole steps of {workers} x {batch}")
    total = samples // batch
    return Expected(
        each=None if servers else total // workers,
        total=total,
        evaluations=tuple(range(0, samples + 1, every)),
    )
