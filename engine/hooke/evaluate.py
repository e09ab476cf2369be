"""Scoring the center off the clock. There is one train clock: it stands while every rank stands still.

Ranks come to a stop where it disturbs a method least: between two local steps. The clock goes on until the last
one has stopped, which is phase idle for the others, and no rank takes a step before the evaluation is over. So
on every rank the clock is wall seconds less the evaluations' own (and the checkpoints').
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


def stop_together(r: Rank) -> None:
    """Return when every rank has come to a stop; on the clock, because the last one was still working."""
    with aside(r.comm, Phase.IDLE):
        r.comm.control.allreduce((0.0,))


def evaluate_together(r: Rank) -> None:
    """Stop all ranks, then `score_together`; collective."""
    stop_together(r)
    score_together(r)


def score_together(r: Rank) -> None:
    """Every rank that has the center scores its share of the test set; all take note of the same sums.

    Collective, for a moment at which all stand still. A server that steps together with the workers is the only
    one that has the center.
    """
    with aside(r.comm, Phase.EVALUATE):
        stopped = r.comm.clock()
        r.refresh()
        size, parts = r.problem.test_size, r.comm.size
        start, stop = size * r.rank // parts, size * (r.rank + 1) // parts
        if r.algorithm.servers:
            start, stop = (0, size) if r.is_server else (0, 0)
        part = r.problem.evaluate(r.answer_vector, start, stop)
        sums = r.comm.control.allreduce((part.loss_sum, float(part.correct), float(part.count)))
        _note(r, Score(sums[0], int(sums[1]), int(sums[2])), stopped)


def score_alone(r: Rank) -> None:
    """The server scores the whole test set, while every worker stands still."""
    with aside(r.comm, Phase.EVALUATE):
        stopped = r.comm.clock()
        _note(r, r.problem.evaluate(r.answer_vector, 0, r.problem.test_size), stopped)


def _note(r: Rank, score: Score, stopped: float) -> None:
    loss, accuracy = score.loss_sum / score.count, score.correct / score.count
    reached = r.course.scored(r.samples, loss, accuracy)
    r.recorder.scored(r, loss, accuracy, stopped, reached)
