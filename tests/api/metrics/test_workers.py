"""What each worker of a run did, by hand and over HTTP."""

import csv
import io

import numpy as np
import pytest
from hooke.spec.events import RankRecords
from hooke_api.metrics.workers import updates_of

from tests.api.conftest import done, start, steps


def rows(**columns):
    return {name: np.array(values, dtype=float) for name, values in columns.items()}


def test_an_update_has_the_steps_since_the_one_before():
    own = rows(wall=[1, 2, 3, 4, 5, 6])
    served = rows(wall=[0, 2.5, 2.6, 3.5, 9], worker=[0, 0, 1, 0, 0], staleness=[np.nan, 0, 3, 1, 2])
    found = updates_of(0, own, served)
    assert found.wall.tolist() == [2.5, 3.5, 9]
    assert found.steps.tolist() == [2, 1, 3]
    assert found.staleness.tolist() == [0, 1, 2]
    assert updates_of(1, rows(wall=[2.5]), served).steps.tolist() == [1]


@pytest.fixture
def served(service):
    """A run of two workers and a server: worker 0 does 4 steps in two updates, worker 1 two in one."""
    variants = [{"name": "sync", "algorithm": "async-sgd"}]
    supervisor = service.launch(variants=variants)
    supervisor.report("starting", "running")

    def ship(rank, *records):
        supervisor.send(RankRecords(rank=rank, records=list(records)))

    phases = {"data": 0, "compute": 6.0, "communicate": 2.0, "update": 1.0, "evaluate": 2.0, "idle": 1.0}
    ship(0, start(), steps(1, 4), done(2, step=4, wall=12.0, phases=phases))
    ship(1, start(), steps(1, 2), done(2, step=2, wall=12.0, phases=phases | {"compute": 2.0, "idle": 5.0}))
    exchanges = {"worker": [0, 1, 0], "staleness": [0, 1, 3], "wall": [0.015, 0.025, 0.045]}
    ship(2, start(role="server"), steps(1, 3, **{k: np.array(v) for k, v in exchanges.items()}))
    return supervisor.id


def test_the_work_of_each_worker(service, served):
    found = service.client.get(f"/runs/{served}/workers").json()["workers"]
    assert [each["worker"] for each in found] == [0, 1]
    assert [each["steps"] for each in found] == [4, 2]
    assert [each["share_of_steps"] for each in found] == pytest.approx([2 / 3, 1 / 3])
    assert [each["computing"] for each in found] == pytest.approx([0.6, 0.2])
    assert [each["speed"] for each in found] == pytest.approx([4 / 6.0, 1])
    assert [each["updates"] for each in found] == [2, 1]
    assert [each["share_of_updates"] for each in found] == pytest.approx([2 / 3, 1 / 3])
    assert [each["staleness"] for each in found] == [1.5, 1]
    assert found[0]["sizes"] == [1, 3]
    assert found[0]["x"] == pytest.approx([0.015, 0.045])


def test_workers_without_rows_count_among_the_updates(service):
    """Of many workers only the first and the last write rows; shares are of all updates."""
    supervisor = service.launch(
        variants=[{"name": "sync", "algorithm": "async-sgd"}],
        clusters=[{"name": "local", "workers": [3], "seeds": 1}],
    )
    supervisor.report("starting", "running")
    for worker in range(3):
        rows_of = [steps(1, 4, workers=3)] if worker != 1 else []
        told = [start(), *rows_of, done(1 + len(rows_of), step=4, wall=12.0)]
        supervisor.send(RankRecords(rank=worker, records=told))
    exchanges = {"worker": [0, 1, 2, 0, 1, 1, 2], "staleness": [0] * 7, "wall": [0, 0, 0, 0.02, 0.02, 0.03, 0.04]}
    told = steps(1, 7, workers=3, **{k: np.array(v) for k, v in exchanges.items()})
    supervisor.send(RankRecords(rank=3, records=[start(role="server"), told]))
    found = service.client.get(f"/runs/{supervisor.id}/workers").json()["workers"]
    assert [each["updates"] for each in found] == [1, None, 1]
    assert [each["share_of_updates"] for each in found] == [pytest.approx(1 / 4), None, pytest.approx(1 / 4)]


def test_every_update_as_a_table(service, served):
    answer = service.client.get(f"/runs/{served}/workers.csv")
    assert answer.headers["content-type"].startswith("text/csv")
    found = list(csv.DictReader(io.StringIO(answer.text)))
    assert [(row["worker"], row["steps"]) for row in found] == [("0", "1"), ("0", "3"), ("1", "2")]
    assert [float(row["staleness"]) for row in found] == [0, 3, 1]


def test_without_a_server_there_are_no_updates(service):
    supervisor = service.launch()
    supervisor.report("starting", "running")
    supervisor.send(RankRecords(rank=0, records=[start(), steps(1, 4)]))
    (worker,) = service.client.get(f"/runs/{supervisor.id}/workers").json()["workers"]
    assert (worker["updates"], worker["sizes"], worker["steps"]) == (None, [], 4)
    assert worker["computing"] == pytest.approx(0.6)
    assert service.client.get("/runs/run_none/workers").status_code == 404
    assert service.client.get("/runs/run_none/workers.csv").status_code == 404
