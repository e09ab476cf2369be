"""What a user decides about attempts: another one, or to give up one that nobody can reach."""

from __future__ import annotations

from datetime import timedelta

from hooke.spec.states import TERMINAL, RunState
from sqlalchemy import update
from sqlalchemy.orm import Session

from hooke_api.base.errors import Conflict, ResourceNotFound
from hooke_api.models import Cluster, Experiment, Run, database_time
from hooke_api.scheduling.lifecycle import Cause, move
from hooke_api.scheduling.retries import try_anew
from hooke_api.storage.outbox import announce
from hooke_api.storage.present import keep_present

RISK = (
    "its processes may still be running: then they keep using their cluster until they "
    "reach this server, which ends them, and another attempt there would share cores with them"
)
"""What abandoning a run risks."""


def retry(session: Session, run_id: str, who: str, resume: bool) -> None:
    """Queue another attempt of a run that has ended without success, and allow as many failures as at first.

    `resume`: from its latest complete checkpoint, if it has one; otherwise from the beginning. Raises Conflict if
    the run cannot have another attempt.
    """
    run = _locked(session, run_id)
    if run.state not in TERMINAL or run.state is RunState.SUCCEEDED:
        raise Conflict(f"run {run_id} is {run.state}: only a run that has ended without success can be retried")
    experiment = session.get_one(Experiment, run.experiment_id)
    if experiment.imported_at is not None:
        raise Conflict(
            f"run {run_id} was imported with experiment {experiment.number}, so its cluster is not one of this "
            "server's: submit its specification as a new experiment"
        )
    if run.rung is not None:
        raise Conflict(f"run {run_id} is a trial, and its search has continued: submit the experiment again")
    cluster = session.get(Cluster, run.host)
    if cluster is None:
        raise Conflict(f"the cluster {run.host!r} of run {run_id} has been removed: join it again under this name")
    start = "from its latest checkpoint, if it has one" if resume else "from the beginning"
    keep_present(session, run)
    try_anew(session, run, Cause(who, f"retried, {start}"), resume=resume)
    reopened = update(Experiment).where(Experiment.id == run.experiment_id, Experiment.finished_at.is_not(None))
    session.execute(reopened.values(finished_at=None).execution_options(synchronize_session="fetch"))
    announce(session, "experiment", {"id": run.experiment_id}, experiment_id=run.experiment_id)


def abandon(session: Session, run_id: str, who: str, silence: timedelta) -> None:
    """End a run as cancelled although nothing has proven that it is dead (`RISK`).

    Raises Conflict unless it is lost, or its cluster is offline and its supervisor has not reported. `silence`:
    after which a cluster counts as offline.
    """
    run = _locked(session, run_id)
    if run.state in TERMINAL or run.state is RunState.QUEUED:
        remedy = "cancel it" if run.state is RunState.QUEUED else "there is nothing to abandon"
        raise Conflict(f"run {run_id} is {run.state}: {remedy}")
    cluster = session.get(Cluster, run.host)
    online = cluster is not None and cluster.seen_at >= database_time(session) - silence
    if run.state is not RunState.LOST and (online or run.state is not RunState.DISPATCHED):
        raise Conflict(
            f"run {run_id} is {run.state}, and its {'cluster' if online else 'supervisor'} has reported: cancel "
            "it; it can be abandoned once it is lost"
        )
    move(session, run, RunState.CANCELLED, Cause(who, f"abandoned: {RISK}"), cancel_requested=True)


def _locked(session: Session, run_id: str) -> Run:
    run = session.get(Run, run_id, with_for_update=True, populate_existing=True)
    if run is None:
        raise ResourceNotFound(f"no run has the id {run_id}")
    return run
