"""Elastic gossip: pairs of workers are pulled towards each other, without a center."""

from __future__ import annotations

import numpy as np
from hooke.catalogue.claims import Step, Transfer, Transfers, before_steps, one_worker
from hooke.catalogue.rank import Rank
from hooke.methods.descent import Periodic
from pydantic import Field


def pairs(seed: int, t: int, workers: int) -> list[tuple[int, int]]:
    """Return the pairs at step t, each once: every worker chooses another one; the same on all ranks."""
    others = np.random.default_rng([seed, t]).integers(1, workers, size=workers) if workers > 1 else []
    chosen = {tuple(sorted((i, (i + int(k)) % workers))) for i, k in enumerate(others)}
    return sorted((i, j) for i, j in chosen)


def both_ways(step: Step) -> Transfers:
    """Return two messages for every pair, one in each direction."""
    return [Transfer("message", step.elements)] * 2 * len(pairs(step.seed, step.t, step.workers))


class ElasticGossip(Periodic):
    """Elastic gossip.

    x_i' = x_i - lr g_i(x_i) - a sum_k (x_i - x_k)          k: the worker that i chose, and those that chose i

    Once per tau steps every worker chooses another one at random, and the two are pulled towards each other, from
    old values. There is no center: the mean of all workers is evaluated, and computed while the train clock
    stands. Cost per exchange: one message of |W| in each direction for every pair, at most P pairs, (A + |W| B)
    per peer of a worker.

    Readings: the choices of all workers are drawn on every rank from the run's seed and the step. Two workers that
    choose each other are one pair and exchange once. Momentum, if any, is local to each worker.

    Reference: Pramod 2018 (arXiv 1812.02407).
    """

    family = "Gossip"
    reference = "reference.gossip.elastic_gossip"
    exchange = before_steps(both_ways)
    limits = [one_worker()]
    conserves = "weights"

    rate: float = Field(0.3, ge=0, le=0.5, title="Moving rate", description="Share of a distance per pair (a).")

    def run(self, r: Rank) -> None:
        """Exchange with each peer, compute the gradient, take the step."""
        x, mine, theirs, pull, mean = r.params, *(r.buffer(r.params) for _ in range(4))
        step = self.local_step(r)
        for t in r.steps(evaluated=lambda: r.mean(x, into=mean)):
            pull.zero_()
            if t % self.period == 0:
                mine.copy_(x)
                for pair in pairs(r.spec.seed, t, r.workers):
                    if r.rank in pair:
                        peer = sum(pair) - r.rank
                        sent = r.comm.isend(mine, peer)
                        r.comm.recv(theirs, peer)
                        sent.wait()
                        pull.add_(theirs.sub_(mine))
            step.apply(step.gradient())
            x.add_(pull, alpha=self.rate)
