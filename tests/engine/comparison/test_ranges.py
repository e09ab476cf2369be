"""The mean of ranges: against the t test where they are points, and where rounding is as large as the noise."""

import math

import numpy as np
import pytest
from hooke.comparison.ranges import Range, mean_of


def points(*values: float) -> list[Range]:
    return [Range(v, v, v) for v in values]


def test_of_points_it_is_the_t_test():
    from scipy import stats

    values = [0.3, 0.5, 0.1, 0.45]
    tested = stats.ttest_1samp(values, 0)
    low, high = tested.confidence_interval(0.95)
    found = mean_of(points(*values))
    assert (found.point, found.low, found.high) == pytest.approx((np.mean(values), low, high), rel=1e-12)
    assert found.p == pytest.approx(tested.pvalue, rel=1e-9)
    assert mean_of(points(*(-v for v in values))).p == pytest.approx(tested.pvalue, rel=1e-9)


def test_the_p_value_is_below_5_percent_where_the_interval_excludes_0():
    rng = np.random.default_rng(3)
    for _ in range(500):
        low = rng.normal(0.5, 0.5, 4)
        found = mean_of([Range(a, a + w, a) for a, w in zip(low, rng.uniform(0, 0.3, 4), strict=True)])
        assert (found.p < 0.05) == (found.low > 0 or found.high < 0)


@pytest.mark.parametrize("seeds", [3, 4, 5])
@pytest.mark.parametrize("noise", [0.1, 0.3, 0.5, 1.0])
def test_rounding_as_large_as_the_noise_does_not_hide_it(seeds, noise):
    """The worst case: the other side is known exactly, and the mean lies just above the end of an interval.

    Three values in one interval look as if they had no noise; taken so, 7% of lower ends lie above the mean.
    """
    draws, mean = 4000, 0.1
    low = np.floor(np.random.default_rng(seeds).normal(mean, noise, (draws, seeds))).tolist()
    found = [mean_of([Range(a, a + 1, a) for a in row]) for row in low]
    most = 0.025 + 3.3 * math.sqrt(0.025 / draws)
    assert sum(f.low > mean for f in found) <= most * draws
    assert sum(f.high < mean for f in found) <= most * draws


def test_open_ends_stay_open():
    below, above = Range(1, 2, 1, open_below=True), Range(3, 4, 3, open_above=True)
    assert mean_of([below, *points(2, 3)]).low is None
    assert mean_of([above, *points(2, 3)]).high is None
    nothing = mean_of([below, above, *points(2)])
    assert (nothing.point, nothing.low, nothing.high, nothing.p) == (None, None, None, 1.0)
    assert mean_of(points(2)).p is None and mean_of([]).point is None
