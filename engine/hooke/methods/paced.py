"""Periods of their own for every worker, which may follow the workers' speeds."""

from __future__ import annotations

from pydantic import Field

from hooke.methods.descent import Periodic
from hooke.methods.sizes import Bounds
from hooke.spec.spaces import Space


class Paced(Periodic):
    """A method whose server tells every worker how many steps its next period has; `period` is the first one."""

    search = {"longest": Space(low=1, high=64, scale="log", integer=True, unless={"factor": [1.0]})}

    longest: int = Field(64, ge=1, le=10_000, title="Longest period", description="Most steps of a period.")
    factor: float = Field(2.0, ge=1, le=100, title="Factor", description="Of a change of period (f); 1: none.")

    def exchange_period(self) -> int:
        """Return the largest number of local steps between two exchanges of a worker."""
        return max(self.period, self.longest if self.factor > 1 else 1)

    def first_period(self) -> int:
        """Return the number of local steps before a worker's first exchange."""
        return self.period

    def vector_accesses(self, server: bool) -> float:
        """Return those of one step at the geometric mean of the first and the longest period: an estimate."""
        typical = (self.period * self.exchange_period()) ** 0.5
        exchange = self.accesses[1] if isinstance(self.accesses, tuple) else 0
        more = 0.0 if server else exchange / typical - exchange / self.exchange_period()
        return super().vector_accesses(server) + more

    def bounds(self) -> Bounds:
        """Return the first period of all workers, the bounds and the factor."""
        return Bounds((self.period,), 1, self.exchange_period(), self.factor)
