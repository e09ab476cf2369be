"""Curves that grow with the steps of a run: what is answered is what all of its steps say, at every look."""

import random
import threading

import numpy as np
import pytest
from hooke.spec.states import RunState
from hooke_api.base.caches import Budget
from hooke_api.metrics import curves, growth, service, thinning
from hooke_api.metrics.curves import CurveStore
from hooke_api.metrics.growing import Growing
from hooke_api.metrics.loading import load, read_facts, read_keys
from hooke_api.models import Chunk, Run, ThinnedSeries
from hooke_api.storage import compacting
from hooke_api.storage.database import Database
from hooke_api.storage.objects import FolderStore
from sqlalchemy import select, update

from tests.api.databases import ONE_KIND
from tests.api.holding import blocks
from tests.api.metrics.delivered import (
    AXES,
    METRICS,
    OF_STEPS,
    Delivered,
    add_experiment,
    bands,
    let_few_steps_be_many,
    series,
    true_bands,
    true_series,
)

POINTS = (16, 20, 32, 50, 64)
small = pytest.fixture(autouse=True)(let_few_steps_be_many)


@pytest.fixture
def counted(monkeypatch):
    """Return the numbers of how often curves were begun anew, and of how many runs every row was read."""
    found = {"anew": 0, "whole": 0}
    beginning, read = growth._beginning, curves.load

    def begun(*given):
        found["anew"] += 1
        return beginning(*given)

    def loaded(session, runs):
        found["whole"] += len(runs)
        return read(session, runs)

    monkeypatch.setattr(growth, "_beginning", begun)
    monkeypatch.setattr(curves, "load", loaded)
    return found


def check(database, store, run: Delivered, draw: random.Random, most: int = 64) -> None:
    """Ask for some of a run, on some axis, and of its experiment, at most so many points."""
    axis, points = draw.choice(AXES), draw.choice([each for each in POINTS if each <= most])
    metrics = draw.sample(METRICS, draw.randint(1, len(METRICS)))
    asked = (axis, points, metrics)
    assert series(database, store, run.id, *asked) == true_series(database, run.id, *asked)
    assert bands(database, store, run.experiment, *asked) == true_bands(database, run.experiment, *asked)


KINDS = {
    "sync-sgd": (3, 0),
    "sync-easgd1": (2, 1),  # in lockstep, with a server
    "original-easgd": (3, 1),
    "hogwild-sgd": (4, 0),
}
OTHERS = [pytest.param(each, marks=ONE_KIND) for each in KINDS if each != "original-easgd"]


@pytest.mark.parametrize("algorithm", ["original-easgd", *OTHERS])
def test_every_look_is_answered_as_from_all_steps(database, algorithm, counted):
    """Ranks deliver unequal parts in any order; two processes look now and then, one of which can keep nothing."""
    workers, servers = KINDS[algorithm]
    draw, ranks = random.Random(algorithm), range(workers + servers)
    run = Delivered(database, add_experiment(database), algorithm, workers, servers)
    for rank in ranks:
        run.write(rank, 250, seed=3)
    stores = [CurveStore(), CurveStore(Budget(1))]
    check(database, stores[0], run, draw)
    scored = 0
    for _ in range(14):
        for rank in draw.sample(ranks, len(ranks)):
            run.deliver(rank, draw.choice((0, 1, 7, 20, 40)))
        if draw.random() < 0.5:
            scored += draw.randint(1, 60) * BATCH_OF_ALL
            run.score(scored, draw.random())
        check(database, draw.choice(stores), run, draw)
    for rank in ranks:
        run.deliver(rank, 250)
    check(database, stores[0], run, draw)
    run.end()
    for store in (*stores, CurveStore()):
        check(database, store, run, draw)
    assert counted["whole"] == 0, "they are never all in memory"


BATCH_OF_ALL = 24


def test_only_new_steps_are_read(database, counted):
    run = Delivered(database, add_experiment(database), "sync-sgd", 2)
    store = CurveStore()
    for rank in (0, 1):
        run.write(rank, 600, seed=1)
        run.deliver(rank, 500)
    for axis in AXES:
        assert series(database, store, run.id, axis, 32) == true_series(database, run.id, axis, 32)
    with database.read() as session:
        kept = {row.id: row.data for row in session.scalars(select(Chunk).where(Chunk.run_id == run.id))}
    with database.write() as session:
        session.execute(update(Chunk).values(data=b""))
    for _ in range(10):
        for rank in (0, 1):
            run.deliver(rank, 10)
    asked = [series(database, store, run.id, axis, 32) for axis in AXES]
    drawn = [bands(database, store, run.experiment, axis, 32) for axis in AXES]
    with database.write() as session:
        for number, data in kept.items():
            session.execute(update(Chunk).where(Chunk.id == number).values(data=data))
    assert asked == [true_series(database, run.id, axis, 32) for axis in AXES]
    assert drawn == [true_bands(database, run.experiment, axis, 32) for axis in AXES]
    assert counted == {"anew": 1, "whole": 0}


@ONE_KIND
@pytest.mark.parametrize("restored", [100, None])
@pytest.mark.parametrize("algorithm", ["sync-sgd", "original-easgd"])
def test_a_restart_hides_what_it_supersedes_at_every_look(database, algorithm, restored):
    """Its ranks begin one after the other, and each goes on at a step of its own; late steps are of the first."""
    draw = random.Random(7)
    workers, servers = KINDS[algorithm]
    run = Delivered(database, add_experiment(database), algorithm, workers, servers)
    ranks, store = range(workers + servers), CurveStore()
    for rank in ranks:
        run.write(rank, 300, seed=5)
        run.deliver(rank, draw.randint(150, 250))
    run.score(50 * BATCH_OF_ALL, 0.5)
    run.score(200 * BATCH_OF_ALL, 0.4)
    check(database, store, run, draw)
    first = Delivered.__new__(Delivered)
    vars(first).update(vars(run), sent=dict(run.sent), written=dict(run.written))
    run.again(restored)
    check(database, store, run, draw)
    begin = (restored or 0) + 1
    for rank in ranks:
        run.begin([rank])
        check(database, store, run, draw)
        own = begin if algorithm == "sync-sgd" else max(1, begin - rank)
        wall = float(first.written[rank]["wall"][own - 2]) if own > 1 else 0.0
        run.write(rank, 200, seed=6, first=own, wall=wall)
        run.deliver(rank, 30)
        check(database, store, run, draw)
    first.deliver(0, 20)
    check(database, store, run, draw)
    run.score(160 * BATCH_OF_ALL, 0.3)
    for _ in range(3):
        for rank in ranks:
            run.deliver(rank, draw.randint(0, 60))
        check(database, store, run, draw)


@ONE_KIND
@pytest.mark.parametrize(("worker", "step"), [(0, 60), (2, 0), (1, 90)])
def test_rows_go_on_without_a_worker_that_left(database, worker, step):
    draw = random.Random(step)
    run = Delivered(database, add_experiment(database), "hogwild-sgd", 3)
    store = CurveStore()
    for rank in range(3):
        if rank != worker or step:
            run.write(rank, step if rank == worker else 300, seed=2)
    for look in range(12):
        for rank in range(3):
            run.deliver(rank, 20)
        if look == 4:
            run.drop(worker, step)
        check(database, store, run, draw)


@ONE_KIND
def test_a_server_that_was_silent_and_one_that_goes_on_without_steps(database, counted):
    draw = random.Random(1)
    run = Delivered(database, add_experiment(database), "original-easgd", 2, 1)
    store = CurveStore()
    for rank in range(3):
        run.write(rank, 300, seed=9)
    for _ in range(5):
        run.deliver(0, 30)
        run.deliver(1, 30)
        check(database, store, run, draw, 32)
    run.deliver(2, 10)
    check(database, store, run, draw, 32)
    assert counted["anew"] == 2, "what it sent belongs to rows that were settled"
    for _ in range(5):
        run.deliver(0, 30)
        run.deliver(1, 30)
        check(database, store, run, draw, 32)
    assert counted == {"anew": 2, "whole": 0}


@ONE_KIND
def test_steps_that_go_back_in_time_are_read_whole(database, counted):
    draw, store = random.Random(4), CurveStore()
    run = Delivered(database, add_experiment(database), "hogwild-sgd", 2)
    walls = np.linspace(1.0, 9.0, 200)
    walls[120] = 0.5
    for rank in (0, 1):
        run.write(rank, 200, seed=1)
    run.written[0]["wall"] = walls
    for _ in range(5):
        run.deliver(0, 40)
        run.deliver(1, 40)
        asked = (draw.choice(AXES), 32)
        assert series(database, store, run.id, *asked) == true_series(database, run.id, *asked)
    assert counted["whole"] > 0


@ONE_KIND
def test_a_band_has_the_ends_of_its_seeds_wherever_the_others_are(database):
    """One has ended before the third is looked at, one meanwhile, before and behind where it is."""
    draw, experiment, store = random.Random(3), add_experiment(database), CurveStore()
    runs = [Delivered(database, experiment, "sync-sgd", 2) for _ in range(4)]
    for number, run in enumerate(runs):
        for rank in (0, 1):
            run.write(rank, 300, seed=number)
    for rank in (0, 1):
        runs[0].deliver(rank, 170)
    runs[0].end()
    for look in range(8):
        for run, n in zip(runs[1:], (40, 25, 15), strict=True):
            for rank in (0, 1):
                run.deliver(rank, n)
        if look == 4:
            runs[1].end()
        if look == 6:
            runs[2].end()
        for axis in draw.sample(AXES, 2):
            points = draw.choice(POINTS)
            expected = true_bands(database, experiment, axis, points)
            assert bands(database, store, experiment, axis, points) == expected


@ONE_KIND
def test_a_band_of_more_points_than_are_kept_is_read_whole(database, counted):
    run, store = Delivered(database, add_experiment(database), "sync-sgd", 2), CurveStore()
    for rank in (0, 1):
        run.write(rank, 300, seed=1)
        run.deliver(rank, 300)
    found = bands(database, store, run.experiment, "clock", 200, OF_STEPS)
    assert found == true_bands(database, run.experiment, "clock", 200, OF_STEPS)
    assert counted["whole"] == 1


@ONE_KIND
def test_an_evaluation_that_comes_late_has_the_bytes_of_its_row(database):
    run, store = Delivered(database, add_experiment(database), "sync-sgd", 2), CurveStore()
    scores = ("validation_accuracy", "train_loss")
    for rank in (0, 1):
        run.write(rank, 300, seed=1)
    for look in range(8):
        for rank in (0, 1):
            run.deliver(rank, 30)
        if look % 3 == 2:
            run.score((look * 30 - 40) * 2 * 8 + 5, 0.5)
        asked = (run.id, "bytes", 32, scores)
        assert series(database, store, *asked) == true_series(database, *asked)


@pytest.fixture
def with_objects(settings):
    database = Database(settings.url, objects=FolderStore(settings.home / "objects"))
    yield database
    database.close()


def test_compaction_changes_nothing_and_a_retried_run_goes_on(with_objects, counted):
    database, draw, store = with_objects, random.Random(8), CurveStore()
    run = Delivered(database, add_experiment(database), "sync-sgd", 2)
    for rank in (0, 1):
        run.write(rank, 300, seed=1)
        run.deliver(rank, 200)
        run.deliver(rank, 40)
    check(database, store, run, draw, 32)
    run.end(RunState.FAILED_INFRA)
    check(database, store, run, draw, 32)
    assert compacting.compact(database, run.id)
    check(database, store, run, draw, 32)
    assert counted["anew"] == 1
    check(database, CurveStore(), run, draw)
    run.again(100)
    run.end(RunState.RUNNING)
    run.begin((0, 1))
    for rank in (0, 1):
        run.write(rank, 200, seed=2, first=101, wall=50.0)
        run.deliver(rank, 50)
    check(database, store, run, draw)
    for rank in (0, 1):
        run.deliver(rank, 50)
    check(database, store, run, draw)
    assert compacting.expand(database, run.id)
    check(database, store, run, draw)
    assert counted["whole"] == 0


def test_levels_are_made_of_few_steps_at_a_time_and_are_those_of_all(database, counted):
    run = Delivered(database, add_experiment(database), "original-easgd", 2, 1)
    for rank in range(3):
        run.write(rank, 300, seed=1)
        run.deliver(rank, 300)
    run.score(640, 0.5)
    run.end()
    assert thinning.store(database, run.id)
    with database.read() as session:
        [facts] = read_facts(session, Run.id == run.id)
        whole = dict(load(session, [facts]))[run.id]
        rows = session.scalars(select(ThinnedSeries).where(ThinnedSeries.most > 0)).all()
    assert {row.most for row in rows} == {32, 64} and len(rows) > 16
    for row in rows:
        expected = thinning.thinned(facts, whole, row.metric, row.most)
        assert (row.n, row.gaps, row.data) == (expected.n, expected.gaps, expected.packed())
    assert counted["whole"] == 0


@ONE_KIND
def test_what_is_kept_is_bounded_however_long_a_run_is(database, monkeypatch):
    run, store, sizes = Delivered(database, add_experiment(database), "sync-sgd", 2), CurveStore(), []
    for rank in (0, 1):
        run.write(rank, 20_000, seed=1)
    for _ in range(10):
        for rank in (0, 1):
            run.deliver(rank, 2000)
        bands(database, store, run.experiment, "clock", 32)
        kept = store._growing(run.id)
        assert isinstance(kept, Growing)
        sizes.append(kept.nbytes)
        assert sum(blocks(kept).values()) < 1.3 * kept.nbytes, "the limit of the caches counts what is held"
    assert max(sizes[1:]) < 1.5 * sizes[0] and max(sizes) < 200_000
    assert 10 * max(sizes) < 20_000 * 2 * 52, "its steps are more"


def test_a_look_at_an_older_moment_spoils_no_later_one(database):
    """A request that began earlier reads of what another one has kept; both are answered, and the next one."""
    run, store = Delivered(database, add_experiment(database), "sync-sgd", 2), CurveStore()
    for rank in (0, 1):
        run.write(rank, 300, seed=1)
        run.deliver(rank, 100)
    query = service.SeriesQuery(runs=[run.id], metrics=["train_loss"], axis="samples", points=32)
    with database.read() as earlier:
        assert read_keys(earlier, read_facts(earlier, Run.id == run.id))
        for rank in (0, 1):
            run.deliver(rank, 50)
        assert series(database, store, run.id, "samples", 32) == true_series(database, run.id, "samples", 32)
        assert service.answer_series(earlier, store, query).series[0].of == 150
        run.score(16 * 20, 0.5)
        bands(database, store, run.experiment, "bytes", 32)
        assert service.answer_bands(earlier, store, run.experiment, ["train_loss"], "bytes", 32).bands
    for rank in (0, 1):
        run.deliver(rank, 50)
    for axis in AXES:
        assert series(database, store, run.id, axis, 32) == true_series(database, run.id, axis, 32)


def test_requests_at_the_same_time_are_all_answered(database):
    run, store, faults = Delivered(database, add_experiment(database), "original-easgd", 2, 1), CurveStore(), []
    for rank in range(3):
        run.write(rank, 400, seed=1)
    going = threading.Event()

    def look() -> None:
        try:
            while not going.is_set():
                found = series(database, store, run.id, "clock", 32, ("train_loss",))[0]
                assert len(found[2]) == len(found[3]) <= 32
        except Exception as error:  # any: told by the test
            faults.append(error)

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(10):
        for rank in range(3):
            run.deliver(rank, 40)
    going.set()
    for thread in threads:
        thread.join()
    assert not faults
    for axis in AXES:
        assert series(database, store, run.id, axis, 32) == true_series(database, run.id, axis, 32)
