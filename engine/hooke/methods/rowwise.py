"""Row-wise Adagrad: one number of state for each row of a matrix, for networks with many rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hooke.comm.touched import Rows, Touched
from hooke.methods.steps import Step

if TYPE_CHECKING:
    from hooke.catalogue.rank import Rank
    from hooke.comm.base import Vector
    from hooke.methods.schedule import Schedule

EPSILON = 1e-8


class RowStep(Step):
    """s_r' = s_r + mean_k g_rk^2,   x_r' = (1 - lr w) x_r - lr g_r / (sqrt(s_r') + eps)     for every row r

    Adagrad (Duchi, Hazan, Singer 2011) with one sum per row instead of one per weight, as for tables of
    embeddings. Rows are those of the first dimension; a bias has rows of one element. A row without a gradient
    stays as it is, also with weight decay: where the gradient is known to be zero it is not read. The sums belong
    to this rank: they outlive a step and are never sent.
    """

    def __init__(
        self,
        r: Rank,
        lr: float,
        *,
        decay: float = 0.0,
        clip: float | None = None,
        schedule: Schedule | None = None,
    ) -> None:
        super().__init__(r, lr, decay=decay, clip=clip, schedule=schedule)
        self._all = Touched(tuple(Rows(part, None) for part in r.layout))
        state = r.state("row squares")
        self._sums: list[Any] = []
        first = 0
        for rows in self._all:  # in front of the vector, so that the rest of its memory is never touched
            self._sums.append(state[first : first + rows.count])
            first += rows.count

    def move(self, g: Vector, parts: int = 1) -> tuple[Vector, float]:
        """Update the sums with a gradient, the sum of `parts`; return the step, in its place, and 1."""
        touched, mean = self._rows(g), self._to_mean(g, parts)
        for rows, sums in zip(touched, self._sums, strict=True):
            step = self._step(rows, sums, rows.of(g), mean)
            if self._decay:
                step.add_(rows.of(self._r.params).mul(-self.lr * self._decay))
            rows.put(g, step)
        return g, 1.0

    def apply(self, g: Vector, parts: int = 1) -> None:
        """Step the weights along this gradient, the sum of `parts`."""
        touched, mean, x = self._rows(g), self._to_mean(g, parts), self._r.params
        for rows, sums in zip(touched, self._sums, strict=True):
            step, values = self._step(rows, sums, rows.of(g), mean), rows.of(x)
            if self._decay:
                values.mul_(1 - self.lr * self._decay)
            values.add_(step)
            rows.put(x, values)

    def _rows(self, g: Vector) -> Touched:
        """Return the rows of a gradient: those that are known, or all."""
        touched = self._r.touched(g)
        return self._all if touched is None else touched

    def _step(self, rows: Rows, sums: Any, g: Any, mean: float) -> Any:
        """Return the step of some rows, in place of their gradient, and renew their sums."""
        g.mul_(mean)
        squares = g.square().mean(dim=1)
        if rows.ids is None:
            sums.add_(squares)
            total = sums
        else:
            total = sums.index_select(0, rows.ids).add_(squares)
            sums.index_copy_(0, rows.ids, total)
        return g.mul_((-self.lr / (total.sqrt() + EPSILON))[:, None])
