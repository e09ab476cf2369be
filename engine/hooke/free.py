"""The step loop of methods without locks: nobody waits for anybody between two evaluations.

Each worker takes its next steps from a counter that all share, so a slow one lowers only its own rate. A
segment ends at the next evaluation, or with the budget; then all ranks meet. What a segment leaves undone (the
deciding rank broke it off; a worker whose numbers went bad had taken it) belongs to the next one, because the
meeting counts the steps that were done: the budget is spent exactly.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hooke.decisions import REASONS, Word
from hooke.errors import NumericalError
from hooke.evaluate import aside, evaluate_together
from hooke.phases import Phase

if TYPE_CHECKING:
    from hooke.comm.base import Counter
    from hooke.rank import Rank

WATCH_SECONDS = 0.02
"""How often a deciding rank that has no steps of its own any more looks for a wish to break the segment off."""


class Free:
    """Takes steps, and meets the others; off the clock from the moment at which it has no step left to take."""

    def __init__(self, rank: Rank) -> None:
        self._r = rank
        self._counter: Counter | None = None
        self._mine = 0
        """Steps that this rank has taken from the counter, and not done yet."""
        self._start = self._end = 0
        """The segment, in numbers of the counter."""
        self._samples = 0
        """Global samples where the segment began."""
        self._base = 0
        self._turn = 0
        self._word = Word.GO_ON
        self._gone = False

    def steps(self) -> Iterator[int]:
        """Yield step numbers until all ranks have agreed on the end."""
        r = self._r
        self._counter = r.comm.counter()
        self._take_at_once = max(1, int(getattr(r.algorithm, "period", 1)))
        self._base = r.samples
        r.recorder.begin(r)
        self._meet()
        while r.course.reason is None:
            while self._has_steps():
                r.recorder.release()
                r.ledger.enter(Phase.UPDATE)
                yield r.t
                r.charge_update()
                r.ledger.enter(Phase.IDLE)
                r.t += 1
                self._mine -= 1
                r.recorder.step(r, r.staleness())  # it was done, also where it has left bad numbers
                r.check(r.params, "the weights")
            self._land()
            self._meet()

    def _land(self) -> None:
        """Let the method complete what it has kept to itself, before the others look at the center."""
        r = self._r
        if r.land is not None:
            r.ledger.enter(Phase.UPDATE)
            r.land()
            r.ledger.enter(Phase.IDLE)

    def leave(self) -> None:
        """Take no more steps, because this worker's numbers went bad; go on to meet the others until the end."""
        r = self._r
        r.ledger.enter(Phase.IDLE)
        r.recorder.flush()  # nothing follows until the run ends
        self._gone, self._mine = True, 0
        left = True
        while r.course.reason is None:
            if r.deciding and r.spec.virtual is None:
                self._watch()
            self._meet(left)
            left = False

    def close(self) -> None:
        """Free the counter; collective."""
        if self._counter is not None:
            self._counter.close()
            self._counter = None

    def _take(self, steps: int) -> int:
        assert self._counter is not None  # noqa: S101 - `steps` has made it
        with aside(self._r.comm, Phase.IDLE):
            return self._counter.take(steps)

    def _has_steps(self) -> bool:
        """Take the next steps from the counter where none are left; return whether there are any."""
        r = self._r
        if not self._mine and not self._broken_off():
            taken = self._take(self._take_at_once)
            self._mine = min(max(self._end - taken, 0), self._take_at_once)
            if self._mine:
                r.samples = self._samples + r.spec.batch * (taken + self._mine - self._start)
        return self._mine > 0

    def _broken_off(self) -> bool:
        """Deciding rank: exhaust the counter where there is a wish, so that all meet soon."""
        if self._r.deciding and self._word is Word.GO_ON:
            self._word = self._r.wish()
            if self._word is not Word.GO_ON:
                self._take(self._end - self._start)
        return self._word is not Word.GO_ON

    def _watch(self) -> None:
        while self._take(0) < self._end and not self._broken_off():
            time.sleep(WATCH_SECONDS)

    def _meet(self, left: bool = False) -> None:
        """Count, evaluate, decide, and open the next segment, together with all ranks; off the clock."""
        r = self._r
        with aside(r.comm, Phase.EVALUATE):
            done, gone, newly, word = r.comm.control.allreduce(
                (float(r.t - r.first), float(self._gone), float(left), float(self._word))
            )
            self._word = Word.GO_ON
            r.samples = self._base + r.spec.batch * int(done)
            if newly:
                self._say_who_left(left)
            if gone == r.workers:
                raise NumericalError("no worker is left: the gradients or weights of all of them hold NaN or Inf")
            self._decide(Word(int(word)))
            (start,) = r.comm.control.allreduce((float(self._take(0)) if r.deciding else 0.0,))
        self._open(int(start), self._steps_to_next())

    def _open(self, start: int, steps: int) -> None:
        """Begin a segment; where there is not a turn for everybody, deal steps out: a race would starve some."""
        r = self._r
        self._start, self._end, self._samples = start, start + steps, r.samples
        if steps < r.workers * self._take_at_once:
            self._end = start
            each, more = divmod(steps, r.workers)
            mine = each + ((r.rank - self._turn) % r.workers < more)
            self._turn += more
            self._mine = 0 if self._gone else mine
            r.samples += r.spec.batch * self._mine

    def _decide(self, word: Word) -> None:
        r = self._r
        if word in REASONS:
            r.course.reason = REASONS[word]
        elif r.samples >= r.course.total_steps * r.spec.batch:
            r.course.reason = "budget"
        r.refresh()
        last = r.course.reason is not None and r.recorder.scored_at != r.samples
        if last or r.course.evaluation_due(r.samples):
            evaluate_together(r)
        if r.course.reason is None and (word is Word.CHECKPOINT or r.course.checkpoint_due(r.samples)):
            r.checkpoint()

    def _say_who_left(self, left: bool) -> None:
        """Let the deciding rank take note of those who have left since the last meeting (rare, so one by one)."""
        r = self._r
        for worker in range(r.workers):
            mine = (1.0, float(r.t)) if left and worker == r.rank else (0.0, 0.0)
            gone, step = r.comm.control.allreduce(mine)
            if gone and r.deciding:
                r.recorder.drop(worker, int(step))

    def _steps_to_next(self) -> int:
        r = self._r
        boundary = (r.course.evaluated + 1) * r.spec.evaluation.every
        return math.ceil((min(boundary, r.course.total_steps * r.spec.batch) - r.samples) / r.spec.batch)
