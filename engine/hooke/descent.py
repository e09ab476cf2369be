"""The local step that methods share: plain, heavy ball or Nesterov, as parameters and as one small object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from hooke.algorithm import Algorithm

if TYPE_CHECKING:
    from hooke.comm.base import Vector
    from hooke.rank import Rank


class Descent(Algorithm):
    """An algorithm whose workers step along gradients: learning rate and momentum."""

    lr: float = Field(0.05, gt=0, le=10, title="Learning rate", description="Step length eta.")
    momentum: float = Field(0.0, ge=0, lt=1, title="Momentum", description="Factor of the velocity (mu); 0: none.")
    momentum_kind: Literal["heavy-ball", "nesterov"] = Field(
        "heavy-ball",
        title="Kind of momentum",
        description="Gradient at x (heavy ball), or at the look-ahead point x + mu v (Nesterov).",
    )

    def local_step(self, r: Rank) -> LocalStep:
        """Return the step of this rank's weights."""
        return LocalStep(r, self.lr, self.momentum, nesterov=self.momentum_kind == "nesterov")

    def vector_passes(self, server: bool) -> int:
        """Return the vector reads and writes of one step; a velocity adds five, Nesterov's point three more."""
        if server or not self.momentum:
            return super().vector_passes(server)
        return super().vector_passes(server) + (8 if self.momentum_kind == "nesterov" else 5)


class LocalStep:
    """v' = mu v - lr g,  x' = x + v'.

    Heavy ball takes g at x ((3)(4) of arXiv 1708.02983), Nesterov at x + mu v (Algorithm 2 of arXiv
    1412.6651). Without momentum there is no velocity, and x' = x - lr g in one operation. The velocity is
    this rank's own: it outlives a step and never travels.
    """

    def __init__(self, r: Rank, lr: float, momentum: float = 0.0, nesterov: bool = False) -> None:
        self._r = r
        self._lr = lr
        self._momentum = momentum
        self._velocity = r.state("velocity") if momentum else None
        self._ahead = r.buffer(r.params) if momentum and nesterov else None

    def gradient(self) -> Vector:
        """Return this rank's next gradient where the method wants it."""
        if self._ahead is None or self._velocity is None:
            return self._r.gradient()
        self._ahead.copy_(self._r.params).add_(self._velocity, alpha=self._momentum)
        return self._r.gradient(at=self._ahead)

    def apply(self, g: Vector) -> None:
        """Step the weights along this gradient."""
        if self._velocity is None:
            self._r.params.add_(g, alpha=-self._lr)
        else:
            self._velocity.mul_(self._momentum).add_(g, alpha=-self._lr)
            self._r.params.add_(self._velocity)
