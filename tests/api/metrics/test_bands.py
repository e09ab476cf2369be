"""Bands against SciPy, and against the promise that a growing curve never jumps."""

import math

import numpy as np
import pytest
from hooke.comparison.intervals import interval, t_quantile
from hooke_api.metrics import brackets
from hooke_api.metrics.bands import Curve, band, common_grid, grid_step, interpolate
from hypothesis import given
from hypothesis import strategies as st


def test_the_interval_is_scipys():
    from scipy import stats

    values = [0.91, 0.934, 0.902, 0.95, 0.889]
    low, high = stats.t.interval(0.95, 4, loc=np.mean(values), scale=stats.sem(values))
    found = interval(values)
    assert found.mean == pytest.approx(np.mean(values), rel=1e-14)
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-12)
    for degrees in (1, 2, 4, 30, 99):
        assert t_quantile(degrees) == pytest.approx(stats.t.ppf(0.975, degrees), rel=1e-12)


def test_nothing_is_assumed_of_fewer_than_two():
    assert (interval([]).mean, interval([]).n) == (None, 0)
    assert (interval([3.0]).mean, interval([3.0]).low, interval([3.0]).high) == (3.0, None, None)


def test_a_loss_that_diverged_has_a_band_without_ends():
    """Warnings are errors here, and answers with null instead of infinity are made of what is not finite."""
    x = np.array([0.0, 1.0])
    found = band([Curve(x, np.array([2.0, y]), ended=True) for y in (1.0, 1e200)], 16, 1.0)
    assert found.mean[0] == 2.0 and found.low[0] == 2.0
    assert found.mean[-1] == 5e199 and not np.isfinite(found.high[-1])


def test_a_band_by_hand():
    a = Curve(np.array([0.0, 4.0]), np.array([0.0, 4.0]), ended=True)
    b = Curve(np.array([1.0, 2.0, 3.0]), np.array([5.0, 5.0, 8.0]), ended=True)
    found = band([a, b], 16, 1.0)
    at = dict(zip(found.x.tolist(), zip(found.mean, found.low, found.high, found.n, strict=True), strict=True))
    assert at[0.5][0] == 0.5 and at[0.5][3] == 1 and math.isnan(at[0.5][1])  # b has not begun
    mean, low, high, n = at[2.5]  # a: 2.5, b: 6.5, half width 12.7062 * sqrt(8) / sqrt(2)
    assert (mean, n) == (4.5, 2)
    assert high - mean == pytest.approx(12.706204736 * 2.0, rel=1e-9) and mean - low == pytest.approx(high - mean)
    assert at[3.0][0] == 5.5
    assert at[4.0][0] == 4.0 and at[4.0][3] == 1  # b has ended: it is not carried on
    assert found.x[-1] == 4.0


def test_a_gap_is_not_bridged():
    curve = Curve(np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, np.nan, 3.0, 4.0]), ended=True)
    grid = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.1])
    y = interpolate(curve, grid)
    assert np.isnan(y[[1, 2, 3, 7]]).all()
    assert y[[0, 4, 5, 6]].tolist() == [1.0, 3.0, 3.5, 4.0]


steps = st.lists(st.floats(0.01, 10), min_size=1, max_size=80)


@given(steps, steps, st.integers(16, 64), st.sampled_from([1.0, 64.0]))
def test_interpolation_is_numpys_inside_the_range_and_nothing_outside(gaps, heights, most, unit):
    n = min(len(gaps), len(heights))
    curve = Curve(np.cumsum(gaps[:n]), np.array(heights[:n]), ended=True)
    grid = common_grid([curve], most, unit)
    assert len(grid) <= most and (np.diff(grid) > 0).all()
    y = interpolate(curve, grid)
    assert np.isfinite(y).all()  # one seed: its grid lies in its range
    np.testing.assert_allclose(y, np.interp(grid, curve.x, curve.y), rtol=1e-9)
    wider = np.concatenate([[curve.x[0] - 1e-6], grid, [curve.x[-1] + 1e-6]])
    assert np.isnan(interpolate(curve, wider)[[0, -1]]).all()


@given(steps, steps, st.integers(16, 64))
def test_appending_never_moves_a_grid_point(gaps, more, most):
    x = np.cumsum(gaps + more)
    short, long = (common_grid([Curve(v, v, ended=False)], most, 1.0) for v in (x[: len(gaps)], x))
    kept = long[long <= x[len(gaps) - 1]]
    assert set(kept.tolist()) <= set(short.tolist())


@given(st.floats(1e-6, 1e9), st.integers(8, 500), st.sampled_from([1.0, 32.0, 128.0]))
def test_the_grid_is_as_fine_as_it_may_be(reach, cells, unit):
    step = grid_step(reach, cells, unit)
    assert reach / step <= cells + 1 and reach / (step / 2) >= cells * (1 - 1e-9)
    assert math.log2(step / unit) == int(math.log2(step / unit))


def test_seeds_that_stop_early_lower_n_and_no_curve_at_all_is_empty():
    curves = [Curve(np.arange(k) * 1.0, np.full(k, float(k)), ended=True) for k in (3, 5, 9)]
    found = band(curves, 64, 1.0)
    n = dict(zip(found.x.tolist(), found.n.tolist(), strict=True))
    assert (n[2.0], n[2.25], n[4.0], n[4.25], n[8.0]) == (3, 2, 2, 1, 1)
    assert len(band([], 64, 1.0).x) == 0
    assert len(band([Curve(np.empty(0), np.empty(0), ended=False)], 64, 1.0).x) == 0


def test_evaluations_at_zero_alone():
    found = band([Curve(np.zeros(1), np.array([0.1]), ended=False)] * 3, 64, 1.0)
    assert (found.x.tolist(), found.mean.tolist(), found.n.tolist()) == ([0.0], [pytest.approx(0.1)], [3])


moments = st.integers(0, 40_000).map(lambda n: n / 128)
distances = st.lists(st.integers(0, 300).map(lambda n: n / 100), min_size=1, max_size=200)


@given(distances, st.lists(st.integers(1, 60), max_size=8), moments, moments, st.integers(16, 64))
def test_a_band_needs_only_the_points_beside_its_places(gaps, parts, end, other, most):
    """Of a seed that goes on, while another one has ended at a time, and a third one is ahead of it."""
    x = np.cumsum(gaps, dtype=np.float64)
    y = np.cos(x)
    kept, begin = brackets.nothing(1.0, 1, [end]), 0
    for part in parts:
        cut = slice(begin, begin + part)
        kept = kept.extended(x[cut], y[cut][np.newaxis])
        begin = min(begin + part, len(x))
    tail = slice(begin, begin + 20)
    few_x, few_y = kept.followed(x[tail], y[tail][np.newaxis])
    n = min(begin + 20, len(x))
    ended, ahead = Curve(np.array([0.0, end]), np.ones(2), True), Curve(np.array([0.0, other]), np.zeros(2), False)
    found = band([Curve(few_x, few_y[0], False), ended, ahead], most, 1.0)
    expected = band([Curve(x[:n], y[:n], False), ended, ahead], most, 1.0)
    for one, two in zip(vars(found).values(), vars(expected).values(), strict=True):
        assert np.array_equal(one, two, equal_nan=True)
    assert len(kept.x) <= 2 * brackets.CELLS + 10


def test_a_place_is_watched_in_time_or_not_at_all():
    kept = brackets.nothing(1.0, 1).extended(np.array([2.0, 3.0, 5.0]), np.ones((1, 3)))
    assert kept.watching([5.0, 7.5, 1.0]).watched.tolist() == [1.0, 5.0, 7.5]
    assert kept.watching([2.0]) is None and kept.watching([6.0, 4.2]) is None
    assert kept.watching([]) is kept
    seen = kept.watching([7.5])
    assert seen.watching([7.5]) is seen
    more = seen.extended(np.array([7.4, 7.6, 7.7, 600.0]), np.ones((1, 4)))
    assert {7.4, 7.6} <= set(more.x.tolist())
