"""Random elements of a vector, the same on all workers, which SPARTA averages instead of the whole vector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hooke.catalogue.claims import Step, Transfer, Transfers

if TYPE_CHECKING:
    from hooke.catalogue.rank import Rank
    from hooke.comm.base import Vector


def size_of(fraction: float, elements: int) -> int:
    """Return how many elements this fraction of a vector is: at least one."""
    return max(1, round(fraction * elements))


def sparse_sum(method: Any, step: Step) -> Transfers:
    """Return one all-reduce of the chosen elements after every period."""
    if (step.t + 1) % method.period:
        return ()
    return (Transfer("all-reduce", size_of(method.fraction, step.elements), step.workers, begins="after"),)


class Sample:
    """The elements chosen at each step: distinct, in order, from the run's seed and the step."""

    def __init__(self, r: Rank, fraction: float) -> None:
        self._seed, self._elements = r.spec.seed, r.params.numel()
        self._values: Any = r.buffer(r.params)[: size_of(fraction, self._elements)]
        self._chosen: Any = None

    def take(self, x: Any, t: int) -> Vector:
        """Choose elements for step t and return a vector with a copy of those of x."""
        import numpy as np  # not at the top: a method's parameters are read without NumPy

        draw = np.random.default_rng([self._seed, t])
        self._chosen = draw.choice(self._elements, self._values.numel(), replace=False, shuffle=False)
        self._chosen.sort()
        return self._values.copy_(x[self._chosen])  # type: ignore[no-any-return]

    def put(self, x: Any) -> None:
        """Write the vector of the last `take` to these elements of x."""
        x[self._chosen] = self._values
