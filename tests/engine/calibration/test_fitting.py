"""Estimates and fits on synthetic data whose truth is known."""

import math

import numpy as np
import pytest
from hooke.calibration.documents import Duration
from hooke.calibration.fitting import BLOCK, block_mean, estimate, jitter, line

SIZES = [8, 1 << 10, 1 << 14, 1 << 17, 1 << 20, 1 << 22]


def test_a_line_is_recovered_and_its_errors_are_those_of_repeated_measurements():
    alpha, beta = 5e-6, 1.2e-9
    fits, random = [], np.random.default_rng(1)
    for _ in range(300):
        points = []
        for size in SIZES:
            truth = alpha + beta * size
            error = 0.05 * truth
            points.append(Duration(seconds=truth + error * random.standard_normal(), error=error, samples=100))
        fits.append(line([1.0] * len(SIZES), SIZES, points))
    for name, truth in (("alpha", alpha), ("beta", beta)):
        values = np.array([getattr(fit, name) for fit in fits])
        errors = np.array([getattr(fit, f"{name}_error") for fit in fits])
        assert values.mean() == pytest.approx(truth, rel=0.01)
        assert values.std() == pytest.approx(np.median(errors), rel=0.35)  # chi square above 1 widens some
        assert np.mean(np.abs(values - truth) < 2 * errors) > 0.93


def test_weights_count_a_precise_point_more():
    points = [
        Duration(seconds=1.0, error=1e-6, samples=9),
        Duration(seconds=2.0, error=1e-6, samples=9),
        Duration(seconds=99.0, error=1e3, samples=9),
    ]
    found = line([1, 1, 1], [0, 1, 2], points)
    assert (found.alpha, found.beta) == (pytest.approx(1.0, rel=1e-3), pytest.approx(1.0, rel=1e-2))


def test_messages_and_bytes_of_schedules_are_told_apart():
    """Points of several numbers of ranks: seconds = rounds x alpha + bytes on the path x beta."""
    rounds, sizes = [2, 2, 4, 4, 6], [1e3, 1e6, 2e3, 1e6, 4e6]
    points = [
        Duration(seconds=3e-5 * r + 2e-9 * s, error=1e-7, samples=9) for r, s in zip(rounds, sizes, strict=True)
    ]
    found = line(rounds, sizes, points)
    assert (found.alpha, found.beta) == (pytest.approx(3e-5), pytest.approx(2e-9))
    assert found.misfit < 1e-9


def test_a_negative_latency_is_none():
    points = [Duration(seconds=s, error=1e-9, samples=9) for s in (1e-7, 1e-3, 4e-3)]
    found = line([1, 1, 1], [1e3, 1e6, 2e6], points)
    assert found.alpha == 0.0
    assert found.alpha_error > 0, "it is small, not known to be 0"
    assert found.beta > 0


def test_one_point_is_no_line():
    assert line([1], [1], [Duration(seconds=1, error=0, samples=1)]) is None


def test_the_error_of_a_median_is_that_of_repeated_medians():
    random = np.random.default_rng(2)
    rounds = random.lognormal(0, 0.5, size=(400, 3, 60))
    found = [estimate(each.tolist()) for each in rounds]
    spread = np.std([each.seconds for each in found])
    assert np.median([each.error for each in found]) == pytest.approx(spread, rel=0.4)


def test_slow_changes_widen_the_error():
    still = [[1.0, 1.01, 0.99] * 20] * 3
    moved = [[value * factor for value in still[0]] for factor in (1.0, 1.5, 2.0)]
    assert estimate(moved).error > 10 * estimate(still).error


def test_an_outlier_does_not_move_the_median():
    assert estimate([[1.0] * 50 + [1e3] * 10]).seconds == 1.0


@pytest.mark.parametrize("ranks", [1, 4])
def test_the_parts_of_jitter_are_recovered(ranks):
    random = np.random.default_rng(3)
    truth = {"independent": 0.1, "slow": 0.05, "common": 0.08, "between_ranks": 0.06}
    found = []
    for _ in range(20):
        blocks = 40
        logs = truth["independent"] * random.standard_normal((ranks, blocks, BLOCK))
        logs += truth["slow"] * random.standard_normal((ranks, blocks, 1))
        logs += truth["common"] * random.standard_normal((1, blocks, 1))
        logs += truth["between_ranks"] * random.standard_normal((ranks, 1, 1))
        found.append(jitter(np.exp(logs).reshape(ranks, -1)))
    squares = {name: math.sqrt(np.mean([getattr(each, name) ** 2 for each in found])) for name in truth}
    if ranks == 1:  # nothing to tell common from slow, nor ranks from one another
        assert squares["slow"] == pytest.approx(math.hypot(truth["slow"], truth["common"]), rel=0.1)
        assert squares["common"] == squares["between_ranks"] == 0.0
        return
    assert squares == pytest.approx(truth, rel=0.3)
    assert squares["independent"] == pytest.approx(truth["independent"], rel=0.02)


def test_independent_jitter_has_no_other_parts():
    times = np.random.default_rng(4).lognormal(0, 0.2, size=(4, 64 * BLOCK))
    found = jitter(times)
    assert found.independent == pytest.approx(0.2, rel=0.05)
    assert max(found.slow, found.common, found.between_ranks) < 0.03


def test_two_blocks_are_needed():
    with pytest.raises(ValueError, match="two blocks"):
        jitter(np.ones((2, BLOCK)))


def test_block_means():
    assert block_mean(np.arange(2.0 * BLOCK).reshape(1, -1)) == [[(BLOCK - 1) / 2, BLOCK + (BLOCK - 1) / 2]]


@pytest.mark.parametrize("alpha", [1e-10, 2e-7, 5e-6])
def test_two_standard_errors_hold_the_truth_also_where_a_coefficient_is_cut_off(alpha):
    random, beta, held = np.random.default_rng(8), 1e-9, np.zeros(2)
    for _ in range(400):
        truth = alpha + beta * np.array(SIZES)
        points = [
            Duration(seconds=abs(each * (1 + 0.05 * random.standard_normal())), error=0.05 * each, samples=9)
            for each in truth
        ]
        found = line([1.0] * len(SIZES), SIZES, points)
        held += (
            abs(found.alpha - alpha) <= 2 * found.alpha_error,
            abs(found.beta - beta) <= 2 * found.beta_error,
        )
    assert (held / 400 > 0.93).all()
