"""One attempt from its supervisor's view: evidence, reports, and data still to be delivered."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

from hooke.catalogue.discovery import built_in
from hooke.cluster import checking
from hooke.cluster.earlier import adopt_checkpoint
from hooke.cluster.job import Order
from hooke.cluster.places import AttemptFolder, append_line, described, write_atomically
from hooke.cluster.shipper import Shipper
from hooke.cluster.tail import LogBook, last_lines, last_words, read_own
from hooke.cluster.verdict import Evidence, Outside, judge
from hooke.cluster.witness import Witness
from hooke.spec.events import StateReport
from hooke.spec.files import SYSTEM
from hooke.spec.invariants import faults
from hooke.spec.specification import RunSpec, canonical
from hooke.spec.states import TERMINAL
from hooke.trace.records import file_of

_CLOCK = "The clock of this run cannot be trusted: "
_LOOK_BACK = 80
"""Number of last lines of a rank's output searched for its traceback."""


def described_error(error: Exception) -> str:
    """Return an unexpected error in one line."""
    return f"{type(error).__name__}: {error}"[:1000]


class SupervisedAttempt:
    """State and evidence of one attempt.

    State that must outlive this process is written before it is acted upon.
    """

    def __init__(self, folder: AttemptFolder, order: Order, checked: checking.Checked | None = None) -> None:
        """`checked`: what another process has found, if this one must not read users' files."""
        folder.path.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._resume_from = order.resume_from
        found = checked or checking.here(order.spec)
        self.spec: RunSpec | None = found.spec
        self.fault = found.fault
        """Why the specification cannot run here."""
        self._alone = checked is not None  # a marker `cancel` is not where ranks of another account look for it
        self.reports: list[StateReport] = []
        read_own(folder.reports, lambda line: self.reports.append(StateReport.model_validate_json(line)))
        self.fenced = self.cancel_asked = self.delivered = False
        """What the API has said. Markers say it to a later supervisor, where they could be written."""
        self.checkpoints = 0
        """Number of checkpoints requested so far, as reported by the API."""
        self.passed_on = 0
        """Number of requests passed on to the ranks. Both restart at 0 with a new supervisor and its ranks."""
        self.news = asyncio.Event()
        """Set when there is something to deliver to the API at once."""
        self.book = LogBook(folder.log)
        ranks = found.ranks
        self.witness = Witness(folder, ranks)
        journals = {rank: folder.journal(rank) for rank in range(ranks)}
        files = {SYSTEM: folder.system}
        if self.spec is not None and self.spec.trace:
            files |= {f"trace.{rank}": file_of(folder.ranks, rank) for rank in range(ranks)}
        taken_over = bool(self.reports)
        self.shipper = Shipper(folder.run, folder.attempt, journals, folder.log, files, takes_over=taken_over)

    @property
    def ended(self) -> bool:
        """Return whether the last report is a terminal one."""
        return bool(self.reports) and self.reports[-1].state in TERMINAL

    @property
    def virtual(self) -> bool:
        """Return whether it runs in virtual time, in one process."""
        return self.spec is not None and self.spec.world == "virtual"

    @property
    def shareable(self) -> bool:
        """Return whether it may share processes with attempts of its kind.

        A real one only without users' files: those may keep state in their modules from one run to the next.
        """
        if self.spec is None or self._alone:
            return False
        if self.virtual:
            return True
        built = (built_in("algorithm"), built_in("workload"))
        return self.spec.algorithm.name in built[0] and self.spec.workload.name in built[1]

    @property
    def processes(self) -> int:
        """Return the number of its guarded processes."""
        return 1 if self.virtual else self.witness.ranks

    @property
    def must_end(self) -> bool:
        """Return whether it was cancelled, or fenced: another attempt owns the run."""
        return self.fenced or self.cancelled

    @property
    def cancelled(self) -> bool:
        """Return whether its end was requested."""
        return self.cancel_asked or self.folder.cancel.exists()

    def report(self, report: StateReport) -> None:
        """Write a report to disk and queue it for delivery; ignored after a terminal one.

        On a full disk it is delivered all the same: that the disk is full is what has to be told.
        """
        if self.ended:
            return
        try:
            append_line(self.folder.reports, report.model_dump_json(), sync=True)
        except OSError as error:
            with suppress(OSError):  # of the log, on the same disk
                sys.stderr.write(f"{self.folder.id}: a report is not on disk: {described(error)}\n")
        self.reports.append(report)
        self.news.set()

    def starting(self) -> None:
        """Report `starting`, once: its turn has come."""
        if not self.reports:
            why = "a supervisor owns it, and its ranks are starting"
            self.report(StateReport(state="starting", unix=time.time(), why=why, host=os.uname().nodename))

    def wait(self, why: str) -> None:
        """Report why its ranks have not started yet, in the words of a scheduler; once per reason."""
        if self.reports and self.reports[-1].state == "starting" and self.reports[-1].why != why:
            self.report(StateReport(state="starting", unix=time.time(), why=why, host=os.uname().nodename))

    def look(self) -> None:
        """Read new journal records; report `running` when every rank has started."""
        self.witness.look()
        if self.witness.all_started and self.reports and self.reports[-1].state == "starting":
            why = f"all {self.witness.ranks} ranks are in their loop"
            self.report(StateReport(state="running", unix=time.time(), why=why, host=os.uname().nodename))

    def prepare(self) -> bool:
        """Write the files that the ranks read, and remove those of an earlier shared process.

        Return whether there is a checkpoint to go on from, of an earlier attempt.
        """
        if self.spec is not None:
            write_atomically(self.folder.spec, canonical(self.spec))
        for rank in range(self.witness.ranks):
            self.folder.exit(rank).unlink(missing_ok=True)
        return adopt_checkpoint(self.folder, self._resume_from)

    def end_unstarted(self) -> bool:
        """Report the end of an attempt that must not start; return whether it must not."""
        if self.ended:
            return True
        if self.folder.dead.exists() or self.must_end or self.fault:
            self.starting()
        now, host = time.time(), os.uname().nodename
        if self.folder.dead.exists():
            why = "it had been declared dead before it could start"
            self.report(StateReport(state="failed_infra", unix=now, why=why, host=host))
        elif self.must_end:
            self.report(StateReport(state="cancelled", unix=now, why="cancelled before it started", host=host))
        elif self.fault:
            self.report(StateReport(state="failed_user", unix=now, why=self.fault, host=host))
        return self.ended

    def end(
        self,
        status: int | None,
        *,
        cancelled: bool = False,
        cause: str = "",
        cause_at: float = 0.0,
        left: Sequence[int] = (),
        outside: Outside | None = None,
    ) -> None:
        """Determine how it ended and report it.

        It ends whatever the ranks have left among their files: otherwise it would hold its cluster forever.
        """
        try:
            self.look()
            words = last_words(self.folder.launcher_log)
            evidence = Evidence(
                ranks=self.witness.ranks,
                status=status,
                exits=self.witness.exits(),
                done=self.witness.done,
                logs={r: last_lines(self.folder.rank_log(r), _LOOK_BACK) for r in range(self.processes)},
                host=os.uname().nodename,
                cancelled=cancelled or self.cancelled,
                fenced=self.fenced,
                cause=cause,
                cause_at=cause_at,
                damaged=self.witness.damaged,
                left=left,
                outside=outside,
                launcher=() if self.witness.started else words,
                words=words,
            )
            report = self._with_faults(judge(evidence))
        except Exception as error:  # any error: users' code may write anything
            told = f"the files of its ranks cannot be read: {described_error(error)}"
            why, host = "; ".join(filter(None, (cause, told)))[:2000], os.uname().nodename
            report = StateReport(state="failed_infra", unix=time.time(), why=why, host=host)
        self.report(report)

    def _with_faults(self, report: StateReport) -> StateReport:
        """Return a report with what is wrong with the clock of a run that ended well."""
        well = report.state in ("succeeded", "timed_out")
        if not (well and (found := faults(self.folder.ranks, self.witness.ranks))):
            return report
        return report.model_copy(update={"why": f"{report.why}. {_CLOCK}{'; '.join(found[:3])}"})
