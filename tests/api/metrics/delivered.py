"""Runs in a database whose ranks deliver steps bit by bit, and what is to be answered about them.

The truth is computed of all steps at once: no part of `hooke_api.metrics.growing` or of a cache is in it.
"""

import math
from dataclasses import dataclass, field
from itertools import count

import numpy as np
import pytest
from hooke.spec.events import STEP_COLUMNS
from hooke.spec.states import RunState
from hooke_api.metrics import brackets, growth, service, thinning
from hooke_api.metrics.axes import curve
from hooke_api.metrics.loading import load, read_facts, read_keys
from hooke_api.metrics.m4 import m4
from hooke_api.metrics.schemas import SeriesQuery
from hooke_api.models import (
    Attempt,
    Chunk,
    DroppedWorker,
    Experiment,
    RankTotals,
    Run,
    StoredEvaluation,
    now,
)
from hooke_api.storage import blocks
from hooke_api.storage.database import Database
from sqlalchemy import update
from sqlalchemy.orm import Session

AXES = ("clock", "wall", "samples", "step", "bytes")
OF_STEPS = ("train_loss", "communication_fraction", "throughput", "staleness", "bytes_sent")
METRICS = (*OF_STEPS, "validation_accuracy", "validation_loss", "p_at_3")
BATCH = 8
WHO = {"created_by": "test", "fingerprint": ""}
_numbers = count(1)


def let_few_steps_be_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower every limit from which on a run is long."""
    monkeypatch.setattr(thinning, "LEVELS", (32, 64))
    monkeypatch.setattr(thinning, "LEAST_STEPS", 64)
    monkeypatch.setattr(growth, "FOLD_STEPS", 100)
    monkeypatch.setattr(growth, "LEAST_ROWS", 3)
    monkeypatch.setattr(growth, "WHOLE_ROWS", 20)
    for module in (brackets, service):
        monkeypatch.setattr(module, "CELLS", 64)


def add_experiment(database: Database) -> str:
    number = next(_numbers)
    labels = {"name": "n", "description": "", "workload": "w", "variants": [], "clusters": [], "baseline": "v"}
    with database.write() as session:
        session.add(Experiment(id=f"exp_{number}", number=number, spec={}, created_at=now(), **labels, **WHO))
    return f"exp_{number}"


def count_record(session: Session, run: str) -> None:
    """Let one more record of the first rank of a run be stored."""
    first = (RankTotals.run_id == run, RankTotals.rank == 0)
    session.execute(update(RankTotals).where(*first).values(stored=RankTotals.stored + 1))


def add_to(session: Session, run: str, **numbers: int) -> None:
    """Let a run have so many more `chunks` or `evaluations`, whose rows were inserted here and not by ingest."""
    more = {name: getattr(Run, name) + n for name, n in numbers.items()}
    session.execute(update(Run).where(Run.id == run).values(more))


@dataclass
class Delivered:
    """A run, what its ranks have written, and how much of it was delivered."""

    database: Database
    experiment: str
    algorithm: str
    workers: int
    servers: int = 0
    written: dict[int, dict[str, np.ndarray]] = field(default_factory=dict)
    sent: dict[int, int] = field(default_factory=dict)
    """Rank -> number of these steps that were delivered."""
    attempt: int = 1

    def __post_init__(self) -> None:
        number = next(_numbers)
        self.id = f"run_{number}"
        place = {"variant": "v", "algorithm": self.algorithm, "cluster": "local", "host": "local"}
        size = {"workers": self.workers, "servers": self.servers, "seed": number, "budget": 1}
        with self.database.write() as session:
            session.add(
                Run(
                    id=self.id, experiment_id=self.experiment, number=number, state=RunState.RUNNING,
                    simulated=False, spec={"batch": BATCH}, created_at=now(), **place, **size, **WHO,
                )
            )  # fmt: skip
            session.flush()
            session.add(Attempt(run_id=self.id, number=1, created_at=now()))
        self.begin(range(self.workers + self.servers))

    def begin(self, ranks) -> None:
        """Let ranks of the present attempt have started."""
        with self.database.write() as session:
            session.add_all(
                RankTotals(run_id=self.id, attempt=self.attempt, rank=rank, host="node") for rank in ranks
            )

    def again(self, restored: int | None) -> None:
        """Begin another attempt, without its ranks."""
        self.attempt += 1
        self.sent, self.written = {}, {}
        with self.database.write() as session:
            session.get_one(Run, self.id).attempt = self.attempt
            made = {"run_id": self.id, "number": self.attempt, "created_at": now()}
            session.add(Attempt(**made, restored_step=restored))

    def write(self, rank: int, n: int, seed: int, first: int = 1, wall: float = 0.0, **columns) -> None:
        """Let a rank have written so many noisy steps behind a time; some of them end at the same moment."""
        source = np.random.default_rng((seed, rank))
        step = np.arange(first, first + n)
        walls = wall + np.cumsum(np.round(source.exponential(0.02, n), 2))
        loss = source.normal(size=n)
        loss[source.random(n) < 0.02] = math.nan
        stale = np.where(source.random(n) < 0.5, source.random(n) * 9, math.nan)
        made = {
            "step": step, "samples": step * self.workers * BATCH, "clock": walls * 0.9, "wall": walls,
            "loss": loss, "communicate": source.random(n) * 1e-3, "wire": source.integers(0, 10**6, n),
            "staleness": stale,
        } | columns  # fmt: skip
        made |= {
            name: source.random(n) * 1e-3 for name in ("data", "compute", "update", "evaluate", "idle", "hidden")
        }
        names = [name for name in STEP_COLUMNS if name in made]
        self.written[rank] = {name: np.asarray(made[name]).astype(STEP_COLUMNS[name]) for name in names}

    def deliver(self, rank: int, n: int) -> int:
        """Store the next steps of a rank, at most `n`; return how many there were."""
        begin = self.sent.get(rank, 0)
        part = {name: column[begin : begin + n] for name, column in self.written.get(rank, {}).items()}
        stored = len(part["step"]) if part else 0
        if stored:
            header, data = blocks.pack(part)
            place = {"run_id": self.id, "attempt": self.attempt, "rank": rank, "seq": begin + 1}
            with self.database.write() as session:
                session.add(Chunk(**place, n=stored, header=header, data=data))
                add_to(session, self.id, chunks=1)
            self.sent[rank] = begin + stored
        return stored

    def score(self, samples: int, value: float) -> None:
        place = {"run_id": self.id, "attempt": self.attempt, "rank": 0, "seq": 10**6 + next(_numbers)}
        found = {"step": 1, "samples": samples, "clock": samples * 1e-3, "wall": samples * 2e-3, "loss": value}
        further = {"p_at_3": value / 3} if samples % 3 else None
        with self.database.write() as session:
            session.add(
                StoredEvaluation(**place, **found, accuracy=1 - value, seconds=0.0, reached=False, further=further)
            )
            count_record(session, self.id)
            add_to(session, self.id, evaluations=1)

    def drop(self, worker: int, step: int) -> None:
        place = {"run_id": self.id, "attempt": self.attempt, "rank": 0, "seq": 10**6 + next(_numbers)}
        with self.database.write() as session:
            session.add(DroppedWorker(**place, worker=worker, step=step, why="NaN", at=now()))

    def end(self, state: RunState = RunState.SUCCEEDED) -> None:
        with self.database.write() as session:
            session.get_one(Run, self.id).state = state


def series(database: Database, store, run: str, axis: str, points: int, metrics=METRICS) -> list[tuple]:
    """Return the series of a run as the API answers them."""
    query = SeriesQuery(runs=[run], metrics=list(metrics), axis=axis, points=points)
    with database.read() as session:
        found = service.answer_series(session, store, query).series
    return [(each.metric, each.of, each.x, each.y) for each in found]


def true_series(database: Database, run: str, axis: str, points: int, metrics=METRICS) -> list[tuple]:
    """Return the same from all steps."""
    with database.read() as session:
        [facts] = read_facts(session, Run.id == run)
        whole = dict(load(session, [facts]))[run]
    found = []
    for metric in metrics:
        x, y = curve(facts, whole, metric, axis)
        kept = m4(y, points)
        values = [value if math.isfinite(value) else None for value in y[kept].tolist()]
        found.append((metric, len(y), x[kept].tolist(), values))
    return found


COLUMNS_OF_BANDS = ("metric", "x", "mean", "low", "high", "n", "runs", "evaluations")


def bands(database: Database, store, experiment: str, axis: str, points: int, metrics=METRICS) -> list[list]:
    """Return the bands of an experiment as the API answers them."""
    with database.read() as session:
        found = service.answer_bands(session, store, experiment, metrics, axis, points).bands
    return [[getattr(band, name) for name in COLUMNS_OF_BANDS] for band in found]


def true_bands(database: Database, experiment: str, axis: str, points: int, metrics=METRICS) -> list[list]:
    """Return the same from all steps; all runs are of one group."""
    with database.read() as session:
        runs = read_facts(session, Run.experiment_id == experiment)
        found = service._Found(read_keys(session, runs), dict(load(session, runs)), {}, {}, {})
    made = [service._band(runs, found, metric, axis, points) for metric in metrics]
    return [[getattr(band, name) for name in COLUMNS_OF_BANDS] for band in made]
