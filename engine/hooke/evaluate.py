"""Scoring the center, off the clock: no second of it counts as training.

While a run goes on, on the validation part, which targets are judged on; once it has ended, on the test part.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from hooke.phases import Phase
from hooke.workload import Score

if TYPE_CHECKING:
    from hooke.comm.timed import Timed
    from hooke.rank import Rank


@contextmanager
def aside(comm: Timed, phase: Phase) -> Iterator[None]:
    """Charge the body, operations included, to a phase; what it sends is not the method's traffic."""
    before, sent, kept = comm.ledger.enter(phase), comm.traffic, replace(comm.traffic)
    try:
        with comm.under(phase):
            yield
    finally:
        comm.ledger.enter(before)
        sent.payload, sent.wire, sent.messages = kept.payload, kept.wire, kept.messages


def evaluate_together(r: Rank) -> None:
    """Every rank that has the center scores its share of the validation part; all take note of the same sums.

    A server that steps together with the workers is the only one that has it.
    """
    with aside(r.comm, Phase.EVALUATE):
        began = r.comm.clock()
        r.comm.barrier()
        start, stop = _share(r, r.problem.validation_size)
        part = r.problem.evaluate(r.answer_vector, start, stop)
        sums = r.comm.control.allreduce((part.loss_sum, float(part.correct), float(part.count)))
        _note(r, Score(sums[0], int(sums[1]), int(sums[2])), r.comm.clock() - began)


def evaluate_alone(r: Rank) -> float:
    """The server scores the whole validation part while it serves nobody; return the seconds that it took."""
    with aside(r.comm, Phase.EVALUATE):
        began = r.comm.clock()
        score = r.problem.evaluate(r.answer_vector, 0, r.problem.validation_size)
        seconds = r.comm.clock() - began
        _note(r, score, seconds)
    return seconds


def score_test(r: Rank) -> None:
    """Score the final center on the test part, once, when the run has met its target or its budget; collective.

    A run that was stopped may go on from its checkpoint: its center is not the final one. Nothing is decided by
    this score; the deciding rank's `done` record has it.
    """
    if r.course.reason not in ("target", "budget"):
        return
    with aside(r.comm, Phase.EVALUATE):
        start, stop = _share(r, r.problem.test_size)
        part = r.problem.evaluate(r.answer_vector, start, stop, "test")
        loss_sum, correct, count = r.comm.control.allreduce(
            (part.loss_sum, float(part.correct), float(part.count))
        )
        r.recorder.test = loss_sum / count, correct / count


def _share(r: Rank, size: int) -> tuple[int, int]:
    """Return which of `size` items this rank scores, from and to: a server all of them, for nobody else could."""
    if r.algorithm.servers:
        return (0, size) if r.is_server else (0, 0)
    return size * r.rank // r.comm.size, size * (r.rank + 1) // r.comm.size


def _note(r: Rank, score: Score, seconds: float) -> None:
    loss, accuracy = score.loss_sum / score.count, score.correct / score.count
    reached = r.course.scored(r.samples, loss, accuracy)
    r.recorder.scored(r, loss, accuracy, seconds, reached)
