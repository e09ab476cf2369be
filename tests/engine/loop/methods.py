"""Small methods that stand for a family each, written here so that no change of the catalogue hides a fault."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from hooke.algorithms.async_easgd import AsyncEASGD
from hooke.algorithms.original_easgd import OriginalEASGD
from hooke.catalogue import algorithm as algorithms
from hooke.catalogue.algorithm import Algorithm, Coordination
from hooke.catalogue.rank import Rank
from hooke.comm.base import Updates


class HostEASGD(Algorithm):
    """Sync EASGD with its center on a rank of its own.

    The server steps with the workers: broadcast of c, reduction of the x_i to it, equations (1) and (2).
    """

    servers: ClassVar[int] = 1
    coordination: ClassVar[Coordination] = "synchronous"

    lr: float = 0.05
    rho: float = 1.0

    def rate(self, workers: int) -> float:
        """Return the moving rate a."""
        del workers
        return self.lr * self.rho

    def notes(self, workers: int) -> dict[str, str]:
        """Return the moving rate."""
        return {"moving rate": f"{self.rate(workers):g}"}

    def run(self, r: Rank) -> None:
        """Step, worker or server."""
        x, c, total, a = r.params, r.buffer(r.params), r.buffer(r.params), self.rate(r.workers)
        for _ in r.steps():
            if r.is_server:
                r.comm.broadcast(x, root=r.server)
                total.zero_()
                r.comm.reduce(total, root=r.server)
                x.add_(total.add_(x, alpha=-r.workers), alpha=a)
            else:
                g = r.gradient()
                r.comm.broadcast(c, root=r.server)
                r.comm.reduce(total.copy_(x), root=r.server)
                x.lerp_(c, a)
                x.add_(g, alpha=-self.lr)


class Unlocked(Algorithm):
    """Hogwild EASGD: workers are tied to a center that nobody locks."""

    coordination: ClassVar[Coordination] = "lock-free"
    updates_field: ClassVar[str | None] = "updates"
    may_drop: ClassVar[bool] = True
    deterministic: ClassVar[bool] = False

    lr: float = 0.05
    rho: float = 1.0
    period: int = 1
    updates: Updates = "atomic"

    def run(self, r: Rank) -> None:
        """Read the center, pull and push."""
        x, c, a = r.params, r.buffer(r.params), self.lr * self.rho
        center = r.shared("center", like=x, updates=self.updates)
        for t in r.steps(evaluated=center):
            g = r.gradient()
            if r.due(t, self.period):
                center.read(c)
                c.sub_(x).mul_(-a)  # a (x - c)
                r.objective.mass += float(c.double().abs().sum())  # type: ignore[attr-defined]  # ours, for the tests
                center.add(c)
                x.sub_(c)
            x.add_(g, alpha=-self.lr)


class Forgiving(AsyncEASGD):
    """Async EASGD that goes on without a worker."""

    may_drop: ClassVar[bool] = True


class Turns(OriginalEASGD):
    """Original EASGD, which is served in rank order and so is deterministic."""


METHODS = (HostEASGD, Unlocked, Forgiving, Turns)


_KNOWING = threading.Lock()
_known: list[object] = []
"""What has been put aside, once for every thread that is within `known`: virtual ranks are threads."""


@contextmanager
def known() -> Iterator[None]:
    """Make the methods of this file part of the catalogue, until the last of those who asked has gone."""
    with _KNOWING:
        original = _known[0] if _known else algorithms.catalogue
        _known.append(original)
        everything = original() | {kind.id(): kind for kind in METHODS}
        algorithms.catalogue = lambda: everything
    try:
        yield
    finally:
        with _KNOWING:
            original = _known.pop()
            if not _known:
                algorithms.catalogue = original
