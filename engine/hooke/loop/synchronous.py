"""The step loop of synchronous methods: all ranks, including a server if there is one, take the same steps."""

from __future__ import annotations

from collections.abc import Iterator

from hooke.loop import checkpoint
from hooke.loop.decisions import REASONS, VIRTUAL_POLL_STEPS, Decision, Polls, first_gap, most_steps
from hooke.loop.evaluate import evaluate_together, stop_and_evaluate
from hooke.loop.recorder import RecordedRank
from hooke.trace.phases import Phase


class SynchronousLoop:
    """Counts samples, evaluates and ends at the same steps on every rank."""

    def __init__(self, rank: RecordedRank) -> None:
        self._r = rank

    def steps(self) -> Iterator[int]:
        """Yield step numbers; between them: journal, checks, evaluation, decisions, checkpoints."""
        r = self._r
        period = r.algorithm.exchange_period()
        gaps = (first_gap(period), VIRTUAL_POLL_STEPS) if r.spec.virtual else None
        polls = Polls(r.comm.control, r.deciding, gaps, most_steps(period))
        polls.start_after(r.t)
        r.recorder.begin(r, lambda: evaluate_together(r))
        if r.together is not None:
            r.together.begin(r.rank, r.t)
        self._evaluate_if_due()
        while r.schedule.reason is None:
            r.recorder.release()
            r.ledger.enter(Phase.UPDATE)
            yield r.t
            r.charge_update()
            r.ledger.enter(Phase.IDLE)
            r.t += 1
            r.samples += r.schedule.step_samples * r.workers
            if r.comm.size > 1:  # a single rank sends nothing, and its next gradient is checked
                r.check(r.params, "the weights")
            if r.samples >= r.schedule.total_steps * r.schedule.step_samples:
                r.schedule.reason = "budget"
            decision = self._decision(polls)
            if decision in REASONS:
                r.schedule.reason = r.schedule.reason or REASONS[decision]
            self._evaluate_if_due()
            if r.schedule.reason is None and (
                decision is Decision.CHECKPOINT or r.schedule.checkpoint_due(r.samples)
            ):
                self._flush()
                r.recorder.step(r)
                checkpoint.save(r, followed=True)
            else:
                r.recorder.step(r)
        polls.close()
        self._flush()
        self._evaluate_if_due(last=True)

    def _decision(self, polls: Polls) -> Decision:
        """Return what all ranks follow after this step; polls, which may wait, only if something needs them."""
        r = self._r
        if r.together is None:
            return polls.poll(r.t, r.decide, r.comm.clock())
        limited = Decision.GO_ON
        if r.spec.budget.max_seconds is not None:
            limited = polls.poll(r.t, r.limited, r.comm.clock())
        return r.together.look(r.rank, r.t, r.asked() if r.deciding else Decision.GO_ON) or limited

    def _evaluate_if_due(self, last: bool = False) -> None:
        r = self._r
        evaluated = r.recorder.evaluated_at == r.samples
        if (last and not evaluated) or (not last and r.schedule.evaluation_due(r.samples)):
            stop_and_evaluate(r)

    def _flush(self) -> None:
        """Let the method complete pending operations, on the clock: before a checkpoint and at the end."""
        if self._r.flush is not None:
            before = self._r.ledger.enter(Phase.UPDATE)
            self._r.comm.complete(self._r.flush())
            self._r.comm.pay()
            self._r.ledger.enter(before)
