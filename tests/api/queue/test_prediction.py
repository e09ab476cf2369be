"""Predictions of durations: from the closest likeness, with intervals that hold."""

import math
import random

import pytest
from hooke_api.queue.prediction import Kind, Prediction, history_of_runs, total

SAME = Kind("lab", False, "mnist", "easgd", 4, 1000)


def known(*runs):
    history = history_of_runs()
    for kind, seconds in runs:
        history.add(kind, seconds)
    return history


def like(**changes):
    from dataclasses import replace

    return replace(SAME, **changes)


def test_nothing_known_says_so():
    assert known().predict(SAME) is None
    assert known((like(workload="other"), 5.0)).predict(SAME) is None
    assert known((like(simulated=True), 5.0)).predict(SAME) is None
    assert known((SAME, 0.0)).predict(SAME) is None


@pytest.mark.parametrize(
    ("other", "middle", "likeness"),
    [
        (SAME, 8.0, "the same workload, algorithm, ranks, cluster and budget"),
        (like(samples=4000), 2.0, "the same workload, algorithm, ranks and cluster"),
        (like(samples=4000, ranks=2), 2.0, "the same workload, algorithm and cluster"),
        (like(samples=500, algorithm="sgd"), 16.0, "the same workload and cluster"),
        (like(cluster="far"), 8.0, "the same workload, algorithm and ranks on other clusters"),
    ],
)
def test_a_coarser_likeness_scales_with_the_budget(other, middle, likeness):
    found = known((other, 8.0)).predict(SAME)
    assert math.sqrt(found.low * found.high) == pytest.approx(middle)
    assert (found.likeness, found.runs) == (likeness, 1)


def test_the_closest_likeness_decides_alone():
    found = known((SAME, 8.0), *[(like(samples=2000), 1.0)] * 50).predict(SAME)
    assert math.sqrt(found.low * found.high) == pytest.approx(8.0)


def test_coarser_is_less_certain_and_more_runs_are_more_certain():
    widths = [
        math.log(found.high / found.low)
        for found in (
            known(*[(SAME, 8.0)] * 20).predict(SAME),
            known((SAME, 8.0)).predict(SAME),
            known((like(samples=4000), 8.0)).predict(SAME),
            known((like(cluster="far"), 8.0)).predict(SAME),
        )
    ]
    assert widths == sorted(widths)


@pytest.mark.parametrize(("runs", "least"), [(1, 0.8), (3, 0.85), (30, 0.87)])
def test_nine_of_ten_runs_end_within_the_interval(runs, least):
    """Against truth: durations drawn from log-normal distributions of a spread that is not the assumed one."""
    draw, inside = random.Random(runs), 0
    for _ in range(1000):
        middle, spread = draw.uniform(0, 6), draw.choice((0.1, 0.2, 0.4))
        durations = [math.exp(draw.gauss(middle, spread)) for _ in range(runs + 1)]
        found = known(*((SAME, seconds) for seconds in durations[1:])).predict(SAME)
        inside += found.low <= durations[0] <= found.high
    assert inside / 1000 >= least


def test_the_mean_is_that_of_the_durations():
    draw = random.Random(1)
    durations = [math.exp(draw.gauss(2, 0.5)) for _ in range(4000)]
    found = known(*((SAME, seconds) for seconds in durations)).predict(SAME)
    assert found.seconds == pytest.approx(math.exp(2 + 0.5**2 / 2), rel=0.05)
    assert found.spread == pytest.approx(found.seconds * math.sqrt(math.exp(0.5**2) - 1), rel=0.1)


def test_errors_of_one_prediction_add_and_spreads_do_not():
    assert total([(4, Prediction(10, spread=3, error=0))]) == (40, 6)
    assert total([(4, Prediction(10, spread=0, error=2))]) == (40, 8)
    assert total([(1, Prediction(10, spread=3)), (1, Prediction(5, spread=4))]) == (15, 5)
    assert total([(1, Prediction(10, error=3)), (2, Prediction(5, error=1))]) == (20, 5)
    assert total([(1, Prediction(10)), (1, None)]) is None
    assert total([]) == (0, 0)
