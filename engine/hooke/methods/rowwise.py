"""Optimizers of networks with many rows: row-wise Adagrad and Adam, lazy Adam."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

from hooke.comm.touched import Rows, Touched
from hooke.methods.narrow import Weights
from hooke.methods.steps import Step

if TYPE_CHECKING:
    from hooke.catalogue.rank import Rank
    from hooke.comm.base import Vector
    from hooke.methods.schedule import Schedule

EPSILON = 1e-8


class RowStep(Step):
    """s_r' = s_r + mean_k g_rk^2,   x_r' = (1 - lr w) x_r - lr g_r / (sqrt(s_r') + eps)     for every row r

    Adagrad (Duchi, Hazan, Singer 2011) with one sum per row instead of one per weight, as for tables of
    embeddings. Rows are those of the first dimension; a bias has rows of one element. A row whose gradient is zero
    stays as it is, also with weight decay, whether that is known or found: where it is known it is not read. The
    sums belong to this rank: they outlive a step and are never sent.
    """

    rowwise = True

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
        self._weights = Weights(r)
        state = r.state("row squares")
        self._sums: list[Any] = []
        first = 0
        for rows in self._all:  # in front of the vector, so that the rest of its memory is never touched
            self._sums.append(state[first : first + rows.count])
            first += rows.count

    def move(self, g: Vector, parts: int = 1) -> tuple[Vector, float]:
        """Update the sums with a gradient, the sum of `parts`; return the step, in its place, and 1."""
        touched, mean = self._rows(g), self._to_mean(g, parts)
        self._note(touched)
        for rows, sums in zip(touched, self._sums, strict=True):
            own = rows.of(g)
            still = _without_gradient(own) if self._decay else None
            step = self._step(rows, sums, own, mean)
            if still is not None:
                step.add_(rows.of(self._r.params).mul(-self.lr * self._decay).masked_fill_(still, 0.0))
            rows.put(g, step)
        return g, 1.0

    def apply(self, g: Vector, parts: int = 1) -> None:
        """Step the weights along this gradient, the sum of `parts`."""
        touched, mean = self._rows(g), self._to_mean(g, parts)
        self._note(touched)
        if touched is not self._all:
            self._r.stepped(len(touched))
        for place, (rows, sums) in enumerate(zip(touched, self._sums, strict=True)):
            own, values = rows.gradient(g), self._weights.of(rows)
            if rows.ids is None and rows.width == 1:  # a bias: were g changed for it, all of it would be cleared
                own = own.clone()
            if self._decay:
                still = _without_gradient(own)
                values.mul_(own.new_full(still.shape, 1 - self.lr * self._decay).masked_fill_(still, 1.0))
            values.add_(self._step(rows, sums, own, mean))
            self._weights.put(place, rows, values)

    def _rows(self, g: Vector) -> Touched:
        """Return the rows of a gradient: those that are known, or all."""
        touched = self._weights.touched(g)
        return self._all if touched is None else touched

    def _step(self, rows: Rows, sums: Any, g: Any, mean: float) -> Any:
        """Return the step of some rows, in place of their gradient, and renew their sums."""
        if mean != 1.0:  # else the pass over the gradient would change nothing
            g.mul_(mean)
        squares = g.square().mean(dim=1)
        if rows.ids is None:
            sums.add_(squares)
            total = sums
        else:
            at = rows.at(sums)
            total = sums.index_select(0, at).add_(squares)
            sums.index_copy_(0, at, total)
        return g.mul_((-self.lr / (total.sqrt() + EPSILON))[:, None])


class LazyAdamStep(Step):
    """AdamW (see `AdamStep`) of rows with a gradient; all others stay as they are, and so do their moments.

    As torch.optim.SparseAdam, with the corrections of the global step. A row whose gradient is zero does not move
    on by its momentum, as it would in AdamW: of a matrix without such rows it is AdamW. Rows are those of the
    first dimension; a bias has rows of one element. Moments belong to this rank: they outlive a step and are
    never sent. Weight decay is decoupled, of the rows that move.
    """

    rowwise = True
    betas: ClassVar[tuple[float, float]] = (0.9, 0.999)

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
        self._weights = Weights(r)
        self._first = r.state("first")
        self._allocate()

    def _allocate(self) -> None:
        self._second = self._r.state("second")

    def move(self, g: Vector, parts: int = 1) -> tuple[Vector, float]:
        """Update the moments with a gradient, the sum of `parts`; return the step, in its place, and 1."""
        for place, rows, own in self._moving(g, parts):
            step = self._step(place, rows, own)
            if self._decay:
                step.add_(rows.of(self._r.params), alpha=-self.lr * self._decay)
            if rows.ids is None:
                rows.matrix(g).copy_(step)
            rows.put(g, step)
        return g, 1.0

    def apply(self, g: Vector, parts: int = 1) -> None:
        """Step the weights along this gradient, the sum of `parts`."""
        moving = self._moving(g, parts)
        self._r.stepped(sum(own.numel() for _, _, own in moving))
        for place, rows, own in moving:
            step, values = self._step(place, rows, own), self._weights.of(rows)
            if self._decay:
                values.mul_(1 - self.lr * self._decay)
            values.add_(step)
            self._weights.put(place, rows, values)

    def _moving(self, g: Vector, parts: int) -> list[tuple[int, Rows, Any]]:
        """Return the number of each slice, its rows whose gradient is not zero, and their mean gradient."""
        touched = self._weights.touched(g)
        mean = self._to_mean(g, parts)
        found = []
        for place, rows in enumerate(self._all if touched is None else touched):
            own = rows.gradient(g)
            moving = (own != 0).any(dim=1)
            if not moving.all():
                at = moving.nonzero().flatten()
                own = own.index_select(0, at)
                rows = Rows(rows.part, at if rows.ids is None else rows.at(at).index_select(0, at))  # noqa: PLW2901
            found.append((place, rows, own.mul(mean)))
        self._note(Touched(tuple(rows for _, rows, _ in found)))
        return found

    def _renewed(self, rows: Rows, g: Any) -> Any:
        """Return the first moments of some rows, renewed; not to be changed."""
        m = rows.of(self._first).mul_(self.betas[0]).add_(g, alpha=1 - self.betas[0])
        rows.put(self._first, m)
        return m

    def _step(self, place: int, rows: Rows, g: Any) -> Any:
        """Return the step of some rows of a slice along their gradient, and renew their moments."""
        del place
        (b1, b2), t = self.betas, self._taken
        m = self._renewed(rows, g)
        v = rows.of(self._second).mul_(b2).addcmul_(g, g, value=1 - b2)
        rows.put(self._second, v)
        root = v.mul(1 / (1 - b2**t)).sqrt_().add_(EPSILON)
        return m.div(root).mul_(-self.lr / (1 - b1**t))


class RowAdamStep(LazyAdamStep):
    """m_r' = b1 m_r + (1 - b1) g_r,   v_r' = b2 v_r + (1 - b2) mean_k g_rk^2     for every row r with a gradient

    x_r' = (1 - lr w) x_r - lr m_r^ / (sqrt(v_r^) + eps),   m_r^ = m_r' / (1 - b1^n),   v_r^ = v_r' / (1 - b2^n)

    Adam with one second moment per row instead of one per weight; n is the number of the row's own steps, this one
    included. A row without a gradient stays as it is, and so do its moments. For rows of one element that have a
    gradient in every step it is AdamW.
    """

    def _allocate(self) -> None:
        squares, steps = self._r.state("row squares"), self._r.state("row steps")
        self._squares: list[Any] = []
        self._steps: list[Any] = []
        first = 0
        for rows in self._all:  # in front of the vectors, so that the rest of their memory is never touched
            self._squares.append(squares[first : first + rows.count])
            self._steps.append(steps[first : first + rows.count])
            first += rows.count

    def _step(self, place: int, rows: Rows, g: Any) -> Any:
        b1, b2 = self.betas
        m = self._renewed(rows, g)
        squares = g.square().mean(dim=1).mul_(1 - b2)
        v = _of(self._squares[place], rows).mul_(b2).add_(squares)
        n = _of(self._steps[place], rows).add_(1)
        _put(self._squares[place], rows, v)
        _put(self._steps[place], rows, n)
        own = n.double()  # 1 - b2^n would lose digits
        root = v.double().div_((own * math.log(b2)).expm1_().neg_()).sqrt_().add_(EPSILON)
        rate = root.mul_((own * math.log(b1)).expm1_()).reciprocal_().mul_(self.lr)  # negative, as expm1 is
        return m.mul(rate.to(m.dtype)[:, None])


def _without_gradient(g: Any) -> Any:
    """Return which rows of a gradient are zero, (rows, 1)."""
    return ~(g != 0).any(dim=1, keepdim=True)


def _of(state: Any, rows: Rows) -> Any:
    """Return one number per row: a copy for some rows, a view for all."""
    return state if rows.ids is None else state.index_select(0, rows.at(state))


def _put(state: Any, rows: Rows, values: Any) -> None:
    if rows.ids is not None:
        state.index_copy_(0, rows.at(state), values)
