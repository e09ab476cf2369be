"""Scoring the center on the test set, off the clock: no second of it counts as training."""

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
    """Every rank that has the center scores its share of the test set; all take note of the same sums.

    A server that steps together with the workers is the only one that has it.
    """
    with aside(r.comm, Phase.EVALUATE):
        began = r.comm.clock()
        r.comm.barrier()
        size, parts = r.problem.test_size, r.comm.size
        start, stop = size * r.rank // parts, size * (r.rank + 1) // parts
        if r.algorithm.servers:
            start, stop = (0, size) if r.is_server else (0, 0)
        part = r.problem.evaluate(r.answer_vector, start, stop)
        sums = r.comm.control.allreduce((part.loss_sum, float(part.correct), float(part.count)))
        _note(r, Score(sums[0], int(sums[1]), int(sums[2])), r.comm.clock() - began)


def evaluate_alone(r: Rank) -> float:
    """The server scores the whole test set while it serves nobody; return the seconds that it took."""
    with aside(r.comm, Phase.EVALUATE):
        began = r.comm.clock()
        score = r.problem.evaluate(r.answer_vector, 0, r.problem.test_size)
        seconds = r.comm.clock() - began
        _note(r, score, seconds)
    return seconds


def _note(r: Rank, score: Score, seconds: float) -> None:
    loss, accuracy = score.loss_sum / score.count, score.correct / score.count
    reached = r.course.scored(r.samples, loss, accuracy)
    r.recorder.scored(r, loss, accuracy, seconds, reached)
