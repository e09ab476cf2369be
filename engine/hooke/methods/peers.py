"""With whom a worker exchanges at a step, in methods without a center: the same choice on every rank."""

from __future__ import annotations

from typing import Any

from hooke.catalogue.claims import Behind, Step, Transfer, Transfers


def pairs(seed: int, t: int, workers: int) -> list[tuple[int, int]]:
    """Return random disjoint pairs of workers at step t; of an odd number of workers one is in no pair."""
    import numpy as np  # not at the top: a method's parameters are read without NumPy

    order = np.random.default_rng([seed, t]).permutation(workers).tolist()
    return list(zip(order[0::2], order[1::2], strict=False))


def partner(rank: int, seed: int, t: int, workers: int) -> int | None:
    """Return the other worker of a rank's pair at step t; None if it has none."""
    mine = [pair for pair in pairs(seed, t, workers) if rank in pair]
    return sum(mine[0]) - rank if mine else None


def two_vectors_each(step: Step) -> Transfers:
    """Return the messages of all pairs: two vectors in each direction."""
    return [Transfer("message", step.elements, begins="after")] * 4 * (step.workers // 2)


def hop(t: int, workers: int) -> int:
    """Return how far ahead a worker of the directed exponential graph sends at step t: 1, 2, 4, ... below P."""
    return int(2 ** (t % (workers - 1).bit_length()))


def push_weight(t: int, delay: int) -> float:
    """Return the push-sum weight w of every worker after t steps of the directed exponential graph.

    Each keeps half of its weight and receives half of another one's: w' = w / 2 + w / 2 = 1. If messages are added
    one step late, w' = w / 2 + w_before / 2, where the first step receives nothing: w goes to 2 / 3, and the rest
    is in messages.
    """
    return 2 / 3 + (-0.5) ** t / 3 if delay else 1.0


def push(method: Any, step: Step) -> Transfers:
    """Return the messages of a step: one of every worker."""
    hidden: Behind = method.delay or "nothing"
    one = Transfer("message", step.elements, behind=hidden, begins="after")
    return [one] * step.workers if step.workers > 1 else ()
