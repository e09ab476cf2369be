"""What the API says of series. Columns, not rows: x and y are arrays of equal length."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hooke_api.schema import View

Metric = Literal["test_accuracy", "test_loss", "train_loss", "communication_fraction", "throughput", "staleness"]
Axis = Literal["clock", "wall", "samples", "epoch", "step", "bytes"]


class Series(View):
    """One metric of one run: min, max, first and last of every bucket, so spikes stay; null is NaN."""

    run: str
    metric: Metric
    x: list[float]
    y: list[float | None]
    n: int = Field(description="Points kept in this answer.")
    of: int = Field(description="Points stored.")


class SeriesAnswer(View):
    """Series of many runs on one axis, in the order asked."""

    axis: Axis
    unit: str
    series: list[Series]


class Band(View):
    """One metric of one group of seeds (variant x cluster x workers) on a common grid."""

    variant: str
    cluster: str
    simulated: bool
    workers: int
    metric: Metric
    x: list[float]
    mean: list[float | None]
    low: list[float | None]
    """Lower end of the 95% t interval of the mean; null where n < 2."""
    high: list[float | None]
    n: list[int]
    """Seeds that reach this far: mean and band are over these."""
    runs: list[str]


class BandAnswer(View):
    """Mean and band over seeds for a whole experiment: what its charts draw."""

    axis: Axis
    unit: str
    bands: list[Band]
    position: int
    """Event position up to which this answer is complete; the stream goes on after it."""
