"""Runs of few rows: nothing is left out of them, so that a first look has nothing to choose."""

import random

import pytest
from hooke_api.metrics import growth
from hooke_api.metrics.curves import CurveStore

from tests.api.databases import ONE_KIND
from tests.api.metrics.delivered import (
    METRICS,
    Delivered,
    add_experiment,
    bands,
    let_few_steps_be_many,
    series,
    true_bands,
    true_series,
)

small = pytest.fixture(autouse=True)(let_few_steps_be_many)


@ONE_KIND
@pytest.mark.parametrize("rows", [300, 40])
def test_more_points_than_before_need_no_step_again(database, monkeypatch, rows):
    """Of one of more rows than wait for it, points are chosen, and those for fewer do not do for more."""
    begun, thinned = [], []
    monkeypatch.setattr(growth, "WHOLE_ROWS", rows)
    for known, name, told in ((growth, "_beginning", begun), (growth._Growth, "_thin_out", thinned)):
        real = getattr(known, name)
        monkeypatch.setattr(known, name, lambda *given, real=real, told=told: [told.append(1), real(*given)][1])
    run, store = Delivered(database, add_experiment(database), "original-easgd", 2, 1), CurveStore()
    for rank in range(3):
        run.write(rank, 290, seed=1)
    for points in (16, 64, 32, 50, 64):
        for rank in range(3):
            run.deliver(rank, 50)
        run.score(90 * points, 0.5)
        asked = (random.Random(points).choice(("clock", "samples", "bytes")), points, METRICS)
        assert series(database, store, run.id, *asked) == true_series(database, run.id, *asked)
        found = bands(database, store, run.experiment, "bytes", 32, METRICS)
        assert found == true_bands(database, run.experiment, "bytes", 32, METRICS)
    assert (not thinned, len(begun) == 1) == (rows == 300, rows == 300)
