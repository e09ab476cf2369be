"""Points of ended runs beside the places of bands: the bands of all points, without reading these."""

from types import SimpleNamespace

import numpy as np
import pytest
from hooke.spec.states import RunState
from hooke_api.metrics import stored_brackets, thinning
from hooke_api.metrics.curves import CurveStore
from hooke_api.metrics.stored_brackets import Beside, Ends
from hooke_api.metrics.thinner import Thinner
from hooke_api.models import Chunk, RankTotals, StoredEvaluation, ThinnedSeries
from hooke_api.storage import evaluated
from sqlalchemy import delete, select, update

from tests.api.databases import ONE_KIND
from tests.api.metrics.delivered import (
    AXES,
    Delivered,
    add_experiment,
    bands,
    let_few_steps_be_many,
    true_bands,
)

POINTS = (20, 40)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    let_few_steps_be_many(monkeypatch)


@pytest.fixture
def group(database):
    """Return an experiment of five runs of a variant: three have ended, one after few steps, and one goes on."""
    experiment = add_experiment(database)
    made = [reported(database, experiment, n, seed) for seed, n in enumerate((150, 250, 200, 220, 20))]
    for run in (*made[:3], made[4]):
        run.end(RunState.FAILED_USER if run is made[4] else RunState.SUCCEEDED)
    return made


def reported(database, experiment, n, seed):
    """Return a run whose ranks have written so many steps, with an evaluation after every third one."""
    run = Delivered(database, experiment, "original-easgd", 2, 1)
    for rank in range(3):
        run.write(rank, n, seed=seed)
        run.deliver(rank, n)
    for at in range(3, n, 3):
        run.score(16 * at + 1, float(np.random.default_rng((seed, at)).random()))
    with database.write() as session:
        session.execute(update(RankTotals).where(RankTotals.run_id == run.id).values(steps=n))
    return run


def store(database, group):
    """Store all that is missing, as the thread does; return how often something was."""
    rounds = 0
    while True:
        with database.read() as session:
            behind = stored_brackets.behind(session, [group[0].experiment])
        if not behind:
            return rounds
        for run in behind:
            assert thinning.store(database, run, again=True)
        rounds += 1


def spoil(database, runs):
    """Make the steps of runs unreadable, and all their evaluations wrong."""
    ids = [run.id for run in runs]
    with database.write() as session:
        session.execute(update(Chunk).where(Chunk.run_id.in_(ids)).values(data=b""))
        session.execute(
            update(StoredEvaluation).where(StoredEvaluation.run_id.in_(ids)).values(accuracy=7, loss=7)
        )


def asked(database, group):
    """Return what is asked for, and the true answers."""
    asks = [(axis, points) for axis in AXES for points in POINTS]
    return asks, [true_bands(database, group[0].experiment, *ask) for ask in asks]


@ONE_KIND
def test_bands_are_those_of_all_points_and_read_none_of_ended_runs(database, group):
    asks, expected = asked(database, group)
    assert store(database, group) == 2, "once each, and once more beside the ends of those that came later"
    spoil(database, group[:3])
    found = CurveStore()
    assert [bands(database, found, group[0].experiment, *ask) for ask in asks] == expected
    assert [bands(database, CurveStore(), group[0].experiment, *ask) for ask in asks] == expected


def test_where_a_place_is_not_stored_all_points_are_read(database, group):
    store(database, group)
    group[3].end()
    late = reported(database, group[0].experiment, 120, 9)
    late.end()
    for run in (group[3].id, late.id):
        assert thinning.store(database, run)
    with database.read() as session:
        behind = stored_brackets.behind(session, [group[0].experiment])
    assert {group[0].id, group[1].id, group[2].id} <= set(behind), "not beside the end of the last one"
    assert late.id not in behind
    asks, expected = asked(database, group)
    assert [bands(database, CurveStore(), group[0].experiment, *ask) for ask in asks] == expected
    fine = ("clock", 200)
    assert bands(database, CurveStore(), late.experiment, *fine) == true_bands(database, late.experiment, *fine)


@ONE_KIND
def test_what_is_stored_of_other_data_is_not_used(database, group):
    store(database, group)
    group[0].score(16 * 149, 0.25)
    asks, expected = asked(database, group)
    assert [bands(database, CurveStore(), group[0].experiment, *ask) for ask in asks] == expected


@ONE_KIND
def test_the_thread_looks_again_once_no_run_has_ended_for_a_while(database, group, monkeypatch):
    thinner, now = Thinner(database), [1000.0]
    monkeypatch.setattr("hooke_api.metrics.thinner.time", SimpleNamespace(monotonic=lambda: now[0]))

    def behind():
        with database.read() as session:
            return set(stored_brackets.behind(session, [group[0].experiment]))

    thinner.look()
    assert group[4].id in behind(), "a short one is no matter of its own"
    now[0] += 5
    thinner.look()
    assert behind()
    now[0] += 6
    thinner.look()
    left = behind()
    now[0] += 11
    thinner.look()
    assert left and not behind()
    with database.read() as session:
        mine = select(ThinnedSeries.most).where(ThinnedSeries.run_id == group[4].id)
        assert set(session.scalars(mine)) == {stored_brackets.PLACES, evaluated.MOST}
    thinner.close()


def test_runs_from_before_are_found(database, group):
    store(database, group)
    with database.write() as session:
        session.execute(delete(ThinnedSeries).where(ThinnedSeries.most < 0))
    thinner = Thinner(database)
    thinner.look()
    thinner.close()
    with database.read() as session:
        stored = set(session.scalars(select(ThinnedSeries.run_id).where(ThinnedSeries.most < 0)))
    assert stored == {run.id for run in group[:3]}


def test_what_is_packed_is_read_again():
    ends = {axis: np.arange(float(n)) for n, axis in enumerate(AXES)}
    kept = {axis: np.arange(3.0 - n % 3) for n, axis in enumerate(AXES)}
    found = Ends.unpacked(Ends(ends, kept).packed())
    for axis in AXES:
        assert found.ends[axis].tolist() == ends[axis].tolist()
        assert found.kept[axis].tolist() == kept[axis].tolist()


def test_a_place_is_covered_by_a_multiple_or_by_name():
    beside = Beside(np.array([0.25, 8.0]), np.zeros(2), 9, 0.5, np.array([3.3]))
    assert beside.covers(np.array([0.0, 0.5, 3.0, 3.3, 8.0, 9.7]))
    assert not beside.covers(np.array([0.75]))
    assert not beside.covers(np.array([3.4]))
