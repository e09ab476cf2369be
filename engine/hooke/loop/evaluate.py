"""Evaluation of the center. The train clock stands during an evaluation, on all ranks.

Ranks stop between two local steps, where the method is disturbed least. The clock runs until the last rank has
stopped; for the others this time is phase idle. No rank takes a step before the evaluation is over. Therefore the
clock of every rank is its wall seconds without the seconds of evaluations and checkpoints.

During a run the validation part is scored, and targets refer to it; after the end of the run, the test part.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hooke.catalogue.workload import Score
from hooke.comm.arrays import MOST_WORDS
from hooke.comm.base import Vector
from hooke.comm.elements import Array, host, single
from hooke.errors import AlgorithmError
from hooke.loop.clock import restart_clock
from hooke.loop.recorder import RecordedRank, Stop
from hooke.spec.further import reported
from hooke.spec.specification import Part
from hooke.trace.phases import Ledger, Phase

if TYPE_CHECKING:
    from hooke.comm.wrappers.timed import Timed

REPLICA_TOLERANCE = 1e-4
"""Largest difference of replicas, relative to the largest weight, that is attributed to rounding."""


@contextmanager
def aside(comm: Timed, phase: Phase) -> Iterator[None]:
    """Charge the body, including its operations, to a phase; its messages do not count as the method's traffic."""
    before, sent, kept = comm.ledger.enter(phase), comm.traffic, replace(comm.traffic)
    try:
        with comm.under(phase):
            yield
    finally:
        comm.ledger.enter(before)
        sent.payload, sent.wire, sent.messages = kept.payload, kept.wire, kept.messages


def stop_together(r: RecordedRank, words: tuple[float, ...] = (0.0,)) -> tuple[float, ...]:
    """Return the sums of the words of all ranks when every rank has stopped.

    The clock runs meanwhile, because the last rank is still training.
    """
    with aside(r.comm, Phase.IDLE):
        return r.comm.control.allreduce(words)


def stop_and_evaluate(r: RecordedRank) -> None:
    """Evaluate at a point where other ranks may still be training; collective.

    Transfers under way are completed while the clock stands. The evaluation's clock is the time at which they
    would have been complete on the deciding rank, and the rank waits for that time when it continues.
    """
    stop_together(r)
    stopped = Stopped(r.ledger.since, r.ledger.seconds[Phase.EVALUATE])
    evaluate_together(r, stopped, _complete(r, stopped))
    r.comm.owe()


class Stopped(NamedTuple):
    """Where all ranks stopped: the time on this rank, and the seconds of evaluations until then."""

    since: float
    evaluated: float

    def worked(self, ledger: Ledger) -> float:
        """Return the seconds of this rank since then that are on the clock, up to the latest change of phase."""
        return max(0.0, ledger.since - self.since - (ledger.seconds[Phase.EVALUATE] - self.evaluated))


def _complete(r: RecordedRank, stopped: Stopped) -> float:
    """Let the method complete what is under way; return the seconds of its own work on the slowest rank.

    The clock runs for that long on all ranks; collective.
    """
    if r.flush is None:
        return 0.0
    with r.comm.standing():
        before = r.ledger.enter(Phase.UPDATE)
        r.comm.complete(r.flush())
        r.ledger.enter(before)
    worked = stopped.worked(r.ledger)
    with aside(r.comm, Phase.EVALUATE):
        if not any(_sums(r, (worked,))):
            return 0.0
        return max(_sums(r, tuple(worked if rank == r.rank else 0.0 for rank in range(r.comm.size))))


def evaluate_together(r: RecordedRank, stopped: Stopped | None = None, longest: float = 0.0) -> None:
    """Score a share of the validation part on every rank that has the center; all ranks record the same sums.

    Collective; all ranks must have stopped, at `stopped` if not now, and worked on the clock since: the slowest
    for `longest` seconds. If a method has a server that steps together with the workers, only the server has the
    center.
    """
    with aside(r.comm, Phase.EVALUATE):
        stopped = stopped or Stopped(r.ledger.since, r.ledger.seconds[Phase.EVALUATE])
        worked = stopped.worked(r.ledger)
        r.refresh()
        start, stop = _share(r, r.objective.validation_size)
        weights = evaluated(r)
        if not r.compared:
            compare(r, weights)
        trained = r.objective.training_sums()
        score = _added(r, _scored(r, weights, start, stop, "validation"))
        training = _sums(r, trained)
        clock = _clock(r, longest - worked)
        _note(r, score, training, Stop(clock, stopped.since, restart_clock(r, stopped.since, worked, longest)))


def _clock(r: RecordedRank, waits: float) -> float:
    """Return the train clock at which the evaluated weights exist; `waits`: seconds for ranks that work longer.

    Never before that of the evaluation before: a debt that was paid ends at its time, except for rounding.
    """
    dues = (owed.due for owed in r.comm.account.owed)
    return max([r.recorder.train_clock(r) + waits, r.recorder.latest_clock, *dues])


def evaluated(r: RecordedRank) -> Vector:
    """Return the weights to score: the method's vector, or the result of the method's function; collective."""
    return r.evaluated() if callable(r.evaluated) else r.evaluated


def final_weights(r: RecordedRank) -> tuple[Array, Array | None]:
    """Return a rank's weights and those that are scored, on a worker of a method with a server None; collective.

    Weights in float32 are not copied: nobody changes them any more, and they may be most of the memory.
    """
    scored = evaluated(r) if r.is_server or not r.algorithm.servers else None
    weights = single(r.params, copied=False)
    return weights, weights if scored is r.params else None if scored is None else single(scored)


def compare(r: RecordedRank, weights: Vector) -> None:
    """Raise AlgorithmError on all ranks if they are about to score different weights, after a step.

    Called at the first evaluation, and before the test part is scored, so that replicas that drift apart are found
    before the run has a result. Each rank scores a share of the items. If the weights differed, the sum would be
    the loss of no vector. Bits may differ between machines of different kinds, and if a library chooses the order
    of a sum: only a difference of more than REPLICA_TOLERANCE is an error.
    """
    if r.algorithm.servers or r.comm.size == 1 or r.samples == 0:
        return
    r.compared = True
    mine = host(weights)
    digest = float(zlib.crc32(mine))
    (total,) = r.comm.control.allreduce((digest,))
    (unequal,) = r.comm.control.allreduce((float(total != digest * r.comm.size),))
    if not unequal:
        return
    first = r.buffer(weights)
    mine = host(first.copy_(weights)).copy()
    r.comm.in_full().broadcast(first)
    theirs = host(first)
    most = REPLICA_TOLERANCE * max(1e-30, float(np.nan_to_num(np.abs(theirs)).max()))
    far = not np.allclose(mine, theirs, rtol=0, atol=most, equal_nan=True)
    (apart,) = r.comm.control.allreduce((float(far),))
    if apart:
        raise AlgorithmError(
            f"at {r.samples:,} samples {int(apart)} of {r.comm.size} ranks evaluate other weights than rank 0, "
            f"but each scores a share of the items: {r.spec.algorithm.name} must give `r.steps(evaluated=...)` a "
            "vector that is equal on all ranks, or a function that returns one, such as `r.mean`"
        )


def evaluate_alone(r: RecordedRank) -> None:
    """Score the whole validation part on the server, while every worker stands still."""
    with aside(r.comm, Phase.EVALUATE):
        stopped = r.ledger.since
        score = r.objective.evaluate(evaluated(r), 0, r.objective.validation_size)
        _note(r, score, (), Stop(r.recorder.train_clock(r), stopped, r.comm.clock() - stopped))


def score_test(r: RecordedRank) -> None:
    """Score the final center on the test part, once, when the run has met its target or its budget; collective.

    A run that ended early may continue from its checkpoint: its center is not the final one, and it is not scored.
    No decision depends on this score; it is in the `done` record of the deciding rank.
    """
    if r.schedule.reason not in ("target", "budget"):
        return
    stop_together(r)
    with aside(r.comm, Phase.EVALUATE):
        stopped = r.ledger.since
        start, stop = _share(r, r.objective.test_size)
        weights = evaluated(r)
        compare(r, weights)
        score = _added(r, _scored(r, weights, start, stop, "test"))
        loss, accuracy = score.loss_sum / score.count, score.correct / score.count
        r.recorder.test_further = _further(r, score)
        r.recorder.test = loss, accuracy, r.comm.clock() - stopped


def _share(r: RecordedRank, size: int) -> tuple[int, int]:
    """Return the range (start, stop) of `size` items that this rank scores; a server, if any, scores all."""
    if r.algorithm.servers:
        return (0, size) if r.is_server else (0, 0)
    return size * r.rank // r.comm.size, size * (r.rank + 1) // r.comm.size


def _scored(r: RecordedRank, weights: Vector, start: int, stop: int, part: Part) -> Score:
    """Return the score of this rank's share; in a virtual world ranks may score theirs at the same time."""
    if getattr(r.objective, "scores_apart", False):
        return r.comm.alongside(lambda: r.objective.evaluate(weights, start, stop, part))
    return r.objective.evaluate(weights, start, stop, part)


def _added(r: RecordedRank, part: Score) -> Score:
    """Return the sum of the scores of all ranks."""
    sums = r.comm.control.allreduce((part.loss_sum, float(part.correct), float(part.count)))
    return Score(sums[0], int(sums[1]), int(sums[2]), _sums(r, part.further))


def _sums(r: RecordedRank, words: tuple[float, ...]) -> tuple[float, ...]:
    """Return the sums of any number of words of all ranks."""
    parts = (words[first : first + MOST_WORDS] for first in range(0, len(words), MOST_WORDS))
    return tuple(word for part in parts for word in r.comm.control.allreduce(part))


def _further(r: RecordedRank, score: Score, training: tuple[float, ...] = ()) -> dict[str, float]:
    declared = r.objective.further_metrics
    if not declared:
        return {}
    return reported(r.objective.further(score, training), declared, simulated=r.spec.world == "virtual")


def _note(r: RecordedRank, score: Score, training: tuple[float, ...], stop: Stop) -> None:
    loss, accuracy = score.loss_sum / score.count, score.correct / score.count
    reached = r.schedule.note_evaluation(r.samples, loss, accuracy)
    r.recorder.note_evaluation(r, loss, accuracy, stop, reached, _further(r, score, training))
