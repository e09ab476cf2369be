"""One job of PSI/J, from its submission to its end, without ever waiting for a command of its scheduler.

PSI/J asks the scheduler in a thread of its own; submitting and cancelling, which wait for commands, in another.
Signals reach the ranks by a file that `in_job` reads, because PSI/J has no operation for them.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Literal

from hooke.cluster.launchers import in_job
from hooke.cluster.launchers.batch import View
from hooke.cluster.processes import sweep
from hooke.cluster.verdict import Outside

TRIES, RETRY = 8, 30.0
"""Submissions before a job counts as refused; most seconds between two of them."""
GONE = 60.0
"""Seconds that a killed job may take if nobody knows its number."""
AGAIN = 5.0
"""Seconds between two attempts to cancel a job."""
_WAITING, _RUNNING = ("NEW", "QUEUED"), ("STAGE_IN", "ACTIVE", "STAGE_OUT", "CLEANUP")
_NO_ANSWER = ("Failed to poll", "Failed to update job status", "Error updating")
"""How PSI/J begins its message when the scheduler did not answer; it then counts all jobs as failed."""
Doing = Literal["submit", "attach", "cancel"]


class _Action:
    """A call into PSI/J in a thread of its own."""

    def __init__(self, what: Doing, call: Callable[[], None]) -> None:
        self.what, self.error = what, ""
        self._call = call
        self._thread = threading.Thread(target=self._run, name=f"psij {what}", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._call()
        except Exception as error:  # noqa: BLE001 - whatever PSI/J raises is told
            self.error = " ".join(f"{type(error).__name__}: {error}".split())[:500]

    @property
    def ended(self) -> bool:
        """Return whether it has returned."""
        return not self._thread.is_alive()


class PsijJob:
    """The job of a launch; see `hooke.cluster.launchers.batch.BatchJob`."""

    def __init__(
        self,
        executor: Any,
        make: Callable[[], Any],
        folder: Path,
        known: str,
        name: str,
        here: Collection[str] = (),
    ) -> None:
        """`make` returns a new job of PSI/J; `known`: the scheduler's name of it, if an earlier supervisor told.

        `here`: attempts with processes on this host, where PSI/J's executor `local` leaves some when it kills.
        """
        self._executor, self._make, self._folder, self._name, self._here = executor, make, folder, name, here
        self._job: Any = make()
        self._known, self._tries = known, 0
        self._cancelled = False
        self._actions: list[Doing] = []
        self._action: _Action | None = None
        self._next_at, self._gone_at = 0.0, float("inf")
        self._view = View("waiting", f"its job is being submitted by PSI/J ({name})")
        if known:
            self._actions.append("attach")
        elif not self._file(in_job.STARTED):
            self._actions.append("submit")

    @property
    def id(self) -> str:
        """Return the scheduler's name of the job; empty before it is known."""
        return str(self._job.native_id or self._known or "")

    def _file(self, name: str) -> bool:
        return (self._folder / name).exists()

    def look(self) -> View:
        """Return what is known of the job; see `BatchJob`."""
        if self._view.phase == "ended":
            return self._view
        if self._action is not None and self._action.ended:
            action, self._action = self._action, None
            self._take(action)
        if self._action is None and self._actions and time.monotonic() >= self._next_at:
            self._begin(self._actions.pop(0))
        return self._followed()

    def _begin(self, what: Doing) -> None:
        job = self._job
        calls: dict[Doing, Callable[[], None]] = {
            "submit": lambda: self._executor.submit(job),
            "attach": lambda: self._executor.attach(job, self._known),
            "cancel": lambda: self._executor.cancel(job),
        }
        self._action = _Action(what, calls[what])

    def _take(self, action: _Action) -> None:
        """Take the outcome of a call into PSI/J."""
        if action.what == "cancel":
            self._cancel_answered(action.error)
        elif not action.error and self._cancelled:
            self._actions.append("cancel")
        elif action.error and action.what == "submit":
            self._refused(action.error)
        elif action.error and not self._file(in_job.ENDED):
            self._end("infrastructure", f"its job {self._known} is not there any more: {action.error}")

    def _cancel_answered(self, error: str) -> None:
        """Take the answer to a cancel: a job that has not begun has left the queue, and would not begin now."""
        if error:
            self._next_at = time.monotonic() + AGAIN
            self._actions.append("cancel")
        elif not self._file(in_job.STARTED):
            self._end("cancelled", f"taken out of the queue of PSI/J ({self._name})")

    def _refused(self, said: str) -> None:
        self._tries += 1
        if self._cancelled:
            self._end("cancelled", f"it was not submitted to {self._name}")
        elif said.startswith("InvalidJobException") or self._tries >= TRIES:
            self._end("infrastructure", f"PSI/J ({self._name}) refuses the job: {said}")
        else:
            self._view = View("waiting", f"PSI/J ({self._name}) did not take the job, it is tried again: {said}")
            self._next_at = time.monotonic() + min(RETRY, 2.0**self._tries)
            self._job = self._make()
            self._actions.append("submit")

    def _followed(self) -> View:
        """Take the state of the job from PSI/J and from the files of `in_job`, whichever is ahead; return it."""
        if self._view.phase == "ended":
            return self._view
        status = self._job.status
        state, started = status.state.name, self._file(in_job.STARTED)
        job = f"job {self.id}" if self.id else "a job whose number was not noted"
        if self._file(in_job.ENDED):
            self._ended(None)
        elif status.final and self.id and str(status.message).startswith(_NO_ANSWER):
            self._known, self._job = self.id, self._make()
            self._actions.append("attach")
            self._next_at = time.monotonic() + RETRY
        elif status.final:
            said = f": {status.message}" if status.message else ""
            self._final(state, f"PSI/J ({self._name}) tells of {job}: {state}{said}")
        elif started or state in _RUNNING:
            self._view = View("running", f"{job} of PSI/J ({self._name}) runs")
        elif self.id and state in _WAITING:
            self._view = View("waiting", f"{job} waits in the queue of PSI/J ({self._name}): {state}")
        if time.monotonic() > self._gone_at:
            self._end("infrastructure", f"{job} did not end within {GONE:g} s after it was killed")
        return self._view

    def _final(self, state: str, words: str) -> None:
        if state == "CANCELED":
            self._end("cancelled", f"cancelled, not by Hooke but by an operator: {words}")
        elif state == "COMPLETED":
            self._ended(None)
        else:
            self._end("infrastructure", words)

    def _end(self, how: Literal["cancelled", "infrastructure"], why: str) -> None:
        self._ended(Outside(how, why))

    def _ended(self, outside: Outside | None) -> None:
        self._view = View("ended", outside=outside, status=getattr(self._job.status, "exit_code", None))
        if self._here:
            sweep(self._here)

    def signal(self, number: int) -> None:
        """Send a signal to every rank; before they have started, SIGTERM removes the job from the queue."""
        if self._file(in_job.STARTED):
            self._ask(number)
        elif number == signal.SIGTERM:
            self._cancelled = True
            self._leave()

    def _ask(self, number: int) -> None:
        in_job.write(str(self._folder), in_job.ASKED, {"number": time.time_ns(), "signal": int(number)})

    def _leave(self) -> None:
        """Take the job out of the queue, or never submit it."""
        self._ask(signal.SIGTERM)  # should it begin at this moment
        if self.id:
            self._actions.append("cancel")
        elif self._action is None:
            self._end("cancelled", f"it was not submitted to {self._name}")

    def kill(self) -> None:
        """End the job at once, wherever it is."""
        self._cancelled = True
        self._ask(signal.SIGKILL)
        if self.id:
            self._actions.append("cancel")
        elif self._file(in_job.STARTED):
            self._gone_at = min(self._gone_at, time.monotonic() + GONE)
        else:
            self._leave()
