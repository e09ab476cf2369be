"""M4 against what it promises, on curves that Hypothesis makes."""

import math

import numpy as np
import pytest
from hooke_api.metrics.level import AXES, EMPTY
from hooke_api.metrics.m4 import LEAST_POINTS, again, bucket_size, m4
from hypothesis import given
from hypothesis import strategies as st

values = st.one_of(st.floats(-1e6, 1e6), st.just(math.nan), st.just(math.inf))
curves = st.lists(values, max_size=400).map(lambda v: np.array(v, dtype=np.float64))
limits = st.integers(LEAST_POINTS, 120)


@given(curves, limits)
def test_never_more_than_asked_ascending_first_and_last_in(y, most):
    kept = m4(y, most)
    assert len(kept) <= most
    assert (np.diff(kept) > 0).all()
    if len(y):
        assert kept[0] == 0 and kept[-1] == len(y) - 1


@given(curves, limits)
def test_every_bucket_keeps_its_extremes_and_its_gap(y, most):
    kept = set(m4(y, most).tolist())
    if len(kept) == len(y):
        return
    finite = np.isfinite(y)
    size = bucket_size(len(y), most, 4 if finite.all() else 5)
    for start in range(0, len(y), size):  # the definition, bucket by bucket, in plain Python
        bucket = range(start, min(start + size, len(y)))
        there = [i for i in bucket if finite[i]]
        assert {bucket[0], bucket[-1]} <= kept
        if there:
            assert min(y[i] for i in there) in {y[i] for i in kept if i in bucket}
            assert max(y[i] for i in there) in {y[i] for i in kept if i in bucket}
        if len(there) < len(bucket):
            assert next(i for i in bucket if not finite[i]) in kept


@given(curves, st.lists(values, max_size=300), limits)
def test_appending_adds_points_or_thins_them_out_but_never_moves_one(y, more, most):
    longer = np.concatenate([y, np.array(more, dtype=np.float64)])
    before, after = m4(y, most), m4(longer, most)
    finite = [np.isfinite(v).all() for v in (y, longer)]
    sizes = [
        1 if len(v) <= most else bucket_size(len(v), most, 4 if f else 5)
        for v, f in ((y, finite[0]), (longer, finite[1]))
    ]
    assert sizes[1] % sizes[0] == 0
    full = len(y) // sizes[1] * sizes[1]  # buckets that were full before
    old, new = set(before[before < full].tolist()), set(after[after < full].tolist())
    assert new <= old
    if sizes[0] == sizes[1]:
        assert new == old


def test_a_spike_of_one_step_in_a_million_is_kept():
    y = np.zeros(1_000_000)
    y[123_456], y[777_777] = 9.0, -9.0
    kept = m4(y, 500)
    assert {123_456, 777_777} <= set(kept.tolist())
    assert 200 <= len(kept) <= 500


def test_only_gaps():
    kept = m4(np.full(1000, np.nan), 100)
    assert kept[0] == 0 and kept[-1] == 999


def test_too_few_points_are_refused():
    with pytest.raises(ValueError, match="at least 16 points are required"):
        m4(np.zeros(3), 15)


@given(curves, limits, limits, st.sets(st.integers(0, 399)))
def test_what_was_kept_and_anything_beside_it_is_enough_for_every_lower_limit(y, one, other, beside):
    fine, coarse = max(one, other), min(one, other)
    known = np.union1d(m4(y, fine), [i for i in beside if i < len(y)]).astype(np.int64)
    gaps = not np.isfinite(y).all()
    kept = known[again(known, y[known], len(y), gaps, coarse)]
    if len(y) > coarse:
        assert kept.tolist() == m4(y, coarse).tolist()
    else:
        assert kept.tolist() == known.tolist() == list(range(len(y)))


def test_equal_values_and_signed_zeros_are_kept_where_they_come_first():
    y = np.tile([0.0, -0.0, 1.0, 1.0, -1.0, -1.0], 50)
    fine = m4(y, 120)
    assert fine[again(fine, y[fine], len(y), False, 16)].tolist() == m4(y, 16).tolist()


@given(curves, st.lists(st.integers(1, 90), max_size=12), st.integers(LEAST_POINTS, 40), st.integers(0, 60))
def test_a_level_that_is_extended_has_what_is_kept_of_the_whole_series(y, parts, most, tail):
    """At its own limit and below, also with points behind it that it does not have yet."""
    x = {axis: np.arange(len(y)) * float(n + 1) for n, axis in enumerate(AXES)}
    found, begin = EMPTY, 0
    for part in parts:
        cut = slice(begin, begin + part)
        found = found.extended({axis: x[axis][cut] for axis in AXES}, y[cut], most)
        begin = min(begin + part, len(y))
        assert len(found.at) <= max(most, 5 / 4 * most + 5), "what it has is bounded"
        cut = slice(begin, begin + tail)
        ahead = found.followed({axis: x[axis][cut] for axis in AXES}, y[cut])
        for limit in {LEAST_POINTS, (LEAST_POINTS + most) // 2, most}:
            for each, n in ((found, begin), (ahead, min(begin + tail, len(y)))):
                kept = m4(y[:n], limit)
                at, values, of = each.at_most("wall", limit)
                assert at.tolist() == x["wall"][kept].tolist() and of == n
                assert np.array_equal(values, y[kept], equal_nan=True)
                assert each.thinner(limit).at.tolist() == kept.tolist()
