"""Decisions on when a run evaluates and when it ends. All ranks follow a decision at the same step.

If one rank ended at step k and another at k + 1, an all-reduce would stay unmatched and the run would hang.
Therefore every rank computes what depends on the global number of samples (budget, evaluation, target) itself,
with the same result; what only one rank knows (a signal, the wall clock) is sent as a control word.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal, get_args

from hooke.comm.base import Control, ControlPending
from hooke.spec.specification import RunSpec

POLL_SECONDS = 0.5
POLL_STEPS = 256
"""Most steps between polls of real ranks, unless two exchanges take more: later steps may be longer."""
VIRTUAL_POLL_STEPS = 64
"""Steps between polls in virtual time, for the budget's seconds of it. See `Requests` for what signals ask."""

Reason = Literal["budget", "target", "cancelled", "timed_out"]
ENDINGS: tuple[Reason, ...] = get_args(Reason)
"""All reasons; the index of each is sent as a control word."""


class Decision(IntEnum):
    """A decision of the deciding rank for all ranks."""

    GO_ON = 0
    CANCEL = 1
    TIME_OUT = 2
    CHECKPOINT = 3


REASONS: dict[Decision, Reason] = {Decision.CANCEL: "cancelled", Decision.TIME_OUT: "timed_out"}


def most_steps(period: int) -> int:
    """Return the most steps between polls of real ranks; `period`: steps between exchanges.

    A worker that is two exchanges further has met worker 0 since, so it does not wait for it once more.
    """
    return max(POLL_STEPS, 2 * period + 2)


def first_gap(period: int) -> int:
    """Return the steps from the first poll in virtual time to the second; `period`: steps between exchanges.

    A worker that is two exchanges further has met worker 0 since that one posted its decision, so it does not wait
    for it once more. With long periods it may, because a time limit must hold in a short run, too.
    """
    return min(VIRTUAL_POLL_STEPS, 2 * period + 2)


@dataclass
class RunSchedule:
    """Evaluations, checkpoints and end of a run, as far as they depend on the number of samples alone."""

    spec: RunSpec
    accumulation: int = 1
    """Gradients per step."""
    evaluated: int = -1
    """Number of the latest evaluated period; -1 before the first evaluation, at 0 samples."""
    reason: Reason | None = None
    saved: int = 0
    """Samples at the latest checkpoint, or at the start of the run."""

    @property
    def total_steps(self) -> int:
        """Return the number of steps of all workers in the budget, rounded up; at least one per worker."""
        return max(self.spec.workers, math.ceil(self.spec.budget.samples / self.step_samples))

    @property
    def scheduled_steps(self) -> int:
        """Return the number of steps of all workers over which schedules of the learning rate run."""
        samples = self.spec.budget.schedule_samples or self.spec.budget.samples
        return max(self.spec.workers, math.ceil(samples / self.step_samples))

    @property
    def step_samples(self) -> int:
        """Return the samples of one step of one worker."""
        return self.spec.batch * self.accumulation

    def evaluation_due(self, samples: int) -> bool:
        """Return whether another evaluation period has been completed."""
        return samples // self.spec.evaluation.every > self.evaluated

    def checkpoint_due(self, samples: int) -> bool:
        """Return whether another checkpoint period has been completed since the latest checkpoint."""
        every = self.spec.checkpoint_every
        return every is not None and self.spec.checkpoint != "never" and samples // every > self.saved // every

    def note_evaluation(self, samples: int, loss: float, accuracy: float) -> bool:
        """Record an evaluation; return whether it met the target, which ends the run."""
        self.evaluated = samples // self.spec.evaluation.every
        reached = self.spec.target is not None and self.spec.target.reached(loss, accuracy)
        if reached:
            self.reason = self.reason or "target"
        return reached


class Requests:
    """What signals ask of a virtual world, followed by all of its ranks after the same step, as soon as they can.

    Its ranks are threads of one process, of which one at a time is between two steps. So they need neither
    messages nor locks to agree, no virtual time passes, and no result depends on when somebody looks.
    """

    def __init__(self, ranks: int) -> None:
        self._ranks = ranks
        self._committed: dict[int, int] = {}
        """For each rank, the number of steps that it has done or will do."""
        self._decision = Decision.GO_ON
        self._at = 0
        self._followed = 0

    def begin(self, rank: int, step: int) -> None:
        """Note that a rank takes another step after this one."""
        self._committed[rank] = step + 1

    def look(self, rank: int, step: int, asked: Decision) -> Decision:
        """Return what a rank follows after this step, GO_ON if nothing; otherwise it takes another step.

        `asked`: what the deciding rank has been asked for. It holds after the latest step that any rank has begun.
        """
        if self._decision is Decision.GO_ON and asked is not Decision.GO_ON:
            self._decision, self._at, self._followed = asked, max(self._committed.values()), 0
        self._committed[rank] = step + 1
        if self._decision is Decision.GO_ON or step != self._at:
            return Decision.GO_ON
        decision = self._decision
        self._followed += 1
        if self._followed == self._ranks:
            self._decision = Decision.GO_ON
        return decision


class Polls:
    """Broadcasts a decision of rank 0 to all ranks about every half second, one poll ahead, so that no rank waits.

    Decision j is posted at poll step s(j) and read at s(j + 1); it contains s(j + 2), so that all ranks poll at
    the same steps. `fixed_gaps`: s(1) - s(0), and all later distances; None: s(0) + 1, then by the clock, `most`
    steps at most.
    """

    def __init__(
        self, control: Control, deciding: bool, fixed_gaps: tuple[int, int] | None, most: int = POLL_STEPS
    ) -> None:
        self._control = control
        self._deciding = deciding
        self._most = most
        self._first_gap = fixed_gaps[0] if fixed_gaps else 1
        self._fixed_gap = fixed_gaps[1] if fixed_gaps else None
        self._pending: ControlPending | None = None
        self._at = 1
        self._began: tuple[int, float] | None = None

    def start_after(self, step: int) -> None:
        """Set the first poll to the step after this one; a restored run does not begin at 0."""
        self._at = step + 1

    def poll(self, step: int, decide: Callable[[], Decision], now: float) -> Decision:
        """Return rank 0's previous decision if a poll is due after this step, else GO_ON.

        `decide` is called only if its result is sent, because it returns a request for a checkpoint only once.
        """
        if step < self._at:
            return Decision.GO_ON
        decision = Decision.GO_ON
        self._at = step + self._first_gap
        if self._pending is not None:
            said, following = self._pending.wait()
            self._pending = None
            decision, self._at = Decision(int(said)), int(following)
        if decision not in REASONS:
            words = (float(decide()), float(self._at + self._gap(step, now))) if self._deciding else None
            self._pending = self._control.ibroadcast(words)
        return decision

    def _gap(self, step: int, now: float) -> int:
        if self._fixed_gap is not None:
            return self._fixed_gap
        before, self._began = self._began, (step, now)
        if before is None or step == before[0]:
            return 1
        seconds = (now - before[1]) / (step - before[0])
        return min(self._most, max(1, round(POLL_SECONDS / max(seconds, 1e-6))))

    def close(self) -> None:
        """Complete a pending broadcast; every rank has posted it."""
        if self._pending is not None:
            self._pending.wait()
            self._pending = None


class Grants:
    """Distribution of the budget's steps by a server: exactly `total` steps, but one for every worker at least."""

    def __init__(self, total: int, workers: int) -> None:
        self.left = max(total, workers)
        self.active = workers
        self.ending = False

    def next(self, period: int) -> tuple[int, bool]:
        """Return (steps granted to the requesting worker, whether they are its last)."""
        if not self.ending and self.left - period >= self.active:
            self.left -= period
            return period, False
        steps = min(period, math.ceil(self.left / self.active)) if not self.ending else min(period, 1)
        self.left -= steps
        self.active -= 1
        return steps, True

    def give_back(self, steps: int, asking: bool) -> None:
        """Return unused steps of a worker that left; `asking`: it had not been granted its last steps."""
        self.left += steps
        self.active -= asking
