"""With whom a worker exchanges at a step, in methods without a center: the same choice on every rank."""

from __future__ import annotations

from hooke.catalogue.claims import Step, Transfer, Transfers


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
