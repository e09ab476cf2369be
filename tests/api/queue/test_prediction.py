"""Predictions of durations: from the closest likeness, with intervals that hold."""

import math
import random

import pytest
from hooke_api.queue.likeness import Kind, history_of_runs
from hooke_api.queue.prediction import Prediction, remaining, total

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
        (SAME, 8.0, "the same workload, algorithm, ranks, cluster, budget and target"),
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


def test_start_up_does_not_grow_with_the_budget():
    """6 s of start-up and 0.4 s of training of 1,000 samples: 100,000 samples take 46 s, not 640."""
    history = history_of_runs()
    for _ in range(50):
        history.add(SAME, 6.4, starting=6.0)
    found = history.predict(like(samples=100_000))
    assert found.seconds == pytest.approx(46, rel=0.05)
    assert found.low > 6
    assert history.predict(SAME).seconds == pytest.approx(6.4, rel=0.02)


def test_a_run_that_timed_out_counts_by_what_it_did():
    """The wall limit ended it after a tenth of its budget: one without a limit takes ten times as long."""
    history = history_of_runs()
    for _ in range(50):
        history.add(like(limit=30.0), 30.0, size=100)
    assert history.predict(like(limit=30.0)).seconds == pytest.approx(30, rel=0.02)
    assert history.predict(SAME).seconds == pytest.approx(300, rel=0.05)


def test_one_that_met_its_target_says_little_of_one_without():
    found = known((like(target=0.9), 5.0)).predict(SAME)
    assert found.likeness == "the same workload, algorithm, ranks and cluster"


def test_a_wall_limit_bounds_a_prediction():
    history = history_of_runs()
    history.add(SAME, 16.0, starting=6.0)
    found = history.predict(like(samples=10**12, limit=60.0))
    assert (found.seconds, found.high) == (66, 66)
    assert found.low <= found.seconds
    assert history.predict(like(samples=2000, limit=1e6)).seconds == pytest.approx(27, rel=0.1)


@pytest.mark.parametrize("seconds", [math.nan, math.inf, -1.0])
def test_durations_that_clocks_make_up_are_not_counted(seconds):
    assert known((SAME, seconds)).predict(SAME) is None


@pytest.mark.parametrize(("spread", "elapsed"), [(0.3, 50.0), (0.3, 200.0), (0.6, 400.0), (0.1, 120.0)])
def test_what_remains_is_the_mean_of_those_that_last_longer(spread, elapsed):
    draw = random.Random(7)
    middle = math.log(100) - spread**2 / 2
    lasted = [each for _ in range(100_000) if (each := math.exp(draw.gauss(middle, spread))) > elapsed]
    mean = sum(lasted) / len(lasted) - elapsed
    square = sum((each - elapsed - mean) ** 2 for each in lasted) / len(lasted)
    found = remaining(Prediction(100, spread=100 * math.sqrt(math.expm1(spread**2))), elapsed)
    assert found.seconds == pytest.approx(mean, rel=0.1)
    assert found.spread == pytest.approx(math.sqrt(square), rel=0.15)


def test_what_remains_exists_far_beyond_what_was_predicted():
    predicted = Prediction(10, spread=3, error=1)
    left = [remaining(predicted, elapsed).seconds for elapsed in (0, 1e2, 1e3, 1e6, 1e12)]
    assert left[0] == 10
    assert all(math.isfinite(each) and each > 0 for each in left)
    assert remaining(Prediction(10), 30).seconds == 0
