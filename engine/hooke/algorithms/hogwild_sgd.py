"""Hogwild SGD: shared weights, no lock."""

from __future__ import annotations

from pydantic import Field

from hooke.catalogue.claims import before_steps, one_worker, read_and_add
from hooke.catalogue.rank import Rank
from hooke.comm.base import Updates
from hooke.methods.descent import Periodic


class HogwildSGD(Periodic):
    """Hogwild SGD.

    x = c (as found);  c' = c - lr g_i(x)         every worker when it likes, element by element, no lock
                                                  tau > 1: tau steps x' = x - lr g_i(x), then c' = c + their sum

    The center lies in a shared window. A worker reads it while others may be writing, computes a gradient
    there and adds its move; nobody is asked. With `period` tau it takes tau steps of its own from what it read,
    and adds their moves at once. Inside a node these are plain loads and stores: what another
    worker stores in between may be lost, and how much was lost is measured. Across nodes every element is added
    atomically. Cost per exchange: one read and one addition of |W|, with no master to wait for.

    Readings: `updates = plain` stores as the method was published, and is refused where ranks share no memory;
    `atomic` loses nothing; `auto` is plain wherever memory is shared. With momentum every worker has a velocity
    of its own. What a worker has not added yet it adds before a checkpoint and at the end of the budget; an
    evaluation scores the center as it is.

    Reference: Niu, Recht, Re, Wright 2011; You, Buluc, Demmel, SC17 (arXiv 1708.02983).
    """

    family = "Stochastic gradient descent"
    reference = "descent.lock_free"
    exchange = before_steps(read_and_add)
    limits = [one_worker()]
    coordination = "lock-free"
    may_drop = True
    deterministic = False
    accesses = 4

    updates: Updates = Field(
        "auto", title="Updates", description="Plain stores, atomic additions, or plain where memory is shared."
    )

    def run(self, r: Rank) -> None:
        """Read, compute, add."""
        x, step = r.params, self.local_step(r)
        center = r.shared("center", like=x, updates=self.updates)
        moves = r.buffer(x).zero_() if self.period > 1 else None

        def add() -> None:
            if moves is not None:
                center.add(moves)
                moves.zero_()

        for t in r.steps(evaluated=center.snapshot, flush=lambda: None if r.due(r.t, self.period) else add()):
            if r.due(t, self.period):
                center.read(into=x)
            by, factor = step.move(step.gradient())
            if moves is None:
                center.add(by, alpha=factor)
                continue
            x.add_(by, alpha=factor)
            moves.add_(by, alpha=factor)
            if r.due(t + 1, self.period):
                add()
