"""Experiments whose runs were evaluated very often: an answer holds the rows of one run at a time."""

import tracemalloc

import pytest
from hooke.spec.states import RunState
from hooke_api.metrics.curves import MANY, CurveStore
from hooke_api.metrics.evaluations import read_evaluations
from hooke_api.models import Run, StoredEvaluation
from sqlalchemy import insert, select, update

from tests.api.databases import ONE_KIND
from tests.api.metrics.delivered import Delivered, add_experiment, add_to, bands, true_bands

RUNS, EACH = 8, 2 * MANY


@pytest.fixture
def often(database):
    """Return the experiment of 8 runs that were evaluated 2,000 times each."""
    experiment = add_experiment(database)
    for number in range(RUNS):
        run = Delivered(database, experiment, "sync-sgd", 1)
        run.write(0, 4, seed=number)
        run.deliver(0, 4)
        rows = [
            {
                "run_id": run.id, "attempt": 1, "rank": 0, "seq": 10 + k, "step": k + 1, "samples": 8 * (k + 1),
                "clock": k, "wall": k, "loss": 0.5, "accuracy": 1 - 1 / (k + number + 2), "seconds": 0.0,
                "reached": False, "further": {},
            }
            for k in range(EACH)
        ]  # fmt: skip
        with database.write() as session:
            session.execute(insert(StoredEvaluation), rows)
            add_to(session, run.id, evaluations=EACH)
    return experiment


def peak(read):
    """Return what reading needs in memory at most, bytes."""
    tracemalloc.start()
    try:
        read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@ONE_KIND
@pytest.mark.parametrize("state", [RunState.RUNNING, RunState.SUCCEEDED])
def test_bands_need_the_memory_of_the_rows_of_one_run(database, often, state):
    with database.write() as session:
        session.execute(update(Run).values(state=state))
    with database.read() as session:
        ids = list(session.scalars(select(Run.id)))
    asked = (often, "samples", 400, ("validation_accuracy",))

    def answered():
        found.append(bands(database, CurveStore(), *asked))

    def one():
        with database.read() as session:
            read_evaluations(session, [ids[:1]])

    found: list[object] = []
    answered()  # what is imported or compiled at the first look does not count
    assert peak(answered) < 4 * peak(one) + 40 * EACH * RUNS
    assert found[0] == true_bands(database, *asked)
