"""With whom a worker exchanges at a step, in methods without a center: the same choice on every rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hooke.catalogue.claims import Behind, Step, Transfer, Transfers
from hooke.comm.touched import Touched, add_rows, front, packed
from hooke.methods.moved import only_moved

if TYPE_CHECKING:
    from hooke.catalogue.rank import Rank
    from hooke.comm.base import Comm, Pending, Vector


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


def send_update(r: Rank, comm: Comm, update: Vector, rows: Touched | None, to: int) -> list[Pending]:
    """Begin to send an update; where only touched rows travel, the rows in which it may differ from zero."""
    if not only_moved(r):
        return [comm.isend(update, to)]
    from hooke.comm.union import all_rows, tell  # not at the top: parameters of algorithms are read without NumPy

    told = tell(comm, all_rows(r.layout) if rows is None else rows, to)
    return [*told, comm.isend(packed(update, rows), to)]


def sum_of_updates(r: Rank, own: Vector, theirs: Vector, scratch: Vector, source: int) -> Vector:
    """Receive the update that another worker sends by `send_update`; return own + theirs, in one of the others."""
    if not only_moved(r):
        r.comm.recv(theirs, source)
        return theirs.add_(own)  # type: ignore[no-any-return]
    from hooke.comm.union import hear

    rows = hear(r.comm, r.layout, source)
    r.comm.recv(front(theirs, rows), source)
    add_rows(scratch.copy_(own), front(theirs, rows), 1.0, rows)
    return scratch
