"""Phases over time: by hand from steps of known seconds, and over HTTP."""

import numpy as np
import pytest
from hooke.spec.events import RankRecords
from hooke_api.metrics import phases
from hooke_api.metrics.attempts import keep_steps
from hooke_api.metrics.loading import read_begun, read_columns, read_facts
from hooke_api.metrics.phase_seconds import MEASURED, NAMES, NO_SECONDS, PhaseStore, Stored
from hooke_api.metrics.phases import rounded
from hooke_api.models import Chunk, Run
from hooke_api.storage.steps import counts
from sqlalchemy import select, update

from tests.api.conftest import Supervisor, start, steps
from tests.api.databases import ONE_KIND
from tests.api.holding import blocks
from tests.api.metrics.delivered import Delivered, add_experiment

NOTHING = dict.fromkeys(MEASURED, (0.0, 0.0))


def rank(wall, **told):
    return {name: np.array(values, np.float32) for name, values in (NOTHING | told | {"wall": wall}).items()}


def seconds_of(rank, edges):
    return NO_SECONDS.extended(rank, edges).in_parts(len(edges))


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


@pytest.mark.parametrize("end", [0.5, 1.0, 2.0])
def test_steps_that_come_bit_by_bit_add_up_as_all_at_once(end):
    """Also with steps that end at the same moment, and an end of the parts before and behind that of the steps."""
    source = np.random.default_rng(5)
    told = {name: source.random(300).astype(np.float32) * 1e-3 for name in MEASURED}
    wall = np.cumsum(np.round(source.random(300) * 5e-3, 3))
    edges = np.linspace(0, wall[-1] * end, 40)
    whole = rank(wall, **told) | {"wall": wall}
    cuts = [0, *sorted(source.choice(np.arange(1, 300), 20, replace=False)), 300]
    found = NO_SECONDS
    for first, last in zip(cuts, cuts[1:], strict=False):
        found = found.extended({name: column[first:last] for name, column in whole.items()}, edges)
        so_far = {name: column[:last] for name, column in whole.items()}
        assert (found.in_parts(40) == seconds_of(so_far, edges)).all()


def test_sums_do_not_keep_the_steps_that_they_are_of():
    """The limit of the caches knows of 500 bytes for them; of each rank it were some megabytes."""
    many = rank(np.arange(1.0, 10_001.0), **dict.fromkeys(MEASURED, np.zeros(10_000)))
    found = NO_SECONDS.extended(many, np.arange(60.0))
    assert sum(blocks(found).values()) < 10_000


@ONE_KIND
def test_bins_of_runs_in_progress_end_at_round_times():
    assert [rounded(each) for each in (1.0, 1.01, 1.9, 2.0, 100.0, 0.3)] == [1.0, 1.125, 2.0, 2.0, 104.0, 0.3125]


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
    assert answer["phases"] == ["data", "compute", "rebuild", "communicate", "update", "evaluate", "idle"]
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
    answer = service.get(f"/experiments/{made}/phases", bins=8)
    [row] = answer["rows"]
    assert len(row["runs"]) == 1
    assert row["shares"][answer["phases"].index("communicate")] == pytest.approx([0.5] * 8, abs=1e-3)


@ONE_KIND
def test_a_place_is_chosen_and_an_experiment_without_steps_has_no_rows(service, made):
    assert len(service.get(f"/experiments/{made}/phases", cluster="local", workers=2)["rows"]) == 1
    assert service.get(f"/experiments/{made}/phases", cluster="local", workers=4)["rows"] == []
    assert service.get(f"/experiments/{made}/phases", cluster="elsewhere")["rows"] == []
    assert service.client.get("/experiments/exp_none/phases").status_code == 404
    empty = service.submit()
    assert service.get(f"/experiments/{empty['id']}/phases")["rows"] == []


def test_only_steps_that_are_new_are_read_and_a_restart_begins_anew(database):
    """Of the same bins; those of attempts that were superseded are hidden, as by `keep_steps`."""
    run, store, edges = (
        Delivered(database, add_experiment(database), "sync-sgd", 2),
        PhaseStore(),
        np.linspace(0, 9, 31),
    )
    for number in (0, 1):
        run.write(number, 300, seed=1)

    def found(used):
        with database.read() as session:
            begun = tuple(read_begun(session, read_facts(session, Run.id == run.id))[run.id])
            of_run = Stored(counts(session, [run.id])[run.id], begun)
            return [each.in_parts(31).tolist() for each in used.seconds(session, run.id, of_run, (0, 1), edges)]

    def true():
        with database.read() as session:
            begun = read_begun(session, read_facts(session, Run.id == run.id))[run.id]
            kept = keep_steps(read_columns(session, run.id, NAMES), begun, (0, 1), NAMES)
        return [seconds_of(kept[number], edges).tolist() for number in (0, 1)]

    for number in (0, 1):
        run.deliver(number, 100)
    assert found(store) == true()
    with database.read() as session:
        kept = {row.id: row.data for row in session.scalars(select(Chunk))}
    with database.write() as session:
        session.execute(update(Chunk).values(data=b""))
    for number in (0, 1, 0, 1):
        run.deliver(number, 30)
        found(store)
    last = found(store)
    with database.write() as session:
        for number, data in kept.items():
            session.execute(update(Chunk).where(Chunk.id == number).values(data=data))
    assert last == found(PhaseStore()) == true()
    run.again(120)
    for number in (0, 1):
        run.begin([number])
        run.write(number, 100, seed=2, first=121, wall=5.0)
        assert found(store) == true()
        run.deliver(number, 50)
        assert found(store) == true()


@ONE_KIND
def test_the_bins_of_a_long_run_stay_while_it_goes_on(service, made, monkeypatch):
    monkeypatch.setattr(phases, "ROUNDED_STEPS", 400)
    [row] = service.get(f"/experiments/{made}/phases", bins=8)["rows"]
    assert (row["span"], row["end"]) == (1.625, pytest.approx(1.6))


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
