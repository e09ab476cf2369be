"""States: one compare-and-set, no illegal change, an experiment that ends with its last run."""

import itertools
import threading
from datetime import timedelta

import pytest
from hooke.spec.specification import ExperimentSpec
from hooke.spec.states import TERMINAL, TRANSITIONS, RunState
from hooke_api.experiments import creating
from hooke_api.experiments import service as experiments
from hooke_api.models import Cluster, Event, Experiment, Run, Transition, now
from hooke_api.scheduling.lifecycle import Cause, IllegalTransition, cancel, move
from sqlalchemy import delete, select, update

from tests.api.hands import SPEC

WHY = Cause("test", "because")


@pytest.fixture
def runs(database):
    """Return the ids of four queued runs."""
    with database.write() as session:
        described = {"cores": 4, "slots": 4, "launcher": "local", "hardware": {}, "versions": {}}
        session.add(Cluster(name="local", created_by="test", created_at=now(), seen_at=now(), **described))
    submission = creating.Submission(ExperimentSpec.model_validate(SPEC), "test")
    creating.create(database, submission, timedelta(seconds=40))
    with database.read() as session:
        return session.scalars(select(Run.id).order_by(Run.number)).all()


def test_every_pair_of_states(database, runs):
    """All 100 pairs: allowed exactly where the engine's table says so."""
    for source, state in itertools.product(RunState, RunState):
        with database.write() as session:
            session.execute(update(Run).where(Run.id == runs[0]).values(state=source, finished_at=None))
            session.execute(delete(Transition))
        with database.write() as session:
            run = session.get_one(Run, runs[0])
            if state in TRANSITIONS.get(source, ()):
                expected = state
                assert move(session, run, state, WHY)
            else:
                expected = source
                with pytest.raises(IllegalTransition, match=f"is {source} and cannot become {state}"):
                    move(session, run, state, WHY)
        with database.read() as session:
            stored = session.get_one(Run, runs[0])
            moves = session.execute(select(Transition.source, Transition.state)).all()
        assert stored.state is expected
        assert moves == ([(source, state)] if expected is not source else [])
        assert (stored.finished_at is not None) == (expected in TERMINAL and source not in TERMINAL)


def test_of_two_sessions_one_wins(database, runs):
    """Both saw the run queued; the second to write finds that it no longer is."""
    barrier = threading.Barrier(8)
    won = []

    def race(number):
        with database.read() as session:
            run = session.get_one(Run, runs[0])
            session.expunge(run)
        barrier.wait()
        with database.write() as session:
            won.append(move(session, run, RunState.DISPATCHED, Cause(f"racer {number}", "first")))

    threads = [threading.Thread(target=race, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False] * 7 + [True]
    with database.read() as session:
        moves = session.scalars(select(Transition).where(Transition.state == RunState.DISPATCHED)).all()
        events = session.scalars(select(Event).where(Event.kind == "run")).all()
    assert (len(moves), len(events)) == (1, 1)


def test_a_stale_attempt_cannot_move_a_run(database, runs):
    with database.read() as session:
        stale = session.get_one(Run, runs[0])
        session.expunge(stale)
    with database.write() as session:
        session.execute(update(Run).where(Run.id == runs[0]).values(attempt=2))
    with database.write() as session:
        assert not move(session, stale, RunState.DISPATCHED, WHY)


def test_an_experiment_ends_once_with_its_last_run(database, runs):
    """All runs end at the same moment, each in its own transaction."""
    barrier = threading.Barrier(len(runs))

    def end(run_id):
        barrier.wait()
        with database.write() as session:
            cancel(session, session.get_one(Run, run_id, with_for_update=True), "test")

    threads = [threading.Thread(target=end, args=(run_id,)) for run_id in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.read() as session:
        experiment = session.scalars(select(Experiment)).one()
        ended = session.scalars(select(Event).where(Event.kind == "experiment")).all()
        positions = session.scalars(select(Event.position).order_by(Event.position)).all()
    assert experiment.finished_at is not None
    assert len(ended) == 2  # submitted, finished
    assert positions == list(range(1, len(positions) + 1))


def test_nothing_of_a_failed_transaction_is_seen(database, runs):
    with pytest.raises(RuntimeError), database.write() as session:
        move(session, session.get_one(Run, runs[0]), RunState.DISPATCHED, WHY)
        raise RuntimeError
    with database.read() as session:
        assert session.get_one(Run, runs[0]).state is RunState.QUEUED
        assert not session.scalars(select(Event).where(Event.kind == "run")).all()


def test_events_appear_in_order(database, runs):
    """A reader that saw position n has seen all below: positions are allotted under a lock held to the commit."""
    stop = threading.Event()
    gaps = []

    def watch():
        while not stop.is_set():
            with database.read() as session:
                seen = session.scalars(select(Event.position).order_by(Event.position)).all()
            if seen != list(range(1, len(seen) + 1)):
                gaps.append(seen)

    def write(run_id):
        for _ in range(20):
            with database.write() as session:
                run = session.get_one(Run, run_id, with_for_update=True)
                run.cancel_requested = False
                run.state = RunState.RUNNING
                cancel(session, run, "test")

    watcher = threading.Thread(target=watch)
    watcher.start()
    threads = [threading.Thread(target=write, args=(run_id,)) for run_id in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stop.set()
    watcher.join()
    assert gaps == []
    with database.read() as session:
        assert len(session.scalars(select(Event).where(Event.kind == "run")).all()) == 80


@pytest.mark.parametrize(
    ("counts", "state"),
    [
        ({"queued": 3}, "queued"),
        ({"queued": 1, "succeeded": 1}, "running"),
        ({"lost": 1}, "running"),
        ({"succeeded": 2}, "succeeded"),
        ({"succeeded": 2, "cancelled": 1}, "cancelled"),
        ({"succeeded": 2, "timed_out": 1}, "failed"),
        ({"cancelled": 2, "failed_user": 1}, "failed"),
    ],
)
def test_derived_state(counts, state):
    assert experiments.derived_state({RunState(name): n for name, n in counts.items()}) == state
