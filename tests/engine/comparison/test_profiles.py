"""Profiles and scores against closed forms, a numerical integral, scipy's distribution functions and bootstrap."""

import math

import numpy as np
import pytest
from hooke.comparison.profiles import performance_ratios, profile, profile_score, scores
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

RATIOS = st.lists(st.one_of(st.floats(1, 6), st.just(math.inf)), min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [
        ([1.0], 1.0),
        ([1.0, 1.0, 1.0], 1.0),
        ([math.inf, 4.0, 9.0], 0.0),
        ([2.5], 0.5),
        ([1.0, math.inf], 0.5),
        ([1.0, 2.0, 4.0], (1 + 2 / 3 + 0) / 3),
    ],
)
def test_scores_have_closed_forms(ratios, expected):
    assert profile_score(ratios) == pytest.approx(expected)


@settings(max_examples=30)
@given(RATIOS)
def test_a_profile_is_the_distribution_of_the_ratios_and_the_score_its_integral(ratios):
    taus = np.linspace(1, 4, 6001)
    shares = (np.array(ratios)[:, None] <= taus).mean(axis=0)
    finite = np.where(np.isfinite(ratios), ratios, 1e9)
    assert stats.ecdf(finite).cdf.evaluate(taus) == pytest.approx(shares)
    assert profile_score(ratios) == pytest.approx(np.trapezoid(shares, taus) / 3, abs=3 / 6000)
    corners = profile(ratios)
    x, y = np.array(corners).T
    assert np.trapezoid(y, x) / 3 == pytest.approx(profile_score(ratios))
    assert (x[0], x[-1]) == (1, 4)
    assert np.all(np.diff(x) >= 0)
    assert np.all(np.diff(y) >= 0)


def test_ratios_are_relative_to_the_best_of_each_workload():
    found = performance_ratios([[2.0, 1.0, math.inf], [3.0, 6.0, 3.0], [math.inf] * 3])
    assert found == [[2, 1, math.inf], [1, 2, 1], [math.inf] * 3]


def test_times_are_medians_of_the_seeds_that_all_methods_have():
    """Half of the seeds missed: the median is infinite; a seed that only one method has does not count."""
    measured = [
        {"a": {0: 1.0, 1: 2.0, 2: 9.0, 7: 0.1}, "b": {0: 4.0, 1: 4.0, 2: 1.0}},
        {"a": {0: 1.0, 1: 1.0}, "b": {0: 1.0, 1: math.inf}},
    ]
    found = scores(measured)
    assert found["a"].seconds == (2.0, 1.0)
    assert found["b"].seconds == (4.0, math.inf)
    assert found["b"].ratios == (2.0, math.inf)
    assert found["b"].value == pytest.approx((2 / 3 + 0) / 2)
    assert found["b"].low is None, "two seeds have no interval"


def test_intervals_contain_the_percentile_and_the_basic_bootstrap():
    """Against scipy's, one workload and two methods; the fastest one always scores 1."""
    draw = np.random.default_rng(5)
    slow = np.exp(draw.normal(math.log(2.0), 0.3, 9))
    measured = [{"fast": dict(enumerate([1.0] * 9)), "slow": dict(enumerate(slow))}]
    found = scores(measured)

    def score(times, axis):
        return np.maximum(0, 4 - np.maximum(1, np.median(times, axis=axis))) / 3

    def bootstrap(method):
        return stats.bootstrap((slow,), score, method=method, n_resamples=4000, rng=1).confidence_interval

    value = found["slow"].value
    ends = [end for method in ("percentile", "basic") for end in bootstrap(method)]
    reach = math.sqrt(9 / 8) * max(abs(end - value) for end in ends)
    assert (found["slow"].low, found["slow"].high) == pytest.approx((value - reach, value + reach), abs=0.03)
    assert found["slow"].low < min(ends) < value < max(ends) < found["slow"].high
    assert (found["fast"].low, found["fast"].high) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("medians", "least"),
    [((1.0, 1.0, 1.0), 0.80), ((1.0, 1.05, 1.1), 0.9), ((1.0, 1.5, 2.25), 0.9)],
    ids=["equal", "close", "apart"],
)
def test_intervals_cover_the_true_scores(medians, least, monkeypatch):
    """Five workloads and seeds: the rate at which intervals contain the score of the true medians, by method."""
    monkeypatch.setattr("hooke.comparison.profiles.RESAMPLES", 300)
    draw = np.random.default_rng(2)
    truth = [profile_score([ratio]) for ratio in medians]
    covered = []
    for _ in range(80):
        times = np.array(medians) * np.exp(draw.normal(0, 0.1, (5, 5, 1)) + draw.normal(0, 0.2, (5, 5, 3)))
        found = scores([{s: dict(enumerate(of_workload[:, s])) for s in range(3)} for of_workload in times])
        covered.append([found[s].low <= truth[s] + 1e-9 and truth[s] <= found[s].high + 1e-9 for s in range(3)])
    assert np.mean(covered, axis=0).min() >= least


@settings(max_examples=30)
@given(st.lists(st.lists(st.floats(0.5, 9), min_size=9, max_size=9), min_size=1, max_size=3))
def test_a_score_lies_in_its_interval(of_workloads):
    measured = [{s: dict(enumerate(times[3 * s : 3 * s + 3])) for s in range(3)} for times in of_workloads]
    assert all(0 <= each.low <= each.value <= each.high <= 1 for each in scores(measured).values())


def test_seeds_are_drawn_for_all_methods_alike():
    """Two methods whose times differ by one factor on every seed have no uncertainty in their ratio."""
    times = {0: 1.0, 1: 5.0, 2: 2.0, 3: 9.0, 4: 3.0}
    found = scores([{"a": times, "b": {seed: 2 * time for seed, time in times.items()}}])
    assert (found["b"].low, found["b"].high) == (pytest.approx(2 / 3), pytest.approx(2 / 3))


@pytest.mark.parametrize(
    ("measured", "words"),
    [
        ([{"a": {0: 1.0}}, {"b": {0: 1.0}}], "every workload needs a time of every method"),
        ([{"a": {0: 1.0}, "b": {1: 1.0}}], "no seed in common"),
        ([{"a": {0: 0.0}}], "before the first step"),
    ],
)
def test_what_has_no_ratio_is_refused(measured, words):
    with pytest.raises(ValueError, match=words):
        scores(measured)
