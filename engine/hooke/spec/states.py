"""The states of a run and their allowed transitions, which the API enforces."""

from __future__ import annotations

from enum import StrEnum

USER_RAISED = 3
"""Exit status of a rank whose algorithm, workload or specification raised."""
INFRASTRUCTURE = 4
"""Exit status of a rank that ended for any other reason: MPI, a checkpoint, the system."""
DIVERGED = 5
"""Exit status of a rank ended by NumericalError: gradients or weights became NaN or Inf."""


class RunState(StrEnum):
    """The states of a run."""

    QUEUED = "queued"
    """Stored, waiting for free slots."""
    DISPATCHED = "dispatched"
    """Sent to its cluster, where it waits for its turn; sent again if no supervisor takes it in time."""
    STARTING = "starting"
    """Its turn has come; its ranks are starting."""
    RUNNING = "running"
    """Every rank is in its step loop; only while the lease is renewed."""
    LOST = "lost"
    """The lease expired; the run may be alive, and is restarted only after its death is proven."""
    SUCCEEDED = "succeeded"
    """Status 0 and a `done` record from every rank."""
    FAILED_USER = "failed_user"
    """The algorithm, the workload or the specification raised, or training diverged (status DIVERGED)."""
    FAILED_INFRA = "failed_infra"
    """A rank, mpirun, a host or a disk died."""
    CANCELLED = "cancelled"
    """Cancelled on request; all of its processes have ended."""
    TIMED_OUT = "timed_out"
    """The wall limit was reached, or a scheduler's time limit without a further checkpoint to go on from."""


TERMINAL = frozenset(
    {RunState.SUCCEEDED, RunState.FAILED_USER, RunState.FAILED_INFRA, RunState.CANCELLED, RunState.TIMED_OUT}
)
"""Final states."""

TRANSITIONS: dict[RunState, frozenset[RunState]] = {
    RunState.QUEUED: frozenset({RunState.DISPATCHED, RunState.CANCELLED}),
    RunState.DISPATCHED: frozenset(
        {RunState.STARTING, RunState.QUEUED, RunState.CANCELLED, RunState.LOST, RunState.FAILED_INFRA}
    ),
    # back to queued: the next attempt, without a fault of the run, or at a user's request
    RunState.STARTING: frozenset({RunState.RUNNING, RunState.LOST, RunState.QUEUED} | TERMINAL),
    RunState.RUNNING: frozenset({RunState.LOST, RunState.QUEUED} | TERMINAL),
    RunState.LOST: frozenset({RunState.STARTING, RunState.RUNNING, RunState.QUEUED} | TERMINAL),
    **{state: frozenset({RunState.QUEUED}) for state in TERMINAL - {RunState.SUCCEEDED}},
}
