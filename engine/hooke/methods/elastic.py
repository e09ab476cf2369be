"""Common parts of elastic methods: the moving rate a, its stability bounds, and the elastic update."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, model_validator

from hooke.catalogue.claims import Behind, Limit
from hooke.methods.descent import Descent
from hooke.methods.pieces import pieces
from hooke.spec.spaces import Space

if TYPE_CHECKING:
    from hooke.catalogue.rank import Rank
    from hooke.comm.base import Vector
    from hooke.comm.touched import Touched
    from hooke.methods.steps import Step


class Elastic(Descent):
    """An algorithm with a center: at every exchange, worker and center both move by a times their difference.

    The literature gives a in three ways: a = lr rho (equations (1) and (2) of arXiv 1708.02983), a itself, or
    beta = P a, which arXiv 1412.6651 recommends to keep at 0.9 for any P; with a period tau, implementations
    differ on whether beta is also divided by tau. The value of a is in the run's journal. It is constant: a
    schedule changes the gradient steps alone, so that worker and center always use the same a.
    """

    family: ClassVar[str] = "Elastic averaging"
    search = {"beta": Space(low=0.1, high=1.5, scale="log", when={"alpha": [None], "rho": [1.0]})}

    rho: float = Field(
        1.0,
        ge=0,
        le=100,
        title="Elasticity",
        description="Spring constant to the center: a = lr rho, unless alpha or beta is given.",
    )
    alpha: float | None = Field(None, ge=0, le=2, title="Moving rate", description="Overrides rho.")
    beta: float | None = Field(
        None, ge=0, le=4, title="Beta", description="a = beta / P, or beta / (P tau); overrides rho."
    )
    beta_per: Literal["P", "P tau"] = Field(
        "P",
        title="Beta is divided by",
        description="The number of workers, or the number of workers times the period.",
    )

    @model_validator(mode="after")
    def _one_way(self) -> Elastic:
        if self.alpha is not None and self.beta is not None:
            raise ValueError("give alpha or beta, not both: each determines the moving rate")
        return self

    def rate(self, workers: int) -> float:
        """Return the moving rate a for that many workers."""
        if self.alpha is not None:
            return self.alpha
        if self.beta is None:
            return self.lr * self.rho
        return self.beta / (workers * (Descent.exchange_period(self) if self.beta_per == "P tau" else 1))

    def following_step(self, r: Rank) -> Step:
        """Return the local step, which keeps account of the rows that it moves where only those are exchanged."""
        return self.local_step(r).follow()

    def notes(self, workers: int) -> dict[str, str]:
        """Return the moving rate."""
        return {"moving rate": f"{self.rate(workers):.6g}"}

    def remarks(self, workers: int) -> list[str]:
        """Return the stability bound."""
        return [f"Stability bound of a without gradients: {self.bound(workers):.3g} on {workers} workers."]

    def bound(self, workers: int) -> float:
        """Return the upper limit of stable a: round robin on f = h x^2 / 2 with eta h -> 0."""
        del workers
        return 1.0

    def warnings(self, workers: int) -> list[str]:
        """Return a warning, with the stability bound, if a reaches it; or a warning if a is 0."""
        a, bound = self.rate(workers), self.bound(workers)
        told = super().warnings(workers)
        if a == 0:
            return [*told, "moving rate a = 0: the center keeps its initial value and each worker trains alone"]
        if a < bound:
            return told
        return [
            *told,
            f"moving rate a = {a:.4g} is not below {bound:.4g}, the bound above which {self.title()} on "
            f"{workers} worker(s) diverges even without gradients; with gradients the bound is lower",
        ]


ONE_WORKER = Limit("sync-easgd", workers=(1,), exact=True, shows="P1", every_option=True)
"""With one worker an elastic method equals Sync EASGD with the same options."""


def concurrent_bound(workers: int) -> float:
    """Return the bound on a below which workers that read a center without a lock approach it, without gradients.

    Worker i adds a d to c and subtracts it from x_i, where d = x_i - c at the time of its read. For equal workers,
    each with one exchange per round, two of all orders of their reads and writes are worst (the tests try all 906
    of 2 to 4 workers, and samples of more). In the first, all read before any writes: synchronous, with the bound
    2 / (P + 1). In the second, each reads directly after its own write, and all others write before its next
    write: with w = z^P, (w - 1)(z - 1) w = -a (2 z w - w - z), which leaves the unit circle at z = exp(i t),
    tan((P - 1) t / 2) = sin(P t), a = sin(t / 2) / (cos((P - 1) t / 2) sin(P t / 2)): for many workers at
    pi / (2 P).
    """
    together = 2 / (workers + 1)
    if workers < 4:  # noqa: PLR2004 - from 4 workers on the second order is worse
        return together
    low, high = math.pi / (4 * workers), math.pi / workers  # at `low` the sine is larger, at `high` the tangent
    for _ in range(60):
        t = (low + high) / 2
        low, high = (t, high) if math.tan((workers - 1) * t / 2) < math.sin(workers * t) else (low, t)
    return min(together, math.sin(t / 2) / (math.cos((workers - 1) * t / 2) * math.sin(workers * t / 2)))


def overlap_of(method: Any) -> Behind:
    """Return what hides the exchange of a method with a parameter `overlap`."""
    return "gradient" if method.overlap else "nothing"


class Spring:
    """The elastic update x' = x + a (c - m x) of one vector, where c is the sum of m vectors."""

    def __init__(self, r: Rank, a: float) -> None:
        import torch  # not at the top: a method's parameters are read without torch

        self._a, self._subtract = a, torch.sub
        self._pieces = pieces(r.params)
        self._stretch = r.params[self._pieces[0]].clone()

    def pull(
        self, x: Vector, c: Vector, m: int = 1, rate: float | None = None, rows: Touched | None = None
    ) -> None:
        """Move x towards c, by the moving rate a or by another one; c stays unchanged.

        `rows`: only these rows of x; c then has their values, packed.
        """
        a = self._a if rate is None else rate
        if rows is not None:
            for each, values in rows.parts(c):
                own = each.of(x)
                own.add_(self._subtract(values, own, alpha=m), alpha=a)
                each.put(x, own)
            return
        for piece in self._pieces:
            part = x[piece]
            stretch = self._stretch[: part.numel()]
            self._subtract(c[piece], part, alpha=m, out=stretch)
            part.add_(stretch, alpha=a)
