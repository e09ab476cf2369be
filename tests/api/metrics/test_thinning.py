"""Series of ended runs at limited resolutions: the same answers as from all points, and without reading them."""

import math

import numpy as np
import pytest
from hooke.spec.events import RankRecords
from hooke.spec.further import FurtherMetric
from hooke_api.metrics import pieces, thinning
from hooke_api.metrics.curves import CurveStore
from hooke_api.metrics.thinner import Thinner
from hooke_api.models import Chunk, RankTotals, StoredEvaluation, ThinnedSeries
from sqlalchemy import select, update

from tests.api.conftest import scored, start, steps
from tests.api.databases import ONE_KIND
from tests.api.metrics.delivered import AXES, Delivered, add_experiment, add_to, count_record, series, true_series
from tests.waiting import wait_for

N = 200
METRICS = (
    *("train_loss", "communication_fraction", "throughput", "staleness"),
    *("validation_accuracy", "validation_loss", "test_loss", "p_at_3", "nobody_has_it"),
)
P3 = FurtherMetric(name="p_at_3", title="P@3")


@pytest.fixture(autouse=True)
def small_levels(monkeypatch):
    monkeypatch.setattr(thinning, "LEVELS", (32, 64))
    monkeypatch.setattr(thinning, "LEAST_STEPS", 64)


@pytest.fixture
def thinner(service):
    made = Thinner(service.database)
    yield made
    made.close()


def reported(service, n: int = N):
    """Return a supervisor whose ranks have reported noisy steps, among them a NaN, and evaluations."""
    source, supervisor = np.random.default_rng(n), service.launch()
    supervisor.report("starting", "running")
    loss = source.normal(size=n)
    loss[n // 3] = math.nan
    zeros = [start(further_metrics=[P3]), steps(1, n, loss=loss, clock=np.maximum(0, np.arange(n) - 3) * 0.01)]
    at = range(64, 64 * n + 1, 640)
    zeros += [
        scored(2 + i, s, source.random(), further={"p_at_3": i * 0.1} if i % 3 else {}) for i, s in enumerate(at)
    ]
    supervisor.send(RankRecords(rank=0, records=zeros))
    stale = steps(1, n, loss=source.normal(size=n), staleness=source.integers(0, 9, n).astype(float))
    supervisor.send(RankRecords(rank=1, records=[start(), stale]))
    return supervisor


def asked(service, run: str, points: int, axis: str) -> dict:
    body = {"runs": [run], "metrics": METRICS, "axis": axis, "points": points}
    answer = service.client.post("/series", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def forget(service) -> None:
    """Leave nothing in the memory of the API."""
    service.app.state.curves = CurveStore(service.app.state.caches)


def spoil(service, run: str) -> None:
    """Make the steps of a run unreadable: an answer that has points of them did not read them."""
    with service.database.write() as session:
        session.execute(update(Chunk).where(Chunk.run_id == run).values(data=b""))
    forget(service)


def levels(service) -> set:
    stored = select(ThinnedSeries.run_id, ThinnedSeries.most)
    with service.database.read() as session:
        return {tuple(row) for row in session.execute(stored.where(ThinnedSeries.most > 0))}


@ONE_KIND
def test_answers_are_the_same_and_read_no_steps(service, thinner):
    supervisor = reported(service)
    supervisor.report("starting", "running", "succeeded")
    asks = list(zip((16, 20, 32, 50, 64), AXES, strict=True))
    experiment = service.run(supervisor.id)["experiment_id"]
    bands = {"metric": ["validation_accuracy", "validation_loss"], "axis": "bytes"}
    before = [asked(service, supervisor.id, *ask) for ask in asks]
    band = service.get(f"/experiments/{experiment}/bands", **bands)["bands"]
    assert [line["of"] for line in before[0]["series"]] == [N, N, N, N, 20, 20, 0, 13, 0]
    assert len(band[0]["x"]) > 10
    forget(service)
    thinner.look()
    assert levels(service) == {(supervisor.id, 32), (supervisor.id, 64)}
    forget(service)
    whole = asked(service, supervisor.id, 300, "clock")
    assert whole["series"][0]["n"] == N, "more than any level has"
    spoil(service, supervisor.id)
    assert [asked(service, supervisor.id, *ask) for ask in asks] == before
    assert service.get(f"/experiments/{experiment}/bands", **bands)["bands"] == band


@ONE_KIND
def test_bytes_are_read_whole_as_no_level_has_them(service, thinner):
    supervisor = reported(service)
    supervisor.report("starting", "running", "succeeded")
    body = {"runs": [supervisor.id], "metrics": ["bytes_sent", "train_loss"], "axis": "samples", "points": 32}
    before = service.client.post("/series", json=body).json()
    assert before["series"][0]["of"] == N
    thinner.look()
    forget(service)
    assert service.client.post("/series", json=body).json() == before


def test_a_level_of_other_data_is_ignored_and_replaced(service, thinner):
    supervisor = reported(service)
    supervisor.report("starting", "running", "succeeded")
    thinner.look()
    later = {"rank": 1, "seq": 999, "step": N, "samples": 64 * N + 1, "clock": 9.0, "wall": 9.0}
    with service.database.write() as session:
        session.add(StoredEvaluation(
            run_id=supervisor.id, attempt=1, **later, loss=0.5, accuracy=0.5, seconds=0.0, reached=False
        ))  # fmt: skip
        count_record(session, supervisor.id)
        add_to(session, supervisor.id, evaluations=1)
    forget(service)
    found = {line["metric"]: line["of"] for line in asked(service, supervisor.id, 32, "clock")["series"]}
    assert found["validation_loss"] == 21
    assert thinning.store(service.database, supervisor.id)
    assert not thinning.store(service.database, supervisor.id), "it is up to date"
    spoil(service, supervisor.id)
    found = {line["metric"]: line["of"] for line in asked(service, supervisor.id, 32, "clock")["series"]}
    assert (found["validation_loss"], found["train_loss"]) == (21, N)


def test_only_ended_and_long_runs_get_levels_and_each_once(service, thinner):
    reported(service, 60).report("starting", "running", "succeeded")
    long = reported(service)
    thinner.look()
    assert levels(service) == set(), "one is short, the other in progress"
    long.report("starting", "running", "failed_user")
    thinner.look()
    assert levels(service) == {(long.id, 32), (long.id, 64)}
    with service.database.write() as session:
        session.execute(update(ThinnedSeries).values(n=1))
    thinner.look()
    with service.database.read() as session:
        assert set(session.scalars(select(ThinnedSeries.n))) == {1}, "computed again without a reason"


@ONE_KIND
def test_runs_from_before_are_found_and_a_spoilt_one_keeps_no_other_from_its_levels(service, thinner):
    first = reported(service)
    first.report("starting", "running", "succeeded")
    second = reported(service, 150)
    second.report("starting", "running", "succeeded")
    spoil(service, second.id)
    thinner.look()
    assert levels(service) == {(first.id, 32), (first.id, 64)}
    assert thinner.fault() is None


@ONE_KIND
def test_evaluations_need_no_steps(database):
    run, store = Delivered(database, add_experiment(database), "sync-sgd", 2), CurveStore()
    for rank in (0, 1):
        run.write(rank, 100, seed=1)
        run.deliver(rank, 100)
    run.score(64, 0.5)
    metrics = ("validation_accuracy", "p_at_3")
    expected = [true_series(database, run.id, axis, 32, metrics) for axis in AXES[:4]]
    with database.write() as session:
        session.execute(update(Chunk).values(data=b""))
    assert [series(database, store, run.id, axis, 32, metrics) for axis in AXES[:4]] == expected
    run.score(128, 0.4)
    assert series(database, store, run.id, "samples", 32, metrics)[0][2] == [64.0, 128.0]


@ONE_KIND
def test_a_long_look_at_one_run_gives_signs_of_life(database, monkeypatch):
    run, overdue, real = Delivered(database, add_experiment(database), "sync-sgd", 1), [], pieces._stored
    run.write(0, 120, seed=1)
    for _ in range(60):
        run.deliver(0, 2)
    run.end()
    with database.write() as session:
        session.execute(update(RankTotals).where(RankTotals.run_id == run.id).values(steps=120))
    thinner = Thinner(database)

    def slowly(*given):
        overdue.append(thinner.overdue())
        thinner._sign_at -= 1000  # so long each part takes
        return real(*given)

    monkeypatch.setattr(pieces, "_stored", slowly)
    thinner.start()
    wait_for(lambda: len(overdue) > 1, "the second part of the run")
    thinner.stop()
    assert max(overdue) < 500
