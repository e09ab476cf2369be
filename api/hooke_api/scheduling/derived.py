"""The state of an experiment, which is derived from its runs."""

from __future__ import annotations

from hooke.spec.states import TERMINAL, RunState
from sqlalchemy import select
from sqlalchemy.orm import Session

from hooke_api.models import Run


def derived_state(
    counts: dict[RunState, int], planning: bool = False, reported: dict[RunState, int] | None = None
) -> str:
    """Return an experiment's state from its runs': running while any is not terminal, failed if any failed.

    Running also while others will be added (`planning`). Failed trials do not count, as some settings diverge; an
    experiment with nothing to report (`reported`; None: all runs are) is cancelled or failed.
    """
    states = set(counts)
    if states <= {RunState.QUEUED}:
        return "queued"
    if planning or states - TERMINAL:
        return "running"
    judged = states if reported is None else set(reported)
    if judged == {RunState.SUCCEEDED}:
        return "succeeded"
    if not judged:
        return "cancelled" if RunState.CANCELLED in states else "failed"
    return "cancelled" if judged <= {RunState.SUCCEEDED, RunState.CANCELLED} else "failed"


def ended_state(session: Session, experiment_id: str) -> str:
    """Return the state of an experiment whose runs have all ended, and to which none will be added."""
    query = select(Run.state, Run.rung.is_(None)).where(Run.experiment_id == experiment_id)
    rows = session.execute(query.distinct()).all()
    reported = {state: 1 for state, mine in rows if mine}
    return derived_state({state: 1 for state, _ in rows}, reported=reported)
