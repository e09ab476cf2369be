"""Phases over time: by hand from steps of known seconds, and over HTTP."""

import numpy as np
import pytest
from hooke.spec.events import RankRecords
from hooke_api.metrics import phases
from hooke_api.metrics.phases import MEASURED, seconds_of

from tests.api.conftest import Supervisor, start, steps
from tests.api.databases import ONE_KIND

NOTHING = dict.fromkeys(MEASURED, (0.0, 0.0))


def rank(wall, **told):
    return {name: np.array(values, np.float32) for name, values in (NOTHING | told | {"wall": wall}).items()}


def test_a_step_counts_where_its_time_lies():
    """Two steps of 2 s: 1.5 s of compute, with 1 s hidden behind it; then, 1 s later, 2 s of waiting."""
    one = rank((2.0, 5.0), compute=(1.5, 0), update=(0.5, 0), hidden=(1.0, 0), communicate=(0, 2.0))
    found = dict(zip(MEASURED, seconds_of(one, np.arange(7.0)).tolist(), strict=True))
    assert found["compute"] == pytest.approx([0.75, 0.75, 0, 0, 0, 0])
    assert found["update"] == pytest.approx([0.25, 0.25, 0, 0, 0, 0])
    assert found["hidden"] == pytest.approx([0.5, 0.5, 0, 0, 0, 0])
    assert found["communicate"] == pytest.approx([0, 0, 0, 1, 1, 0])


def test_nothing_of_a_step_is_lost_or_counted_twice():
    source = np.random.default_rng(3)
    told = {name: source.random(500) for name in MEASURED}
    wall = np.cumsum(sum(told[name] for name in MEASURED[:-1]))
    found = seconds_of(rank(wall, **told), np.linspace(0, wall[-1], 38))
    assert found.sum(axis=1) == pytest.approx([told[name].sum() for name in MEASURED], rel=1e-4)
    assert found[:-1].sum(axis=0) == pytest.approx(np.full(37, wall[-1] / 37), rel=1e-3)


def ship(supervisor, number, *records):
    supervisor.send(RankRecords(rank=number, records=list(records)))


@pytest.fixture
def made(service):
    """Two seeds of two workers: the first waits half of its time, the second, half as long, never."""
    found = service.submit(
        variants=[{"name": "sync", "algorithm": "sync-sgd"}],
        baseline="sync",
        clusters=[{"name": "local", "workers": [2], "seeds": 2}],
    )
    service.scheduler.look()
    for order, n, wait in zip(service.line.launched[0][1], (160, 80), (0.005, 0.0), strict=True):
        supervisor = Supervisor(service, order)
        supervisor.report("starting", "running")
        times = {"communicate": wait, "compute": 0.008 - wait, "data": 0.001, "update": 0.001, "hidden": 0.002}
        for number in (0, 1):
            ship(supervisor, number, start(), steps(1, n, **{k: np.full(n, v) for k, v in times.items()}))
    return found["id"]


def test_the_shares_of_all_workers_and_seeds(service, made):
    answer = service.get(f"/experiments/{made}/phases", bins=8)
    assert answer["phases"] == ["data", "compute", "communicate", "update", "evaluate", "idle"]
    [row] = answer["rows"]
    assert (row["variant"], row["cluster"], row["workers"], row["simulated"]) == ("sync", "local", 2, False)
    assert len(row["runs"]) == 2
    assert (row["span"], row["end"]) == (pytest.approx(1.6), pytest.approx(1.6))
    shares = dict(zip(answer["phases"], row["shares"], strict=True))
    # both seeds until 0.8 s, then the first alone
    assert shares["communicate"] == pytest.approx([0.25] * 4 + [0.5] * 4, abs=1e-3)
    assert shares["compute"] == pytest.approx([0.55] * 4 + [0.3] * 4, abs=1e-3)
    assert row["hidden"] == pytest.approx([0.2] * 8, abs=1e-3)
    assert np.sum(row["shares"], axis=0) == pytest.approx(np.ones(8), abs=1e-3)


@ONE_KIND
def test_of_very_many_steps_the_first_seeds_are_read(service, made, monkeypatch):
    monkeypatch.setattr(phases, "MOST_STEPS", 400)  # of both seeds there are 480
    [row] = service.get(f"/experiments/{made}/phases", bins=8)["rows"]
    assert len(row["runs"]) == 1
    assert row["shares"][2] == pytest.approx([0.5] * 8, abs=1e-3)


@ONE_KIND
def test_a_place_is_chosen_and_an_experiment_without_steps_has_no_rows(service, made):
    assert len(service.get(f"/experiments/{made}/phases", cluster="local", workers=2)["rows"]) == 1
    assert service.get(f"/experiments/{made}/phases", cluster="local", workers=4)["rows"] == []
    assert service.get(f"/experiments/{made}/phases", cluster="elsewhere")["rows"] == []
    assert service.client.get("/experiments/exp_none/phases").status_code == 404
    empty = service.submit()
    assert service.get(f"/experiments/{empty['id']}/phases")["rows"] == []


def again(service, supervisor, resume):
    """End an attempt as a failure, and return the supervisor of the next one, which runs."""
    supervisor.report("failed_user", exit_code=3)
    service.client.post(f"/runs/{supervisor.id}/retry", json={"resume": resume}).raise_for_status()
    second = service.next()
    second.report("starting", "running")
    return second


def span_and_shares(service, supervisor):
    experiment = service.run(supervisor.id)["experiment_id"]
    [row] = service.get(f"/experiments/{experiment}/phases", bins=8)["rows"]
    return row["span"], row["end"], np.sum(row["shares"], axis=0)


@pytest.mark.parametrize("resume", [True, False])
def test_the_time_of_an_attempt_that_does_not_count_is_not_shown(service, resume):
    """400 steps to 4 s, then a second attempt to 1 s: from the beginning, or from step 50 on."""
    supervisor = service.launch()
    supervisor.report("starting", "running")
    for number in (0, 1):
        ship(supervisor, number, start(), steps(1, 400))
    second = again(service, supervisor, resume)
    for number in (0, 1):
        told = (start(restored_step=50), steps(1, 50, first=51)) if resume else (start(), steps(1, 100))
        ship(second, number, *told)
    span, end, shares = span_and_shares(service, second)
    assert (span, end) == (pytest.approx(1.0), pytest.approx(1.0))
    assert shares == pytest.approx(np.ones(8), abs=1e-3)


@ONE_KIND
def test_an_attempt_without_a_step_leaves_those_before_its_checkpoint(service):
    supervisor = service.launch()
    supervisor.report("starting", "running")
    for number in (0, 1):
        ship(supervisor, number, start(), steps(1, 400))
    second = again(service, supervisor, True)
    for number in (0, 1):
        ship(second, number, start(restored_step=200))
    span, end, shares = span_and_shares(service, second)
    assert (span, end) == (pytest.approx(4.0), pytest.approx(2.0))
    assert shares == pytest.approx([1.0] * 4 + [0.0] * 4, abs=1e-3)
