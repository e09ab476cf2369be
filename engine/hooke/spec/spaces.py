"""Search spaces: the values that tuning may give a parameter."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from hooke.spec.frozen import Frozen

Scalar = bool | int | float | Annotated[str, StringConstraints(max_length=120)] | None
Edge = Literal["low", "high"]

EDGE = 0.05
"""A value within this share of an interval, on the interval's scale, from one of its ends lies at the edge."""


class Space(Frozen):
    """An interval of numbers, or choices; with `when`, only for some values of other parameters."""

    low: float | None = Field(None, title="Low", description="Lower end of the interval.")
    high: float | None = Field(None, title="High", description="Upper end of the interval.")
    scale: Literal["linear", "log", "reverse-log"] = Field(
        "linear",
        title="Scale",
        description="Values are uniform in x, in log x, or in log(1 - x), for parameters that approach 1.",
    )
    integer: bool = Field(False, title="Integer", description="Round to whole numbers.")
    choices: list[Scalar] | None = Field(
        None,
        min_length=1,
        max_length=64,
        title="Choices",
        description="Values, instead of an interval.",
    )
    when: dict[str, list[Scalar]] = Field(
        default_factory=dict,
        title="Only when",
        description="Searched only where each of these parameters has one of these values; else left as it is.",
    )

    @model_validator(mode="after")
    def _one_kind(self) -> Space:
        if self.choices is not None:
            if (self.low, self.high) != (None, None):
                raise ValueError("give `choices`, or `low` and `high`, not both")
            return self
        if self.low is None or self.high is None:
            raise ValueError("give `low` and `high`, or `choices`")
        if not self.low < self.high:
            raise ValueError("`low` must be less than `high`")
        if self.scale == "log" and self.low <= 0:
            raise ValueError("a log scale needs `low` > 0")
        if self.scale == "reverse-log" and self.high >= 1:
            raise ValueError("a reverse-log scale needs `high` < 1")
        return self

    @property
    def ordered(self) -> bool:
        """Return whether its values have an order, and so edges: intervals do, choices only if all are numbers."""
        return self.choices is None or all(_is_number(choice) for choice in self.choices)

    def applies(self, values: Mapping[str, Any]) -> bool:
        """Return whether the conditions on other parameters hold."""
        return all(values.get(name) in allowed for name, allowed in self.when.items())

    def at(self, share: float) -> Scalar:
        """Return the value at a share in [0, 1) of the space."""
        if self.choices is not None:
            return self.choices[min(int(share * len(self.choices)), len(self.choices) - 1)]
        low, high = self._ends()
        if self.integer:  # whole numbers, the ends included, get shares of about equal size
            low, high = self._scaled(self._low - 0.5), self._scaled(self._high + 0.5)
        value = self._unscaled(low + share * (high - low))
        if self.integer:
            return max(math.ceil(self._low), min(math.floor(self._high), round(value)))
        return float(f"{value:.4g}")  # readable, and no coarser than anybody could measure

    def position(self, value: Any) -> float | None:
        """Return the share in [0, 1] at which a value lies; None if it is none of the space's values."""
        if self.choices is not None:
            if value not in self.choices:
                return None
            return self.choices.index(value) / max(1, len(self.choices) - 1)
        if not _is_number(value) or not self._low <= value <= self._high:
            return None
        low, high = self._ends()
        return (self._scaled(float(value)) - low) / (high - low)

    def edge(self, value: Any) -> Edge | None:
        """Return the end of the space at which a value lies, if any: a better one may lie beyond."""
        where = self.position(value) if self.ordered else None
        if where is None or (self.choices is not None and len(self.choices) == 1):
            return None
        return "low" if where <= EDGE else "high" if where >= 1 - EDGE else None

    def widened(self, edge: Edge, share: float = 0.5) -> Space:
        """Return an interval that reaches beyond an end by a share of its width, on its scale.

        Raises ValueError for choices.
        """
        if self.choices is not None:
            raise ValueError("choices have no width: add choices")
        low, high = self._ends()
        reach = (high - low) * share
        end = self._unscaled(low - reach if edge == "low" else high + reach)
        return self.model_copy(update={edge: float(round(end) if self.integer else f"{end:.3g}")})

    @property
    def _low(self) -> float:
        return -math.inf if self.low is None else self.low

    @property
    def _high(self) -> float:
        return math.inf if self.high is None else self.high

    def _ends(self) -> tuple[float, float]:
        return self._scaled(self._low), self._scaled(self._high)

    def _scaled(self, value: float) -> float:
        if self.scale == "log":
            return math.log(value)
        return -math.log(1 - value) if self.scale == "reverse-log" else value

    def _unscaled(self, value: float) -> float:
        if self.scale == "log":
            return math.exp(value)
        return 1 - math.exp(-value) if self.scale == "reverse-log" else value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
