"""Further attempts of a run: whether, and when, by the retry policy of its experiment."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from hooke.spec.retry import RetryCause, RetryPolicy
from hooke.spec.states import RunState
from sqlalchemy import select
from sqlalchemy.orm import Session

from hooke_api.base.settings import Settings
from hooke_api.models import Checkpoint, Experiment, Run, database_time
from hooke_api.scheduling.lifecycle import Cause, move

UNTRAINED: dict[str, Any] = {
    "samples": 0,
    "accuracy": None,
    "loss": None,
    "test_accuracy": None,
    "test_loss": None,
    "time_to_target": None,
    "target_after": None,
    "communication_fraction": None,
    "clock": 0.0,
    "staleness": None,
    "lost_mass": None,
    "diverged": False,
}
"""The figures of a run before the first report of its attempt."""


@dataclass(frozen=True)
class Following:
    """The attempt that follows one that has ended."""

    failures: int
    """Failed attempts so far."""
    pause: float
    """Seconds until it may start."""


def following(policy: RetryPolicy, cause: RetryCause, failures: int, progressed: bool) -> Following | str:
    """Return the attempt that follows one that ended, or why there is none.

    `failures`: failed attempts before this one. `progressed`: whether it wrote a checkpoint with more samples than
    those before it.
    """
    if cause not in policy.causes:
        return f"the retry policy of its experiment has none after this cause ({cause})"
    if cause == "time_limit":
        if progressed:
            return Following(failures, 0.0)
        return "it has written no further checkpoint, so another one would end at the same place"
    failures += 1
    if failures >= policy.attempts:
        return f"{failures} of {policy.attempts} have failed"
    return Following(failures, policy.backoff(failures))


def policy_of(session: Session, run: Run, settings: Settings) -> RetryPolicy:
    """Return the retry policy of a run: that of its experiment, by default the server's."""
    given = session.execute(select(Experiment.spec).where(Experiment.id == run.experiment_id)).scalar_one()
    if given.get("retry") is None:
        return RetryPolicy(attempts=settings.max_attempts)
    return RetryPolicy.model_validate(given["retry"])


def end_attempt(
    session: Session, run: Run, cause: RetryCause, state: RunState, evidence: Cause, settings: Settings
) -> None:
    """End an attempt without a fault of the run: queue the next one, or end the run in a state.

    One that was to be cancelled is: a user asked for it, and how its ranks died decides nothing, as elsewhere.
    """
    evidence = replace(evidence, cause=cause)
    if run.cancel_requested:
        told = f"cancelled; before it heard of that, its attempt ended: {evidence.why}"
        move(session, run, RunState.CANCELLED, replace(evidence, why=told))
        return
    next_one = following(policy_of(session, run, settings), cause, run.failures, _progressed(session, run))
    if isinstance(next_one, str):
        told = f"{evidence.why}; there is no further attempt: {next_one}"
        move(session, run, state, replace(evidence, why=told), failures=run.failures + (cause != "time_limit"))
        return
    pause = f" in {next_one.pause:g} s" if next_one.pause else ""
    queue_again(
        session, run, replace(evidence, why=f"attempt {run.attempt} ended: {evidence.why}"), pause, next_one
    )


def queue_again(
    session: Session, run: Run, evidence: Cause, when: str = "", then: Following | None = None
) -> bool:
    """Queue the next attempt of a run; return False if its state has changed meanwhile.

    `when`: for the sentence in its history. `then`: None if the attempt before did not count, as it never began.
    """
    then = then or Following(run.failures, 0.0)
    why = f"{evidence.why}; attempt {run.attempt + 1} follows{when}"
    not_before = database_time(session) + timedelta(seconds=then.pause) if then.pause else None
    changes = {"attempt": run.attempt + 1, "failures": then.failures, "not_before": not_before}
    return move(session, run, RunState.QUEUED, replace(evidence, why=why), **changes, **UNTRAINED)


def try_anew(session: Session, run: Run, evidence: Cause, *, resume: bool = False) -> bool:
    """Queue another attempt of a run that has ended without success, with as many failures allowed as at first.

    `resume`: from its latest complete checkpoint, if it has one. Return False if its state has changed meanwhile.
    """
    changes = {
        "attempt": run.attempt + 1,
        "failures": 0,
        "not_before": None,
        "cancel_requested": False,
        "finished_at": None,
        "resume_from": run.resume_from if resume else run.attempt + 1,
    }
    return move(session, run, RunState.QUEUED, evidence, **changes, **UNTRAINED)


def _progressed(session: Session, run: Run) -> bool:
    """Return whether the present attempt has a complete checkpoint with more samples than earlier ones."""
    query = select(Checkpoint.attempt, Checkpoint.rank, Checkpoint.samples, Checkpoint.path)
    rows = session.execute(query.where(Checkpoint.run_id == run.id, Checkpoint.attempt >= run.resume_from))
    folders: dict[tuple[bool, str], tuple[set[int], int]] = {}
    for attempt, rank, samples, path in rows:
        ranks, most = folders.setdefault((attempt == run.attempt, path.rpartition("/")[0]), (set(), 0))
        ranks.add(rank)
        folders[attempt == run.attempt, path.rpartition("/")[0]] = ranks, max(most, samples)
    reached = {True: 0, False: 0}
    for (mine, _), (ranks, samples) in folders.items():
        if len(ranks) == run.workers + run.servers:
            reached[mine] = max(reached[mine], samples)
    return reached[True] > reached[False]
