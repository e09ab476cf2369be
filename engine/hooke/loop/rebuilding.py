"""Builds the hash tables of an objective between two gradients, in a phase of its own."""

from __future__ import annotations

from typing import Any, Protocol

from hooke.comm.base import Comm
from hooke.spec.specification import RunSpec
from hooke.trace.phases import Ledger, Phase


class Rebuilding(Protocol):
    """What `rebuild` reads of a rank."""

    ledger: Ledger
    objective: Any
    spec: RunSpec

    @property
    def comm(self) -> Comm: ...  # noqa: D102


def rebuild(r: Rebuilding) -> None:
    """Build the hash tables that the next gradient asks, if it is time; on the clock.

    In virtual time the bytes that this moves are charged as those of updates are, and the tables are built with
    the gradient, which may run beside those of others. An objective whose threads share its weights builds tables
    within its gradients, in the phase `compute`.
    """
    moves = getattr(r.objective, "rebuild_bytes", None)
    if moves is None or not (count := moves()):
        return
    r.ledger.enter(Phase.REBUILD)
    if (virtual := r.spec.virtual) is None:
        r.objective.synchronize()
        r.objective.rebuild()
    else:
        r.comm.charge(count * (virtual.update_seconds_per_byte or 1 / virtual.memory_bandwidth))
