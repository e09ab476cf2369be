"""Local steps of methods: plain SGD, heavy ball, Nesterov or AdamW, as parameters and small objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from hooke.catalogue.algorithm import Algorithm
from hooke.methods.pieces import pieces
from hooke.spec.spaces import Space

if TYPE_CHECKING:
    from hooke.catalogue.rank import Rank
    from hooke.comm.base import Vector


class Descent(Algorithm):
    """An algorithm whose workers take gradient steps: learning rate and momentum."""

    search = {
        "lr": Space(low=0.003, high=1.0, scale="log"),
        "momentum": Space(low=0.0, high=0.97, scale="reverse-log"),
        "momentum_kind": Space(choices=["heavy-ball", "nesterov"]),
    }

    lr: float = Field(0.05, gt=0, le=10, title="Learning rate", description="Step length eta.")
    momentum: float = Field(0.0, ge=0, lt=1, title="Momentum", description="Factor of the velocity (mu); 0: none.")
    momentum_kind: Literal["heavy-ball", "nesterov"] = Field(
        "heavy-ball",
        title="Kind of momentum",
        description="Gradient at x (heavy ball), or at the look-ahead point x + mu v (Nesterov).",
    )

    def local_step(self, r: Rank) -> LocalStep:
        """Return the local step for this rank's weights."""
        return LocalStep(r, self.lr, self.momentum, nesterov=self.momentum_kind == "nesterov")

    def velocity_accesses(self) -> int:
        """Return the vector accesses that momentum adds to a step: 5 for heavy ball, 8 for Nesterov."""
        return 0 if not self.momentum else 8 if self.momentum_kind == "nesterov" else 5

    def vector_accesses(self, server: bool) -> int:
        """Return the vector reads and writes of one step; only workers have velocities."""
        return super().vector_accesses(server) + (0 if server else self.velocity_accesses())


class Periodic(Descent):
    """A method whose workers exchange once per `period` local steps."""

    period_field: ClassVar[str | None] = "period"
    search = {"period": Space(low=1, high=64, scale="log", integer=True)}

    period: int = Field(1, ge=1, le=10_000, title="Period", description="Local steps per exchange (tau).")


class LocalStep:
    """v' = mu v - lr g,  x' = x + v'.

    Heavy ball takes g at x ((3)(4) of arXiv 1708.02983), Nesterov at x + mu v (Algorithm 2 of arXiv
    1412.6651). Without momentum there is no velocity, and x' = x - lr g is one operation. The velocity belongs to
    this rank: it outlives a step and is never sent.
    """

    def __init__(self, r: Rank, lr: float, momentum: float = 0.0, nesterov: bool = False) -> None:
        self._r = r
        self._lr = lr
        self._momentum = momentum
        self._pieces = pieces(r.params)
        self._velocity = r.state("velocity") if momentum else None
        self._ahead = r.buffer(r.params) if momentum and nesterov else None

    def point(self) -> Vector:
        """Return the point of the next gradient: the weights, or the look-ahead point."""
        if self._ahead is None or self._velocity is None:
            return self._r.params
        for piece in self._pieces:
            self._ahead[piece].copy_(self._r.params[piece]).add_(self._velocity[piece], alpha=self._momentum)
        return self._ahead

    def gradient(self) -> Vector:
        """Return this rank's next gradient, at `point`."""
        at = self.point()
        return self._r.gradient(at=None if at is self._r.params else at)

    def move(self, g: Vector, parts: int = 1) -> tuple[Vector, float]:
        """Update the velocity with a gradient, the sum of `parts`; return the step as (vector, factor)."""
        if self._velocity is None:
            return g, -self._lr / parts
        return self._renewed(self._velocity, g, parts), 1.0

    def _renewed(self, v: Vector, g: Vector, parts: int) -> Vector:
        v.mul_(self._momentum).add_(g, alpha=-self._lr / parts)
        return v

    def apply(self, g: Vector, parts: int = 1) -> None:
        """Step the weights along this gradient, the sum of `parts`."""
        x, v = self._r.params, self._velocity
        if v is None:
            x.add_(g, alpha=-self._lr / parts)
            return
        for piece in self._pieces:
            x[piece].add_(self._renewed(v[piece], g[piece], parts))


class AdamStep:
    """AdamW (Loshchilov and Hutter 2019): m' = b1 m + (1 - b1) g,  v' = b2 v + (1 - b2) g^2,

    x' = (1 - lr w) x - lr m^ / (sqrt(v^) + eps),  m^ = m' / (1 - b1^t),  v^ = v' / (1 - b2^t),  t from 1.

    Both moments belong to this rank: they outlive a step and are never sent.
    """

    def __init__(self, r: Rank, lr: float, decay: float, b1: float = 0.9, b2: float = 0.999) -> None:
        self._r = r
        self._lr, self._decay, self._b1, self._b2 = lr, decay, b1, b2
        self._m, self._v, self._root = r.state("first"), r.state("second"), r.buffer(r.params)

    def gradient(self) -> Vector:
        """Return this rank's next gradient, at its weights."""
        return self._r.gradient()

    def apply(self, g: Vector, parts: int = 1) -> None:
        """Step the weights along this gradient, the sum of `parts`."""
        t = self._r.t + 1
        g.mul_(1 / parts)
        self._m.mul_(self._b1).add_(g, alpha=1 - self._b1)
        self._v.mul_(self._b2).addcmul_(g, g, value=1 - self._b2)
        self._root.copy_(self._v).mul_(1 / (1 - self._b2**t)).sqrt_().add_(1e-8)
        self._r.params.mul_(1 - self._lr * self._decay)
        self._r.params.addcdiv_(self._m, self._root, value=-self._lr / (1 - self._b1**t))
