"""The longest path of an operation: what one rank handles after the other."""

from __future__ import annotations

from hooke.calibration.documents import Kind
from hooke.comm import collectives
from hooke.comm.collectives import Collective


def critical(kind: Kind, collective: Collective | None, ranks: int, size: int) -> tuple[int, float]:
    """Return (messages, bytes) that rank 0 handles one after the other: its rounds are a longest path."""
    if kind in ("all-reduce", "background") and collective:
        rounds = collectives.allreduce(ranks, size // 4, collective)[0]
    elif kind == "all-gather":
        rounds = collectives.allgather(ranks, size // 4 // ranks, "tree")[0]
    else:
        return 1, float(size)
    longest = [max(len(r.send or ()), len(r.receive or ())) for r in rounds]
    return len(rounds), 4.0 * sum(longest)
