"""The step loop of lock-free methods: no worker waits for another one between two meetings.

Each worker takes its next steps from a shared counter, a whole period at a time, so a slow worker lowers only its
own rate. A worker that takes a step at which an evaluation is due calls a meeting; so does the deciding rank when
it has a decision. A call is a control word to all other ranks. They poll for it between two steps, stop, and join
the meeting. The train clock includes the counter, the calls and the wait until the last rank has stopped; then it
stands.

The budget is used exactly: a meeting counts the finished steps. If steps are left when all workers have finished
(because a worker with NaN or Inf had taken them), they are distributed again. If fewer steps are left than one
period for each worker, they are assigned instead of taken, because a race could leave some workers without any.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hooke.errors import NumericalError
from hooke.loop import checkpoint
from hooke.loop.decisions import REASONS, Decision
from hooke.loop.evaluate import aside, evaluate_together, stop_together
from hooke.loop.recorder import RecordedRank
from hooke.trace.phases import Phase

if TYPE_CHECKING:
    from hooke.comm.base import Counter

WATCH_SECONDS = 0.02
"""Seconds between two decisions of a deciding rank that has no steps left."""


class LockFreeLoop:
    """Takes steps from the counter and joins the meetings."""

    def __init__(self, rank: RecordedRank) -> None:
        self._r = rank
        self._counter: Counter | None = None
        self._mine = 0
        """Steps that this rank has taken from the counter but not finished."""
        self._start = self._end = 0
        """Range of counter values that are steps of the budget."""
        self._taken = 0
        """Total by which this rank has advanced the counter."""
        self._latest: int | None = None
        """Value of the counter when this rank last took steps."""
        self._staleness: int | None = None
        self._samples = 0
        """Global samples when the counter was at `_start`."""
        self._base = 0
        self._turn = 0
        self._saved = 0
        """Checkpoint periods begun (by samples taken) at the latest checkpoint."""
        self._failed: NumericalError | None = None
        self._meetings = 0
        """Number of meetings so far; a call carries it, so that late calls are recognized."""
        self._called = self._evaluation_due = False
        self._decision = Decision.GO_ON
        self.gone = False
        """This worker's numbers went bad: it takes no more steps."""

    def steps(self) -> Iterator[int]:
        """Yield step numbers until all ranks have agreed on the end."""
        r = self._r
        self._counter = r.comm.counter()
        self._take_at_once = r.algorithm.exchange_period()
        self._base = r.samples
        self._saved = r.samples // (r.spec.checkpoint_every or 1)
        r.recorder.begin(r, lambda: evaluate_together(r))
        self._open(0)
        while r.schedule.reason is None:
            if self._is_called():
                self._meet()
            elif not self._has_steps():
                self._flush()
                self._meet(finished=True)
            elif not self._called:
                r.recorder.release()
                r.ledger.enter(Phase.UPDATE)
                yield r.t
                r.charge_update()
                r.ledger.enter(Phase.IDLE)
                r.t += 1
                self._mine -= 1
                r.recorder.step(r, self._staleness)  # counted even if its result holds NaN or Inf
                self._staleness = None
                r.check(r.params, "the weights")

    def leave(self) -> None:
        """Take no more steps, because this worker holds NaN or Inf; join all meetings until the run ends."""
        r = self._r
        r.ledger.enter(Phase.IDLE)
        r.recorder.flush()  # nothing follows until the run ends
        self.gone, self._mine = True, 0
        left = True
        while r.schedule.reason is None:
            if r.deciding and r.spec.virtual is None:
                self._watch()
            self._meet(finished=True, left=left)
            left = False

    def close(self) -> None:
        """Free the counter and discard late calls; collective."""
        while self._counter is not None and self._r.comm.control.poll() is not None:
            pass
        if self._counter is not None:
            self._counter.close()
            self._counter = None

    def _flush(self) -> None:
        """Let the method complete the updates it has held back, before a checkpoint or the end."""
        r = self._r
        if r.flush is not None and not self.gone:
            r.ledger.enter(Phase.UPDATE)
            r.comm.complete(r.flush())
            r.ledger.enter(Phase.IDLE)

    def _take(self, steps: int) -> int:
        assert self._counter is not None  # noqa: S101 - `steps` has made it
        return self._counter.take(steps)

    def _has_steps(self) -> bool:
        """Take the next steps from the counter if none are left; return whether there are any."""
        r = self._r
        if self._mine or self._end == self._start:
            return self._mine > 0
        taken = self._take(self._take_at_once)
        self._taken += self._take_at_once
        self._mine = min(max(self._end - taken, 0), self._take_at_once)
        if self._mine:
            if self._latest is not None:
                others = taken - self._latest - self._take_at_once
                self._staleness = round(others / self._take_at_once)
            self._latest = taken
            r.samples = self._samples + r.schedule.step_samples * (taken + self._mine - self._start)
            if r.schedule.evaluation_due(self._samples_at(taken)):
                self._evaluation_due = True
                self._call()
        return self._mine > 0

    def _call(self) -> None:
        """Call a meeting of all ranks."""
        r = self._r
        self._called = True
        for other in range(r.comm.size):
            if other != r.rank:
                r.comm.control.send((float(self._meetings),), other)

    def _is_called(self) -> bool:
        """Return whether to stop for a meeting; the deciding rank calls one if it has a decision."""
        r = self._r
        if r.deciding and self._decision is Decision.GO_ON and not self._called:
            self._decision = self._own_decision()
            if self._decision is not Decision.GO_ON:
                self._call()
        while r.comm.size > 1 and (found := r.comm.control.poll()) is not None:
            self._called = self._called or int(found[1][0]) == self._meetings
        return self._called

    def _own_decision(self) -> Decision:
        r = self._r
        decision = r.decide()
        every = r.spec.checkpoint_every
        going_on = r.keep is not None and r.samples < r.schedule.total_steps * r.schedule.step_samples
        if decision is Decision.GO_ON and going_on and every is not None and r.samples // every > self._saved:
            decision = Decision.CHECKPOINT  # not after the last steps have been taken: the run is about to end
        if decision is Decision.CHECKPOINT and every is not None:
            self._saved = r.samples // every
        return decision

    def _watch(self) -> None:
        """On the deciding rank without steps: wait for a call, a decision or the end of the budget."""
        while not self._is_called() and self._take(0) < self._end:
            time.sleep(WATCH_SECONDS)

    def _meet(self, finished: bool = False, left: bool = False) -> None:
        """Count, evaluate and decide together with all ranks; the clock runs until the last rank has stopped."""
        r = self._r
        mine = (r.t - r.first, finished, self.gone, left, self._decision, self._evaluation_due, self._taken)
        with aside(r.comm, Phase.IDLE):
            found = r.comm.control.allreduce(tuple(map(float, mine)))
        done, at_end, gone, newly, decision, evaluation_due, taken = map(int, found)
        self._meetings += 1
        self._called = self._evaluation_due = False
        self._decision = Decision.GO_ON
        known, r.samples = r.samples, self._base + r.schedule.step_samples * done
        if newly:
            self._say_who_left(left)
        if gone == r.workers:
            raise NumericalError("no worker is left: the gradients or weights of all of them hold NaN or Inf")
        over = at_end == r.workers
        self._decide(Decision(decision), over, self._samples_at(taken) if evaluation_due else None)
        if over:
            self._open(taken)
        elif r.schedule.reason is None:
            r.samples = max(known, r.samples)  # journal rows continue from the steps taken
        if self._failed is not None:
            raise self._failed

    def _decide(self, decision: Decision, over: bool, due: int | None) -> None:
        """Evaluate and write a checkpoint if due; `due`: the samples taken when an evaluation was called."""
        r = self._r
        if decision in REASONS:
            r.schedule.reason = REASONS[decision]
        elif over and r.samples >= r.schedule.total_steps * r.schedule.step_samples:
            r.schedule.reason = "budget"
        ended = r.schedule.reason is not None
        if decision is not Decision.GO_ON:  # a checkpoint must contain all updates
            try:
                self._flush()
            except NumericalError as error:  # raised after the meeting, in which the other ranks still take part
                self._failed = error
            stop_together(r)
        if (ended and r.recorder.evaluated_at != r.samples) or due is not None:
            evaluate_together(r)
        if due is not None:  # fewer steps are finished than taken, and the next period begins after those taken
            r.schedule.evaluated = max(r.schedule.evaluated, due // r.spec.evaluation.every)
        if r.schedule.reason is None and decision is Decision.CHECKPOINT:
            r.refresh()
            checkpoint.save(r)

    def _open(self, start: int) -> None:
        """Offer the rest of the budget from counter value `start`; if it is too little, assign it to workers."""
        r = self._r
        steps = r.schedule.total_steps - r.samples // r.schedule.step_samples
        self._start, self._end, self._samples = start, start + steps, r.samples
        self._latest = None
        if steps < r.workers * self._take_at_once:
            self._end = start
            each, more = divmod(steps, r.workers)
            mine = each + ((r.rank - self._turn) % r.workers < more)
            self._turn += more
            self._mine = 0 if self.gone else mine
            r.samples += r.schedule.step_samples * self._mine

    def _samples_at(self, taken: int) -> int:
        """Return the global samples when all steps before counter value `taken` are finished."""
        return self._samples + self._r.schedule.step_samples * (min(taken, self._end) - self._start)

    def _say_who_left(self, left: bool) -> None:
        """Let the deciding rank record the workers that left since the last meeting, one by one (this is rare)."""
        r = self._r
        for worker in range(r.workers):
            mine = (1.0, float(r.t)) if left and worker == r.rank else (0.0, 0.0)
            gone, step = r.comm.control.allreduce(mine)
            if gone and r.deciding:
                why = f"NaN or Inf, rank {worker} at its step {int(step)}: the run continues without it"
                r.recorder.drop(worker, int(step), why)
