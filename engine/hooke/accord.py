"""What ranks want, agree on and settle together."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from hooke.decisions import ENDINGS, Course, Reason, Word
from hooke.evaluate import aside
from hooke.phases import Phase

if TYPE_CHECKING:
    from hooke.algorithm import Algorithm
    from hooke.asking import Asking
    from hooke.comm.timed import Timed
    from hooke.free import Free
    from hooke.phases import Ledger
    from hooke.recorder import Recorder
    from hooke.serving import Serving
    from hooke.shared import Shared
    from hooke.spec import RunSpec


class Accord:
    """The part of a `Rank` that no algorithm needs: the loops and `hooke.train` call it."""

    comm: Timed
    ledger: Ledger
    algorithm: Algorithm
    spec: RunSpec
    recorder: Recorder
    course: Course
    rank: int
    deciding: bool
    stop_requested: threading.Event
    checkpoint_requested: threading.Event
    keep: Path | None
    windows: list[Shared]
    asking: Asking
    serving: Serving
    free: Free

    def wish(self) -> Word:
        """Return what this rank, if it is the deciding one, wants all to do: a signal only sets a flag.

        A wish for a checkpoint is said once.
        """
        if self.stop_requested.is_set():
            return Word.CANCEL
        limit = self.spec.budget.max_seconds
        if limit is not None and self.ledger.wall() > limit:
            return Word.TIME_OUT
        if self.deciding and self.checkpoint_requested.is_set():
            self.checkpoint_requested.clear()
            return Word.CHECKPOINT
        return Word.GO_ON

    def agree_on_ending(self) -> Reason:
        """Wait, idle, until every rank has ended; return the deciding rank's reason, on all of them.

        A worker of a method with a server may have left before the reason was known; without its word the
        ranks would disagree on whether a checkpoint follows. None follows once a worker has been dropped.
        """
        mine = ENDINGS.index(self.course.reason or "budget") if self.deciding else 0
        stood = 0.0
        since = self.ledger.clock()
        self.ledger.enter(Phase.IDLE)
        with self.comm.under(Phase.IDLE):
            if self.algorithm.pace == "served" and self.deciding:
                self.serving.tell_the_end()
            elif self.algorithm.pace == "served":
                stood = self.asking.hear_the_end()
            said, gone = self.comm.control.allreduce((float(mine), float(len(self.recorder.dropped))))
        self.ledger.enter(Phase.IDLE)
        self.ledger.move(min(stood, self.ledger.since - since), Phase.IDLE, Phase.EVALUATE)
        self.course.reason = ENDINGS[int(said)]
        if gone:
            self.keep = None
        return self.course.reason

    def leave(self) -> None:
        """Go, as a worker whose numbers went bad, in a method that goes on without it."""
        for window in self.windows:
            window.finish()  # before the others look at it
        (self.free if self.algorithm.pace == "free" else self.asking).leave()

    def settle(self) -> None:
        """Find out how much of what was pushed into windows is lost, and free them; collective."""
        with aside(self.comm, Phase.IDLE):
            balances = [window.balance() for window in self.windows]
            if pushed := sum(mass for _, mass in balances):
                self.recorder.lost_mass = sum(lost for lost, _ in balances) / pushed if self.rank == 0 else None
            for window in self.windows:
                window.close()
            self.free.close()

    def refresh(self) -> None:
        """Take down what shared vectors hold now, at a meeting of all ranks."""
        for window in self.windows:
            window.refresh()
