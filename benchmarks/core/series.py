"""Server time of curves: `python -m benchmarks.core.series`.

Real chunks in a migrated SQLite file; the time is that of the whole response, from the query to the JSON. Cold:
the runs are not in the cache, and every chunk is read from the database (the system may have cached the file).
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from hooke.spec.events import STEP_COLUMNS
from hooke.spec.states import RunState
from hooke_api.base.ids import experiment_id, run_id
from hooke_api.metrics.curves import CurveStore
from hooke_api.metrics.schemas import SeriesQuery
from hooke_api.metrics.service import answer_bands, answer_series
from hooke_api.models import Chunk, Experiment, RankTotals, Run, now
from hooke_api.storage import blocks
from hooke_api.storage.database import Database
from hooke_api.storage.steps import recount

MIGRATIONS = Path(__file__).resolve().parents[2] / "migrations"
WORKERS, BATCH, STEPS_PER_CHUNK = 2, 32, 2048
METRICS = [
    "train_loss",
    "communication_fraction",
    "throughput",
    "validation_accuracy",
    "validation_loss",
    "staleness",
]

Result = tuple[str, float, str, float | None]
"""Name, value, unit, limit."""


def add_experiment(database: Database, runs: int, steps: int) -> tuple[str, list[str]]:
    """Store ended runs of two workers in lockstep; return the ids of the experiment and of its runs."""
    experiment, ids = experiment_id(), [run_id() for _ in range(runs)]
    who = {"created_by": "benchmark", "created_at": now(), "fingerprint": ""}
    with database.write() as session:
        labels = {"name": "n", "description": "", "workload": "w", "variants": [], "clusters": [], "baseline": "v"}
        number = int(time.monotonic_ns() % 10**9)
        session.add(Experiment(id=experiment, number=number, spec={}, **labels, **who))
        session.flush()
        for number, name in enumerate(ids):
            place = {"variant": "v", "algorithm": "sync-sgd", "cluster": "local", "host": "local"}
            size = {"workers": WORKERS, "servers": 0, "seed": number, "budget": 1, "simulated": False}
            end = {
                "state": RunState.SUCCEEDED,
                "spec": {"batch": BATCH},
                "number": number,
                "experiment_id": experiment,
            }
            session.add(Run(id=name, **place, **size, **end, **who))
            session.flush()
            for rank in range(WORKERS):
                session.add(RankTotals(run_id=name, attempt=1, rank=rank, host="node"))
                session.add_all(_chunks(name, rank, steps))
            session.flush()
            session.expunge_all()
        recount(session, experiment)
    return experiment, ids


def _chunks(run: str, rank: int, steps: int) -> Iterator[Chunk]:
    source = np.random.default_rng(rank)
    count = np.arange(1, steps + 1)
    names = [name for name in STEP_COLUMNS if name not in ("rebuild", "staleness", "joined")]
    values = {name: source.random(steps) * 1e-3 for name in names}
    values |= {"step": count, "samples": count * WORKERS * BATCH, "clock": count * 8e-3, "wall": count * 9e-3}
    values |= {"loss": 2 / np.sqrt(count) + source.random(steps), "wire": np.full(steps, 431_080 * 4)}
    columns = {name: value.astype(STEP_COLUMNS[name]) for name, value in values.items()}
    for seq, first in enumerate(range(0, steps, STEPS_PER_CHUNK)):
        part = {name: value[first : first + STEPS_PER_CHUNK] for name, value in columns.items()}
        header, data = blocks.pack(part)
        yield Chunk(run_id=run, attempt=1, rank=rank, seq=seq, n=len(part["step"]), header=header, data=data)


def milliseconds(work: Callable[[], object], times: int) -> float:
    """Return the median time of some work."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return 1e3 * float(np.median(taken))


def measure() -> Iterator[Result]:
    """Yield the values that have a budget."""
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{folder}/bench.db")
        database.migrate(MIGRATIONS)
        _, [long] = add_experiment(database, runs=1, steps=1_000_000)
        one = SeriesQuery(runs=[long], metrics=["train_loss"], points=1000)
        store = CurveStore()
        yield (
            "1 series of 1,000,000 points, cold",
            milliseconds(lambda: _answer(database, CurveStore(), one), 3),
            "ms",
            None,
        )
        _answer(database, store, one)
        yield "1 series of 1,000,000 points", milliseconds(lambda: _answer(database, store, one), 9), "ms", 50.0

        experiment, runs = add_experiment(database, runs=100, steps=10_000)
        many = SeriesQuery(runs=runs, metrics=METRICS, points=500)
        name = f"100 runs x 10,000 points x {len(METRICS)} metrics"
        yield f"{name}, cold", milliseconds(lambda: _answer(database, CurveStore(), many), 2), "ms", 2000.0
        store = CurveStore()
        _answer(database, store, many)
        yield name, milliseconds(lambda: _answer(database, store, many), 3), "ms", 2000.0

        def bands() -> object:
            with database.read() as session:
                return answer_bands(session, store, experiment, ["train_loss"], "clock", 400).model_dump_json()

        yield "band over 100 seeds x 10,000 points", milliseconds(bands, 3), "ms", None
        database.close()


def _answer(database: Database, store: CurveStore, query: SeriesQuery) -> str:
    with database.read() as session:
        return answer_series(session, store, query).model_dump_json()


def main() -> None:
    """Print every value with its budget."""
    for name, value, unit, most in measure():
        print(f"{name:<60} {value:10.1f} {unit}" + (f"   (budget {most:g})" if most else ""), flush=True)


if __name__ == "__main__":
    main()
