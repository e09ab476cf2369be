"""Runs in progress: a look reads what is new of all of them together, and answers as if it had read everything."""

import random

import pytest
from hooke_api.metrics import curves, pieces
from hooke_api.metrics.curves import CurveStore
from hooke_api.models import StoredEvaluation
from sqlalchemy import event

from tests.api.databases import ONE_KIND
from tests.api.metrics.delivered import (
    OF_STEPS,
    Delivered,
    add_experiment,
    add_to,
    bands,
    count_record,
    let_few_steps_be_many,
    true_bands,
)

small = pytest.fixture(autouse=True)(let_few_steps_be_many)
METRICS = ("train_loss", "throughput", "validation_accuracy", "p_at_3")


def queries(database, look):
    """Return what a look returns, and the number of its queries."""
    seen = []

    def note(_connection, _cursor, statement, *_rest):
        seen.append(statement)

    event.listen(database.engine, "before_cursor_execute", note)
    try:
        return look(), sum(statement.startswith("SELECT") for statement in seen)
    finally:
        event.remove(database.engine, "before_cursor_execute", note)


@ONE_KIND
def test_the_number_of_queries_does_not_depend_on_that_of_runs(database):
    taken, first = [], []
    for count in (2, 7):
        experiment, store = add_experiment(database), CurveStore()
        runs = [Delivered(database, experiment, "sync-sgd", 2) for _ in range(count)]
        for n, run in enumerate(runs):
            for rank in (0, 1):
                run.write(rank, 60, seed=n)
                run.deliver(rank, 30)
            run.score(8, 0.5)
        asked = (experiment, "clock", 32, METRICS)
        found, number = queries(database, lambda store=store, asked=asked: bands(database, store, *asked))
        assert found == true_bands(database, *asked)
        first.append(number)
        for run in runs:
            run.deliver(0, 9)
            run.deliver(1, 7)
            run.score(160, 0.25)
        found, number = queries(database, lambda store=store, asked=asked: bands(database, store, *asked))
        assert found == true_bands(database, *asked)
        taken.append(number)
    assert taken[0] == taken[1]
    assert first[0] == first[1]


@ONE_KIND
@pytest.mark.parametrize("limit", ["none", "few steps", "few runs"])
def test_answers_are_those_of_everything_whatever_is_read_together(database, limit, monkeypatch):
    """Runs that deliver and are evaluated at random, also by another rank, out of order, and in other attempts."""
    if limit != "none":
        monkeypatch.setattr(pieces, *{"few steps": ("FEW_STEPS", 25), "few runs": ("RUNS", 2)}[limit])
    draw, store, experiment = random.Random(limit), CurveStore(), add_experiment(database)
    runs = [Delivered(database, experiment, "sync-sgd", 2) for _ in range(4)]
    for n, run in enumerate(runs):
        for rank in (0, 1):
            run.write(rank, 200, seed=n)
    asked = (experiment, "samples", 32, (*METRICS, *OF_STEPS[3:]))
    samples = dict.fromkeys(range(4), 0)
    for look in range(9):
        for n, run in enumerate(runs):
            for rank in draw.sample((0, 1), 2):
                run.deliver(rank, draw.choice((0, 3, 20)))
            if draw.random() < 0.7:
                samples[n] += draw.randint(1, 30) * 16
                run.score(samples[n], draw.random())
        if look == 3:
            runs[0].score(8, 0.9)  # before those that are known
        if look == 5:
            with database.write() as session:
                of = {"run_id": runs[1].id, "attempt": 1, "rank": 1, "seq": 1, "step": 1, "seconds": 0.0}
                row = {"samples": 10**5, "clock": 1.0, "wall": 1.0, "loss": 0.1, "accuracy": 0.5, "reached": False}
                session.add(StoredEvaluation(**of, **row))
                count_record(session, runs[1].id)
                add_to(session, runs[1].id, evaluations=1)
        if look == 6:
            runs[2].again(None)
            runs[2].begin((0, 1))
            runs[2].write(0, 100, seed=9)
            runs[2].write(1, 100, seed=9)
        assert bands(database, store, *asked) == true_bands(database, *asked)


@ONE_KIND
def test_only_new_evaluations_are_read(database, monkeypatch):
    read, later = [], []
    real = {name: getattr(curves, name) for name in ("read_evaluations", "later_evaluations")}
    monkeypatch.setattr(curves, "read_evaluations", lambda *given: _noted(read, real["read_evaluations"](*given)))
    monkeypatch.setattr(
        curves, "later_evaluations", lambda *given: _noted(later, real["later_evaluations"](*given))
    )
    run, store = Delivered(database, add_experiment(database), "sync-sgd", 1), CurveStore()
    run.write(0, 90, seed=1)
    asked = (run.experiment, "clock", 32, METRICS)
    for look in range(1, 9):
        run.deliver(0, 10)
        run.score(80 * look, 1 / look)
        assert bands(database, store, *asked) == true_bands(database, *asked)
    assert (sum(read), sum(later)) == (1, 7)


def _noted(numbers, found):
    numbers.append(sum(map(len, found.values())))
    return found
