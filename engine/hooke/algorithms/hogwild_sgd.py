"""Hogwild SGD: shared weights without a lock."""

from __future__ import annotations

from pydantic import Field

from hooke.catalogue.claims import before_steps, one_worker, read_and_add
from hooke.catalogue.rank import Rank
from hooke.comm.base import Updates
from hooke.comm.touched import packed
from hooke.methods.descent import Periodic


class HogwildSGD(Periodic):
    """Hogwild SGD.

    x = c (as found);  c' = c - lr g_i(x)         every worker when it likes, element by element, no lock
                                                  tau > 1: tau steps x' = x - lr g_i(x), then c' = c + their sum

    The center is in a shared window. A worker reads it, while others may write, computes a gradient there and adds
    its update without synchronization. With `period` tau it takes tau local steps from the weights that it read
    and then adds their sum. Inside a node these are plain loads and stores: updates that other workers store in
    between may be lost, and the lost share is measured. Across nodes every element is added atomically. Cost per
    exchange: one read and one addition of |W|, without waiting for a server.

    Readings: `updates = plain` uses plain stores, as published, and is refused if ranks share no memory; `atomic`
    loses nothing; `auto` is plain if memory is shared, else atomic. With momentum every worker has its own
    velocity. Where only touched rows travel, a worker adds the rows that its steps have moved and reads those that
    any worker has added to since its read before, by one count per row. Before a checkpoint and at the end of the
    budget a worker adds the updates that it has not added yet; an evaluation scores the center without them.

    Reference: Niu, Recht, Re, Wright 2011; You, Buluc, Demmel, SC17 (arXiv 1708.02983).
    """

    family = "Stochastic gradient descent"
    reference = "descent.lock_free"
    exchange = before_steps(read_and_add)
    limits = [one_worker()]
    coordination = "lock-free"
    updates_field = "updates"
    may_drop = True
    deterministic = False
    accesses = 4

    updates: Updates = Field(
        "auto", title="Updates", description="Plain stores, atomic additions, or plain where memory is shared."
    )

    def run(self, r: Rank) -> None:
        """Read the center, compute the gradient, add the update."""
        x, step = r.params, self.local_step(r).follow(at_first=False)
        center = r.shared("center", like=x, updates=self.updates, by_rows=True)
        moves = r.buffer(x).zero_() if self.period > 1 else None

        def add() -> None:
            if moves is not None:
                rows = step.moved()
                center.add(packed(moves, rows), rows=rows)
                moves.zero_()

        for t in r.steps(evaluated=center.snapshot, flush=lambda: None if r.due(r.t, self.period) else add()):
            if r.due(t, self.period):
                center.read(into=x)
            by, factor = step.move(step.gradient())
            if moves is None:
                rows = step.moved()
                center.add(packed(by, rows), alpha=factor, rows=rows)
                continue
            x.add_(by, alpha=factor)
            moves.add_(by, alpha=factor)
            if r.due(t + 1, self.period):
                add()
