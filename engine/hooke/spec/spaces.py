"""Search spaces: the values that tuning may give a parameter."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal, TypeGuard

from pydantic import Field, StringConstraints, model_validator

from hooke.spec.frozen import Frozen

Scalar = bool | int | float | Annotated[str, StringConstraints(max_length=120)] | None
Edge = Literal["low", "high"]

LARGEST = 1e100
"""Largest magnitude of an end, and of its inverse on a log scale: no arithmetic on intervals overflows."""
LARGEST_INTEGER = 2**53
DIGITS = 4
"""Of the values of an interval, relative to its width: readable, and no coarser than anybody could measure."""
EDGE = 0.05
"""A value within this share of an interval, on the interval's scale, from one of its ends lies at the edge."""


class Space(Frozen):
    """An interval of numbers, or choices; with `when` and `unless`, only for some values of other parameters."""

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
    when: dict[str, Annotated[list[Scalar], Field(min_length=1)]] = Field(
        default_factory=dict,
        title="Only when",
        description="Searched only where each of these parameters has one of these values; else left as it is.",
    )
    unless: dict[str, Annotated[list[Scalar], Field(min_length=1)]] = Field(
        default_factory=dict,
        title="Not when",
        description="Not searched where one of these parameters has one of these values: there it has no effect.",
    )

    @model_validator(mode="after")
    def _one_kind(self) -> Space:
        if self.choices is not None:
            if (self.low, self.high) != (None, None):
                raise ValueError("give `choices`, or `low` and `high`, not both")
            if any(same(choice, other) for i, choice in enumerate(self.choices) for other in self.choices[:i]):
                raise ValueError("one of the choices is listed twice")
            return self
        if self.low is None or self.high is None:
            raise ValueError("give `low` and `high`, or `choices`")
        self._check_interval(self.low, self.high)
        return self

    def _check_interval(self, low: float, high: float) -> None:
        if not low < high:
            raise ValueError("`low` must be less than `high`")
        if max(-low, high) > LARGEST:
            raise ValueError(f"the ends must lie between -{LARGEST:g} and {LARGEST:g}")
        if self.scale == "log" and low < 1 / LARGEST:
            raise ValueError("a log scale needs `low` > 0" + f", at least {1 / LARGEST:g}" * (low > 0))
        if self.scale == "reverse-log" and high >= 1:
            raise ValueError("a reverse-log scale needs `high` < 1")
        if self.integer and self.scale == "reverse-log":
            raise ValueError("whole numbers do not approach 1: choose the linear or the log scale")
        if self.integer and not (low.is_integer() and high.is_integer() and max(-low, high) <= LARGEST_INTEGER):
            raise ValueError(f"the ends of an integer interval are whole numbers of at most {LARGEST_INTEGER}")
        if not self._scaled(low) < self._scaled(high):
            raise ValueError(f"on the {self.scale} scale `low` and `high` are the same")

    @property
    def ordered(self) -> bool:
        """Return whether its values have an order, and so edges: intervals do, choices only if all are numbers."""
        return self.choices is None or all(_is_number(choice) for choice in self.choices)

    @property
    def in_words(self) -> str:
        """Return "0.003 to 0.3, log", "1 to 64, whole, log" or "heavy-ball, nesterov"."""
        if self.choices is not None:
            return ", ".join("empty" if each is None else str(each) for each in self.choices)
        said = [f"{self._low:g} to {self._high:g}", "whole" if self.integer else ""]
        return ", ".join(filter(None, [*said, "" if self.scale == "linear" else self.scale]))

    @property
    def conditions(self) -> frozenset[str]:
        """Return the other parameters on which it depends."""
        return frozenset(self.when.keys() | self.unless.keys())

    def applies(self, values: Mapping[str, Any]) -> bool:
        """Return whether the conditions on other parameters hold."""
        barred = any(values.get(name) in some for name, some in self.unless.items())
        return not barred and all(values.get(name) in allowed for name, allowed in self.when.items())

    def on(self, names: Collection[str]) -> Space:
        """Return the space with its conditions on these parameters alone."""
        when = {name: allowed for name, allowed in self.when.items() if name in names}
        unless = {name: barred for name, barred in self.unless.items() if name in names}
        return self.model_copy(update={"when": when, "unless": unless})

    def at(self, share: float) -> Scalar:
        """Return the value at a share in [0, 1) of the space."""
        if self.choices is not None:
            return self.choices[min(int(share * len(self.choices)), len(self.choices) - 1)]
        low, high = self._drawn()
        value = self._unscaled(low + share * (high - low))
        if self.integer:
            return round(max(self._low, min(self._high, round(value))))
        return max(self._low, min(self._high, self._readable(value)))

    def share(self, value: Any) -> float | None:
        """Return a share at which `at` returns this value; None if it is none of the space's values."""
        if self.choices is not None:
            return (self.choices.index(value) + 0.5) / len(self.choices) if value in self.choices else None
        if self.position(value) is None:
            return None
        low, high = self._drawn()
        return (self._scaled(float(value)) - low) / (high - low)

    def position(self, value: Any) -> float | None:
        """Return the share in [0, 1] at which a value lies; None if it is none of the space's values."""
        if self.choices is not None:
            if value not in self.choices:
                return None
            numbers = sorted(choice for choice in self.choices if _is_number(choice))
            order = numbers if self.ordered else self.choices
            return order.index(value) / max(1, len(order) - 1)
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

        Of choices: with one more, if the three at this end have one ratio, or else one distance. Raises ValueError
        if there is no such space.
        """
        if self.choices is not None:
            return self._with_next(edge, self.choices)
        low, high = self._ends()
        reach = (high - low) * share
        try:
            end = self._unscaled(low - reach if edge == "low" else high + reach)
            end = float(round(end)) if self.integer else self._readable(end, DIGITS - 1)
            wider = Space.model_validate(self.model_dump() | {edge: end})
        except (OverflowError, ValueError):
            raise ValueError("this interval cannot be widened there") from None
        if not wider._low <= self._low < self._high <= wider._high:  # rounding took more than the reach
            raise ValueError("this interval cannot be widened there")
        return wider

    def _with_next(self, edge: Edge, choices: list[Scalar]) -> Space:
        numbers = sorted(choice for choice in choices if _is_number(choice))
        a, b, c = (numbers[:3] if edge == "low" else numbers[:-4:-1]) if len(numbers) > 2 else (0, 0, 1)
        small = max(abs(a), abs(b), abs(c)) <= LARGEST
        following = 2 * a - b if small and math.isclose(b - a, c - b) else None
        if small and a * b > 0 and math.isclose(b * b, a * c):
            following = a * a / b
        if following is None or not self.ordered:
            raise ValueError("these choices do not say what follows them: add choices")
        whole = all(isinstance(number, int) for number in numbers) and float(following).is_integer()
        added = int(following) if whole else float(f"{following:.6g}")
        more = [added, *choices] if edge == "low" else [*choices, added]
        return Space.model_validate(self.model_dump() | {"choices": more})

    @property
    def _low(self) -> float:
        return -math.inf if self.low is None else self.low

    @property
    def _high(self) -> float:
        return math.inf if self.high is None else self.high

    def _drawn(self) -> tuple[float, float]:
        """Return the scaled ends between which `at` draws: whole numbers get shares of about equal size."""
        half = 0.5 if self.integer else 0.0
        return self._scaled(self._low - half), self._scaled(self._high + half)

    def _ends(self) -> tuple[float, float]:
        return self._scaled(self._low), self._scaled(self._high)

    def _scaled(self, value: float) -> float:
        if self.scale == "log":
            return math.log(value)
        return -math.log(1 - value) if self.scale == "reverse-log" else value

    def _readable(self, value: float, digits: int = DIGITS) -> float:
        """Return a value with a few digits; on the reverse log scale, its distance to 1 has them."""
        low, high = self._ends()
        share = (high - low) / max(abs(low), abs(high)) if self.scale == "linear" else high - low
        digits = min(15, digits + max(0, math.floor(-math.log10(share))))
        if self.scale != "reverse-log":
            return float(f"{value:.{digits}g}")
        return float(f"{1 - float(f'{1 - value:.{digits}g}'):.15g}")

    def _unscaled(self, value: float) -> float:
        if self.scale == "log":
            return math.exp(value)
        return 1 - math.exp(-value) if self.scale == "reverse-log" else value


def by_condition(spaces: Mapping[str, Space]) -> tuple[dict[str, Space], frozenset[str]]:
    """Return spaces, each after those on which its condition depends, and the names that depend on themselves.

    Those without `when` come first; otherwise the order stays, so that the points of the sequence do.
    """
    rest = dict(sorted(spaces.items(), key=lambda item: bool(item[1].when)))
    found: dict[str, Space] = {}
    while ready := _ready(rest):
        found |= {name: rest.pop(name) for name in ready}
    return found | rest, frozenset(rest)


def _ready(rest: Mapping[str, Space]) -> list[str]:
    """Return the names whose `when` depends on none of the rest, and `unless` on none that does not precede it."""
    found: list[str] = []
    for name, space in rest.items():
        behind = space.unless.keys() & rest.keys() - set(found)
        if not behind and not space.when.keys() & rest.keys():
            found.append(name)
    return found


def same(one: Scalar, other: Scalar) -> bool:
    """Return whether two values are the same, of which 1 and true are two."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
