"""Further metrics of a workload: what its evaluations report beside loss and accuracy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator

from hooke.spec.frozen import Frozen

MetricName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
FurtherValues = Annotated[dict[MetricName, float], Field(max_length=64)]
"""Values of the metrics that a `start` record declares, by name; one without a value is left out."""
RESERVED = ("validation_", "test_", "train_", "communication_fraction", "throughput", "staleness", "bytes_sent")
"""Beginnings of the names of metrics that every workload has."""


class FurtherMetric(Frozen):
    """Declaration of one metric: how it is called, what it means, and in which unit it is."""

    name: MetricName
    title: str = Field(min_length=1, max_length=60)
    """What charts call it, as `P@3`."""
    unit: str = Field("", max_length=20)
    """As `s` or `labels`; `share`: a fraction, shown in percent; empty: a plain number."""
    description: str = Field("", max_length=300)
    better: Literal["higher", "lower"] | None = None
    """None: neither."""
    measured: bool = Field(False, exclude_if=lambda value: not value)
    """Whether values are real seconds of the machine: left out in virtual time, which does not measure."""

    @field_validator("name")
    @classmethod
    def _is_free(cls, name: str) -> str:
        if taken := [each for each in RESERVED if name.startswith(each)]:
            raise ValueError(f"names that begin with {taken[0]!r} are those of metrics that every workload has")
        return name


def reported(
    values: Mapping[str, float], declared: Iterable[FurtherMetric], *, simulated: bool = False
) -> dict[str, float]:
    """Return the declared values that are numbers, in the order of their declaration.

    `simulated`: leave out those that are measured.
    """
    names = (each.name for each in declared if not (simulated and each.measured))
    return {name: values[name] for name in names if name in values and math.isfinite(values[name])}
