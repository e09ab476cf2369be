"""Exchanges of touched rows at odd sizes, against float64 NumPy: one worker, five, seven; periods of 1 and beyond."""

import numpy as np
import pytest

from tests.engine.loop.row_rules import gradient, in_turn, together
from tests.engine.loop.setup import Setup, play_virtual
from tests.engine.loop.setups import TOUCHED

LR, STEPS = 0.05, 14
"""Steps of each worker."""
WORKERS = [1, 3, 5, 7]
FOR_EVER = 50


def played(folder, name, workers, *parameters):
    """Return what each rank reports, and the items of the batches of each worker."""
    steps = STEPS * workers
    setup = Setup(
        name, (("lr", LR), *parameters), workers, steps=steps, every=steps, rows="some", changes=TOUCHED
    )
    reports = [attempts[0] for attempts in play_virtual(setup, folder)]
    return reports, [report.items for report in reports[:workers]]


def near(value, expected):
    np.testing.assert_allclose(value, expected, rtol=3e-5, atol=3e-6)


def averaged(start, items, period):
    """H steps of each worker, then the mean for all (arXiv 1805.09767)."""
    xs = [np.float64(start) for _ in items]
    for t in range(len(items[0])):
        xs = [x - LR * gradient(i, x, items[i][t]) for i, x in enumerate(xs)]
        if (t + 1) % period == 0:
            xs = [np.mean(xs, axis=0)] * len(xs)
    return xs


@pytest.mark.parametrize("period", [1, 3, FOR_EVER])
@pytest.mark.parametrize("workers", WORKERS)
def test_averages(tmp_path, workers, period):
    reports, items = played(tmp_path, "local-sgd", workers, ("period", period))
    for report, x in zip(reports, averaged(reports[0].start, items, period), strict=True):
        near(report.weights, x)
    if period == FOR_EVER:
        assert reports[0].center.tobytes() == reports[0].start.tobytes(), "nothing was averaged"


@pytest.mark.parametrize("period", [1, 3, FOR_EVER])
@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("name", ["sync-easgd", "sync-easgd1"])
def test_exchanges_of_all(tmp_path, name, workers, period):
    a = 0.9 / workers
    reports, items = played(tmp_path, name, workers, ("period", period), ("alpha", a))
    rule = together(reports[0].start, items, LR, a, period)
    for report, x in zip(reports, rule.xs, strict=False):
        near(report.weights, x)
    center = reports[-1].weights if name == "sync-easgd1" else reports[0].center
    near(center, rule.c)


@pytest.mark.parametrize("mode", ["ordered", "serial"])
@pytest.mark.parametrize("workers", WORKERS)
def test_exchanges_in_turn(tmp_path, workers, mode):
    reports, items = played(tmp_path, "original-easgd", workers, ("mode", mode), ("alpha", 0.3))
    rule = in_turn(reports[0].start, items, LR, 0.3)
    for report, x in zip(reports, [*rule.xs, rule.c], strict=True):
        near(report.weights, x)
