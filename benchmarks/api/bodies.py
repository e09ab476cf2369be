"""Ingest requests of supervisors: gzip of what `hooke.cluster.delivery` sends, with plausible numbers."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterator
from typing import Any

import numpy as np
from hooke.spec.events import (
    STEP_COLUMNS,
    Done,
    Evaluation,
    Ingest,
    RankRecords,
    Start,
    StateReport,
    Steps,
)
from hooke.spec.further import FurtherMetric
from hooke.spec.journal import BLOCK_STEPS
from hooke.trace.phases import PHASES

from benchmarks.api.attempts import Attempt

BATCH = 32
STEP_SECONDS = 1e-3
COORDINATES = ("step", "samples", "clock", "wall")
ABSENT = ("rebuild", "staleness", "worker", "joined")
"""Columns that a synchronous method without a server does not write."""
VALUES = len(STEP_COLUMNS) - len(COORDINATES) - len(ABSENT)
"""Values of a step that are no coordinate: loss, six phases, hidden, payload, wire, messages."""
REQUEST_STEPS = 4096
"""Steps of each of two ranks in a request of a supervisor that catches up: just below its limit of 1 MiB."""
FURTHER = tuple(f"metric_{i:02d}" for i in range(18))
"""Further metrics of an evaluation: with loss and accuracy 20."""
REPORTS = ("starting", "running")


def steps(seq: int, first: int, n: int, ranks: int, seed: int) -> Steps:
    """Return a block of `n` steps, of which the first has the number `first` (from 1)."""
    source = np.random.default_rng((seed, first))
    count = np.arange(first, first + n)
    values: dict[str, Any] = {name: source.random(n) * STEP_SECONDS for name in STEP_COLUMNS}
    values |= {"step": count, "samples": count * ranks * BATCH}
    values |= {"clock": count * STEP_SECONDS, "wall": count * 1.1 * STEP_SECONDS}
    values |= {"loss": 2 / np.sqrt(count) + 0.1 * source.random(n)}
    values |= {"evaluate": np.zeros(n), "payload": np.full(n, 431_080 * 4), "wire": np.full(n, 431_080 * 4)}
    values |= {"messages": np.full(n, 2)}
    return Steps(
        seq=seq, n=n, columns={name: _packed(name, values[name]) for name in values if name not in ABSENT}
    )


def _packed(name: str, values: np.ndarray) -> str:
    return base64.b64encode(values.astype(STEP_COLUMNS[name]).tobytes()).decode("ascii")


def evaluation(seq: int, step: int, ranks: int, further: tuple[str, ...] = ()) -> Evaluation:
    """Return the evaluation after a step."""
    clock = step * STEP_SECONDS
    return Evaluation(
        seq=seq,
        step=step,
        samples=step * ranks * BATCH,
        clock=clock,
        wall=1.1 * clock,
        loss=2 / (1 + clock),
        accuracy=1 - 1 / (1 + clock),
        seconds=0.01,
        reached=False,
        further={name: (i + 1) / (step + 1.7) for i, name in enumerate(further)},
    )


def start(ranks: int, further: tuple[str, ...] = ()) -> Start:
    """Return the first record of a rank."""
    declared = [FurtherMetric(name=name, title=name) for name in further]
    return Start(
        seq=0,
        role="worker",
        host="host",
        pid=1,
        unix=0,
        monotonic=0,
        world="mpi",
        ranks=ranks,
        oversubscribed=False,
        evaluated_part="validation",
        further_metrics=declared,
    )


def done(seq: int, step: int, ranks: int) -> Done:
    """Return the last record of a rank."""
    return Done(
        seq=seq,
        reason="budget",
        step=step,
        samples=step * ranks * BATCH,
        clock=step * STEP_SECONDS,
        wall=1.1 * step * STEP_SECONDS,
        phases={phase.value: step * STEP_SECONDS / 10 for phase in PHASES},
        hidden=0.0,
        payload=step,
        wire=step,
        messages=step,
    )


def body(attempt: Attempt, records: dict[int, list[Any]], ended: str | None = None) -> bytes:
    """Return a request with records of some ranks; `ended`: the state that is reported last."""
    ranks = [RankRecords(rank=rank, records=found) for rank, found in records.items()]
    request = Ingest(run=attempt.run, attempt=attempt.number, ranks=ranks, reports=reports(ended))
    return gzip.compress(request.model_dump_json().encode(), compresslevel=1)


def reports(ended: str | None = None) -> list[StateReport]:
    """Return what supervisors repeat with every request: the states of their run."""
    return [StateReport(state=state, unix=0, why="benchmark") for state in (*REPORTS, *filter(None, [ended]))]


def first(attempt: Attempt, further: tuple[str, ...] = ()) -> bytes:
    """Return the first request of an attempt: every rank has started."""
    return body(attempt, {rank: [start(attempt.ranks, further)] for rank in range(attempt.ranks)})


def blocks(seq: int, begin: int, n: int, ranks: int, seed: int) -> list[Steps]:
    """Return blocks as ranks write them, of `n` steps in all from the number `begin` on."""
    return [
        steps(seq + i, begin + at, min(BLOCK_STEPS, n - at), ranks, seed)
        for i, at in enumerate(range(0, n, BLOCK_STEPS))
    ]


def whole(attempt: Attempt, count: int, evaluations: int = 0, further: tuple[str, ...] = ()) -> Iterator[bytes]:
    """Yield the requests of a whole run of `count` steps, with evaluations by rank 0 at equal distances."""
    yield first(attempt, further)
    seqs = dict.fromkeys(range(attempt.ranks), 1)
    every = count / evaluations if evaluations else 0.0
    scored = 0
    for begin in range(0, count, REQUEST_STEPS):
        n = min(REQUEST_STEPS, count - begin)
        records: dict[int, list[Any]] = {}
        for rank in range(attempt.ranks):
            records[rank] = blocks(seqs[rank], begin + 1, n, attempt.ranks, rank)
            seqs[rank] += len(records[rank])
        while evaluations and scored < evaluations and (scored + 1) * every <= begin + n:
            scored += 1
            records[0].append(evaluation(seqs[0], round(scored * every), attempt.ranks, further))
            seqs[0] += 1
        yield body(attempt, records)
    last = {rank: [done(seq, count, attempt.ranks)] for rank, seq in seqs.items()}
    yield body(attempt, last, "succeeded")
