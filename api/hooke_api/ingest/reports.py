"""Applies a supervisor's reports of states, against the records of the ranks and the retry policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import structlog
from hooke.spec.events import StateReport
from hooke.spec.states import DIVERGED, TERMINAL, TRANSITIONS, RunState
from sqlalchemy.orm import Session

from hooke_api.base.documents import storable_text
from hooke_api.base.settings import Settings
from hooke_api.ingest.figures import Figures
from hooke_api.ingest.records import RefusedReport
from hooke_api.models import Attempt, Run
from hooke_api.scheduling import holds
from hooke_api.scheduling.lifecycle import Cause, move, tell
from hooke_api.scheduling.retries import end_attempt

log = structlog.get_logger("hooke.ingest")


@dataclass(frozen=True)
class Reports:
    """The reports of the attempt that owns a run; the caller holds the lock on the run's row."""

    session: Session
    run: Run
    attempt: Attempt
    settings: Settings
    figures: Figures
    """With the records of the same request."""
    all_sent: bool
    """Whether the request shows that the supervisor has nothing more to send."""

    def apply(self, reports: Sequence[StateReport | RefusedReport]) -> int:
        """Apply the reports that are new, in their order; one that needs records still to come waits for these.

        One that cannot be read is counted and shown, and keeps back nothing that follows it. Return how many are
        acknowledged: the supervisor sends until all of its own are.
        """
        applied = self.attempt.reports
        for report in reports[applied:]:
            if isinstance(report, RefusedReport):
                self.attempt.reports += 1
                self.figures.refuse(None, report)
                continue
            if self._waits(report):
                return self.attempt.reports
            self.attempt.reports += 1
            if self.run.attempt == self.attempt.number:
                self._apply(report)
        return len(reports) - 1 if self._end_waits(reports, applied) else self.attempt.reports

    def _end_waits(self, reports: Sequence[StateReport | RefusedReport], applied: int) -> bool:
        """Apply the end told by a supervisor that has fewer reports than were applied; return whether it waits.

        It took over from one that could not write all of its own: its disk was full, or lost its last lines.
        """
        last = reports[-1] if reports else None
        if not isinstance(last, StateReport) or len(reports) > applied or RunState(last.state) not in TERMINAL:
            return False
        if self.run.attempt != self.attempt.number or self.run.state in TERMINAL:
            return False
        if self._waits(last):
            return True
        self._apply(last)
        return False

    def _waits(self, report: StateReport) -> bool:
        needs_records = report.state == "succeeded" or report.cause == "time_limit"
        return needs_records and not self.all_sent and bool(self.figures.without_done())

    def _apply(self, report: StateReport) -> None:
        session, run, state, evidence = self.session, self.run, RunState(report.state), _evidence(report)
        if state is run.state is RunState.STARTING:
            tell(session, run, evidence)  # another reason why its ranks have not started
        elif state not in TRANSITIONS.get(run.state, frozenset()):
            if state is not run.state:
                log.warning("report refused", run=run.id, state=run.state, report=report.state)
        elif state is RunState.SUCCEEDED:
            self._succeed(evidence)
        elif state is RunState.FAILED_INFRA:
            end_attempt(session, run, report.cause or "infrastructure", state, evidence, self.settings)
        elif state is RunState.TIMED_OUT and report.cause is not None:
            end_attempt(session, run, report.cause, state, evidence, self.settings)
        else:
            diverged = state is RunState.FAILED_USER and report.exit_code == DIVERGED
            move(session, run, state, evidence, **({"diverged": True} if diverged else {}))
            if state is RunState.STARTING:
                holds.release(session, run.host)

    def _succeed(self, evidence: Cause) -> None:
        """End a run well, if every rank has said so itself."""
        unfinished = self.figures.unfinished()
        if not unfinished:
            move(self.session, self.run, RunState.SUCCEEDED, evidence)
            return
        ranks = ", ".join(map(str, unfinished[:10])) + (", ..." if len(unfinished) > 10 else "")
        why = f"its supervisor reported success, but there is no `done` record of a regular end of rank {ranks}"
        move(self.session, self.run, RunState.FAILED_INFRA, replace(evidence, why=why))


def _evidence(report: StateReport) -> Cause:
    return Cause(
        "supervisor",
        storable_text(report.why),
        exit_code=report.exit_code,
        signal=report.signal,
        rank=report.rank,
        host=storable_text(report.host)[:255] if report.host is not None else None,
        reported_at=datetime.fromtimestamp(report.unix, UTC),
    )
