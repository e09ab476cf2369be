"""One local step of a worker along a gradient: SGD with momentum, or AdamW."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from hooke.methods.moved import Moved, only_moved
from hooke.methods.narrow import Weights
from hooke.methods.pieces import pieces

if TYPE_CHECKING:
    from hooke.catalogue.rank import Rank
    from hooke.comm.base import Vector
    from hooke.comm.touched import Touched
    from hooke.methods.schedule import Schedule


class Step:
    """Learning rate, clipping and weight decay, which all optimizers share.

    A gradient g may be the sum of `parts` gradients, whose mean is applied. With `clip` the mean is scaled to a
    norm of at most `clip`, as by torch.nn.utils.clip_grad_norm_ (Pascanu et al. 2013). `move` and `apply` may
    change g.
    """

    rowwise: ClassVar[bool] = False
    """Whether this is an optimizer of rows."""

    def __init__(
        self,
        r: Rank,
        lr: float,
        *,
        decay: float = 0.0,
        clip: float | None = None,
        schedule: Schedule | None = None,
    ) -> None:
        self._r = r
        self._lr, self._decay, self._clip, self._schedule = lr, decay, clip, schedule
        self._kept: Vector | None = None
        """For a copy of the weights at which a gradient is taken: a pull may precede the step."""
        self._at = r.params
        """The point of the latest gradient, where it is kept."""
        self._moved: Moved | None = None
        self._without = 0
        """Steps of the run before the first that is taken."""

    def after(self, steps: int) -> Self:
        """Say that so many steps of the run have no gradient to apply, and are not taken; return this step.

        AdamW corrects its moments by the number of gradients that they hold.
        """
        self._without = steps
        return self

    def look_ahead(self, steps: int) -> None:
        """Take gradients where momentum alone leads in so many steps more; nothing without a velocity."""

    @property
    def _taken(self) -> int:
        """Return how many steps have been taken, this one included."""
        return self._r.t + 1 - self._without

    def follow(self, at_first: bool = True) -> Self:
        """Keep account of the rows that this step moves, where exchanges send those alone; return this step.

        `at_first`: all rows count as moved before the first exchange.
        """
        self._moved = Moved(self._r, at_first) if only_moved(self._r) else None
        return self

    @property
    def by_rows(self) -> bool:
        """Whether `apply` reads the rows of a gradient alone, where the objective tells them."""
        return self.rowwise and self._clip is None

    def alone(self) -> Self:
        """Say that nothing but `apply` of this step reads gradients; return this step."""
        if self.by_rows:
            self._r.read_rows()
        return self

    def moved(self) -> Touched | None:
        """Return the rows that `move` or `apply` have moved since this was called before.

        None: all, or no account is kept.
        """
        return None if self._moved is None else self._moved.take()

    def _note(self, touched: Touched | None) -> None:
        """Note the rows that a step moves; None: it may move all."""
        if self._moved is not None:
            self._moved.note(touched)

    @property
    def lr(self) -> float:
        """Return the learning rate of this rank's current step."""
        return self._lr if self._schedule is None else self._lr * self._schedule.at(self._r.t)

    def point(self) -> Vector:
        """Return the point of the next gradient: the weights, or the look-ahead point."""
        return self._r.params

    def gradient(self, at: Vector | None = None, **how: Any) -> Vector:
        """Return this rank's next gradient, at `point` or at the given one; `how`: as of `Rank.gradient`."""
        at, x = self.point() if at is None else at, self._r.params
        if self._kept is not None:
            self._at = self._kept.copy_(x) if at is x else at
        return self._r.gradient(at=None if at is x else at, **how)

    def move(self, g: Vector, parts: int = 1) -> tuple[Vector, float]:
        """Update the optimizer's state with the sum of `parts` gradients; return the step as (vector, factor)."""
        raise NotImplementedError

    def apply(self, g: Vector, parts: int = 1) -> None:
        """Step the weights along this gradient, the sum of `parts`."""
        raise NotImplementedError

    def average(self, g: Vector, parts: int = 1) -> None:
        """Make this sum of `parts` gradients their mean, clipped; for a method that takes the step itself."""
        if (factor := self._to_mean(g, parts)) != 1:
            g.mul_(factor)

    def shrink(self) -> None:
        """Shrink the weights by the weight decay times the rate; likewise."""
        if self._decay:
            self._r.params.mul_(1 - self.lr * self._decay)

    def _to_mean(self, g: Vector, parts: int) -> float:
        """Return the factor from this sum of gradients to their mean, clipped."""
        if self._clip is None:
            return 1 / parts
        import torch  # not at the top: a method's parameters are read without torch

        norm = float(torch.linalg.vector_norm(g)) / parts
        return min(1.0, self._clip / (norm + 1e-6)) / parts


class LocalStep(Step):
    """v' = mu v - lr (g + w x),  x' = x + v'          w: weight decay; g and x at the same point

    Heavy ball takes g at x ((3)(4) of arXiv 1708.02983), Nesterov at x + mu v (Algorithm 2 of arXiv
    1412.6651). Without momentum there is no velocity, and x' = x - lr g is one operation. The velocity belongs to
    this rank: it outlives a step and is never sent. It holds every gradient with the learning rate of its step.
    """

    def __init__(
        self,
        r: Rank,
        lr: float,
        momentum: float = 0.0,
        nesterov: bool = False,
        *,
        decay: float = 0.0,
        clip: float | None = None,
        schedule: Schedule | None = None,
    ) -> None:
        super().__init__(r, lr, decay=decay, clip=clip, schedule=schedule)
        self._momentum = momentum
        self._weights = Weights(r)
        self._pieces = pieces(r.params)
        self._velocity = r.state("velocity") if momentum else None
        self._ahead = r.buffer(r.params) if momentum and nesterov else None
        self._reach = momentum if nesterov else 0.0
        self._kept = r.buffer(r.params) if decay else None

    @property
    def by_rows(self) -> bool:
        """Whether `apply` reads the rows of a gradient alone, where the objective tells them."""
        return self._clip is None and not self._decay and not self._momentum

    def look_ahead(self, steps: int) -> None:
        """Take gradients at x + (mu + ... + mu^n) v, of n = `steps`, with Nesterov's kind of one more."""
        if self._velocity is not None:
            self._ahead = self._r.buffer(self._r.params) if self._ahead is None else self._ahead
            for _ in range(steps):
                self._reach = self._momentum * (1 + self._reach)

    def point(self) -> Vector:
        """Return the weights, or the look-ahead point."""
        if self._ahead is None or self._velocity is None:
            return self._r.params
        for piece in self._pieces:
            self._ahead[piece].copy_(self._r.params[piece]).add_(self._velocity[piece], alpha=self._reach)
        return self._ahead

    def move(self, g: Vector, parts: int = 1) -> tuple[Vector, float]:
        """Update the velocity with a gradient, the sum of `parts`; return the step as (vector, factor)."""
        g, rate = self._regular(g, parts)
        self._note(self._r.touched(g) if self._velocity is None else None)
        if self._velocity is None:
            return g, rate
        return self._renewed(self._velocity, g, rate), 1.0

    def apply(self, g: Vector, parts: int = 1) -> None:
        """Step the weights along this gradient, the sum of `parts`."""
        g, rate = self._regular(g, parts)
        x, v = self._r.params, self._velocity
        if v is None:
            touched = self._weights.touched(g)
            self._note(touched)
            if touched is None:
                x.add_(g, alpha=rate)
            else:
                self._weights.add(touched, g, rate)
                self._r.stepped(len(touched))
            return
        self._note(None)
        for piece in self._pieces:
            x[piece].add_(self._renewed(v[piece], g[piece], rate))

    def _regular(self, g: Vector, parts: int) -> tuple[Vector, float]:
        """Return the gradient, clipped and with weight decay, and the factor of the step along it."""
        if self._clip is None and not self._decay:
            return g, -self.lr / parts
        g.mul_(self._to_mean(g, parts))
        if self._decay:
            g.add_(self._at, alpha=self._decay)
        return g, -self.lr

    def _renewed(self, v: Vector, g: Vector, rate: float) -> Vector:
        v.mul_(self._momentum).add_(g, alpha=rate)
        return v


class AdamStep(Step):
    """AdamW (Loshchilov and Hutter 2019): m' = b1 m + (1 - b1) g,  v' = b2 v + (1 - b2) g^2,

    x' = (1 - lr w) x - lr m^ / (sqrt(v^) + eps),  m^ = m' / (1 - b1^t),  v^ = v' / (1 - b2^t),  t from 1.

    Both moments belong to this rank: they outlive a step and are never sent. The weight decay is decoupled: it
    acts on the weights as the step finds them.
    """

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
        self._first, self._second, self._root = r.state("first"), r.state("second"), r.buffer(r.params)
        self._cover([slice(0, r.params.numel())])

    def _cover(self, parts: Sequence[slice]) -> None:
        """Take steps of these parts of the weights."""
        self._parts = [(part, self._first[part], self._second[part], self._root[part]) for part in parts]

    def move(self, g: Vector, parts: int = 1) -> tuple[Vector, float]:
        """Update both moments with a gradient, the sum of `parts`; return the step, in its place, and 1."""
        lr = self.lr
        self._note(None)
        self._renew(g, parts)
        self._advance(g.copy_(self._r.params).mul_(-lr * self._decay), lr)
        return g, 1.0

    def apply(self, g: Vector, parts: int = 1) -> None:
        """Step the weights along this gradient, the sum of `parts`."""
        lr = self.lr
        self._note(None)
        self._renew(g, parts)
        self._advance(self._r.params.mul_(1 - lr * self._decay), lr)

    def _renew(self, g: Vector, parts: int) -> None:
        """Update both moments, and the denominator of the step."""
        (b1, b2), t = self.betas, self._taken
        g.mul_(self._to_mean(g, parts))
        for part, m, v, root in self._parts:
            own = g[part]
            m.mul_(b1).add_(own, alpha=1 - b1)
            v.mul_(b2).addcmul_(own, own, value=1 - b2)
            root.copy_(v).mul_(1 / (1 - b2**t)).sqrt_().add_(1e-8)

    def _advance(self, x: Vector, lr: float) -> None:
        """Add the step to a vector."""
        rate = -lr / (1 - self.betas[0] ** self._taken)
        for part, m, _, root in self._parts:
            x[part].addcdiv_(m, root, value=rate)
