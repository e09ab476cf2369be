"""When hash tables are rebuilt: with growing gaps, as weights change less and less."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hooke.errors import ArgumentError


@dataclass(frozen=True)
class RebuildSchedule:
    """Rebuild n takes place at step floor(sum_{i<n} first * exp(growth * i)), n = 1, 2, ..."""

    first: int = 50
    """Steps before the first rebuild, N0."""
    growth: float = 0.1
    """Lambda; 0: rebuilds at equal distances."""

    def __post_init__(self) -> None:
        if self.first < 1:
            raise ArgumentError(f"steps before the first rebuild are {self.first}; it must be at least 1")
        if not 0 <= self.growth <= 10:
            raise ArgumentError(f"growth of the gaps between rebuilds is {self.growth}; it must be in [0, 10]")

    def step_of(self, number: int) -> int:
        """Return the step of rebuild `number`, from 1; 0 for 0."""
        if self.growth == 0:
            return self.first * number
        gaps = math.expm1(self.growth * number) / math.expm1(self.growth)
        return math.floor(self.first * gaps + 1e-9)  # a whole number may be rounded down to less

    def until(self, step: int) -> int:
        """Return the number of rebuilds at steps 1 to `step`."""
        if step < self.first:
            return 0
        if self.growth == 0:
            return step // self.first
        number = int(math.log1p(step * math.expm1(self.growth) / self.first) / self.growth)
        while self.step_of(number) > step:
            number -= 1
        while self.step_of(number + 1) <= step:
            number += 1
        return number

    def is_rebuild(self, step: int) -> bool:
        """Return whether tables are rebuilt at `step`."""
        return step > 0 and self.until(step) > self.until(step - 1)

    def next_after(self, step: int) -> int:
        """Return the first step after `step` at which tables are rebuilt."""
        return self.step_of(self.until(step) + 1)
