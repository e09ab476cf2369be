"""Stored curves of runs in progress: the same answers, of few steps, and none of them where they do not fit."""

import random

import pytest
from hooke.spec.states import RunState
from hooke_api.metrics import stored_growth, thinning
from hooke_api.metrics.curves import CurveStore
from hooke_api.metrics.loading import read_facts
from hooke_api.metrics.thinner import Thinner
from hooke_api.models import Chunk, RankTotals, Run, ThinnedSeries
from sqlalchemy import select, update

from tests.api.databases import ONE_KIND
from tests.api.holding import blocks
from tests.api.metrics.delivered import (
    AXES,
    Delivered,
    add_experiment,
    bands,
    let_few_steps_be_many,
    series,
    true_bands,
    true_series,
)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    let_few_steps_be_many(monkeypatch)
    monkeypatch.setattr(stored_growth, "LEAST_STEPS", 200)


@pytest.fixture
def thinner(database):
    made = Thinner(database)
    yield made
    made.close()


@pytest.fixture
def run(database):
    """A run with a server of which 240 steps of each rank are stored, and an evaluation."""
    made = Delivered(database, add_experiment(database), "original-easgd", 2, 1)
    for rank in range(3):
        made.write(rank, 400, seed=1)
        made.deliver(rank, 240)
    made.score(16 * 50, 0.5)
    tell(database, made, 240)
    return made


def tell(database, run: Delivered, steps: int) -> None:
    """Let the totals of ranks be as ingest leaves them."""
    mine = (RankTotals.run_id == run.id, RankTotals.attempt == run.attempt)
    with database.write() as session:
        session.execute(update(RankTotals).where(*mine).values(steps=steps))


def rows(database) -> list[ThinnedSeries]:
    with database.read() as session:
        return list(
            session.scalars(select(ThinnedSeries).where(ThinnedSeries.most >= 0).order_by(ThinnedSeries.metric))
        )


def check(database, store, run: Delivered) -> None:
    for axis in AXES:
        assert series(database, store, run.id, axis, 32) == true_series(database, run.id, axis, 32)
        assert bands(database, store, run.experiment, axis, 32) == true_bands(database, run.experiment, axis, 32)


def answers(database, store, run: Delivered) -> list:
    found = [series(database, store, run.id, axis, 32) for axis in AXES]
    return found + [bands(database, store, run.experiment, axis, 32) for axis in AXES]


def test_a_process_that_knows_nothing_reads_only_the_steps_that_came_since(database, run, thinner):
    thinner.look()
    [row] = rows(database)
    assert (row.run_id, row.most, row.n) == (run.id, 0, 720)
    check(database, CurveStore(), run)
    for rank in range(3):
        run.deliver(rank, 20)
    expected = answers(database, CurveStore(), run)
    check(database, CurveStore(), run)
    with database.read() as session:
        old = list(session.scalars(select(Chunk.id).order_by(Chunk.id)))[:3]
    with database.write() as session:
        session.execute(update(Chunk).where(Chunk.id.in_(old)).values(data=b""))
    assert answers(database, CurveStore(), run) == expected


@ONE_KIND
def test_what_was_stored_is_not_kept_beside_what_has_grown_from_it(database, run, thinner):
    """In an hour of a hundred runs some 20 MB that no limit of caches knew of."""
    thinner.look()
    stored, store = len(rows(database)[0].data), CurveStore()
    for rank in range(3):
        run.deliver(rank, 60)
    bands(database, store, run.experiment, "clock", 32)
    kept = store._growing(run.id)
    assert kept.settled.before.rows > 0, "it was read"
    found = blocks(kept)
    assert stored not in found.values(), "the row as it was stored"
    assert sum(found.values()) < 1.5 * kept.nbytes, "the limit of the caches counts what is held"


@ONE_KIND
def test_it_is_stored_again_when_there_are_a_quarter_more_steps(database, run, thinner):
    thinner.look()
    for rank in range(3):
        run.deliver(rank, 40)
    tell(database, run, 280)
    thinner.look()
    assert [row.n for row in rows(database)] == [720]
    for rank in range(3):
        run.deliver(rank, 40)
    tell(database, run, 320)
    thinner.look()
    assert [row.n for row in rows(database)] == [960]
    check(database, CurveStore(), run)
    tell(database, run, 50)
    other = Delivered(database, run.experiment, "sync-sgd", 2)
    tell(database, other, 50)
    thinner.look()
    assert {row.run_id for row in rows(database)} == {run.id}, "the other one is short"


@ONE_KIND
def test_of_a_long_run_a_first_look_reads_no_more_than_some_steps(database, run, thinner, monkeypatch):
    """A quarter of a million steps would be read in a tenth of a second."""
    monkeypatch.setattr(stored_growth, "MORE_STEPS", 90)
    thinner.look()
    for steps, stored in ((270, 720), (271, 813)):
        tell(database, run, steps)
        thinner.look()
        assert [row.n for row in rows(database)] == [stored]


@ONE_KIND
def test_what_another_version_has_stored_is_stored_anew(database, run, thinner, monkeypatch):
    thinner.look()
    monkeypatch.setattr(stored_growth, "VERSION", 99)
    thinner.look()
    assert [row.of_data for row in rows(database)] == ["99"]
    check(database, CurveStore(), run)


@ONE_KIND
@pytest.mark.parametrize("change", ["cut", "noise", "empty", "version", "shape", "nothing of it"])
def test_what_does_not_fit_is_ignored(database, run, thinner, change, monkeypatch):
    thinner.look()
    data = rows(database)[0].data
    with database.read() as session:
        [facts] = read_facts(session, Run.id == run.id)
        kept = stored_growth.load(session, facts)
    assert kept is not None and kept.rows > 200
    if change == "version":
        monkeypatch.setattr(stored_growth, "VERSION", -1)
    elif change == "shape":
        with database.write() as session:
            session.get_one(Run, run.id).spec = {"batch": 16}
    else:
        source = random.Random(1)
        made = {
            "cut": data[: len(data) // 2],
            "noise": source.randbytes(5000),
            "empty": b"",
            "nothing of it": b"{}",
        }
        with database.write() as session:
            session.execute(update(ThinnedSeries).values(data=made[change]))
    with database.read() as session:
        [facts] = read_facts(session, Run.id == run.id)
        assert stored_growth.load(session, facts) is None
    check(database, CurveStore(), run)


@ONE_KIND
def test_a_restart_makes_it_useless_and_levels_take_its_place_at_the_end(database, run, thinner):
    thinner.look()
    run.again(100)
    run.begin(range(3))
    for rank in range(3):
        run.write(rank, 200, seed=2, first=101, wall=20.0)
        run.deliver(rank, 150)
    check(database, CurveStore(), run)
    tell(database, run, 250)
    thinner.look()
    assert [row.n for row in rows(database)] == [720 + 750]
    check(database, CurveStore(), run)
    run.end()
    check(database, CurveStore(), run)
    assert thinning.store(database, run.id)
    assert {row.most for row in rows(database)} == {32, 64}
    assert not stored_growth.save(database, run.id, 32)
    assert not thinning.store(database, run.id), "it is up to date"
    check(database, CurveStore(), run)


@ONE_KIND
def test_levels_know_what_was_sent_until_an_evaluation_beside_no_place_of_bands(database, run):
    run.end()
    assert thinning.store(database, run.id)
    asked = (run.id, "bytes", 32, ("validation_accuracy", "p_at_3"))
    expected = true_series(database, *asked)
    with database.write() as session:
        session.execute(update(Chunk).values(data=b""))  # what is answered is what was stored
    assert series(database, CurveStore(), *asked) == expected


def test_an_ended_run_with_such_a_row_alone_still_gets_levels(database, run, thinner):
    thinner.look()
    with database.write() as session:
        session.get_one(Run, run.id).state = RunState.CANCELLED
    fresh = Thinner(database)
    thinner.close()
    fresh.look()
    fresh.close()
    assert {row.most for row in rows(database)} == {32, 64}


@ONE_KIND
def test_of_irregular_steps_nothing_is_stored_but_their_number(database, run, thinner):
    walls = run.written[0]["wall"].copy()
    run.written[0]["wall"] = walls[::-1].copy()
    run.deliver(0, 20)
    thinner.look()
    assert [(row.n, row.data) for row in rows(database)] == [(720, b"")]
    assert series(database, CurveStore(), run.id, "wall", 32) == true_series(database, run.id, "wall", 32)
