"""Encodings against closed forms and NumPy: bits packed by hand, scales in float64, a full sort."""

import numpy as np
import pytest
from hooke.comm.compressors import BLOCK, Int8, Sign, TopK, compressor
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.engine.comm.compressed_cases import int8_of, sign_of, top_k_of

LENGTHS = (1, 7, 511, 512, 513, 128 * 512 + 77)


def vector(elements, seed=0):
    return np.random.default_rng([seed, elements]).normal(size=elements).astype(np.float32)


def arrived(code, x, seed=0):
    """Encode, check the announced size, decode twice: once added to ones, once subtracted again."""
    encoded = np.full(code.size(x.size), 0xA5, np.uint8)
    code.encode(x, encoded, np.random.Generator(np.random.SFC64(seed)))
    assert encoded.size % 4 == 0
    out = np.zeros_like(x)
    code.add(encoded, out)
    again = out.copy()
    code.add(encoded, again, -1)
    assert not np.isfinite(out).all() or not again.any()
    return out


@pytest.mark.parametrize("elements", LENGTHS)
def test_what_arrives_is_what_numpy_says(elements):
    x = vector(elements)
    draw = np.random.Generator(np.random.SFC64(3))
    got, wanted = arrived(Int8(), x, 3), int8_of(x, draw)
    assert np.mean(np.abs(got - wanted) > 1e-6 * np.abs(wanted)) < 1e-4  # float32 may break a tie otherwise
    np.testing.assert_allclose(arrived(Sign(), x), sign_of(x), rtol=1e-6)
    for share in (1e-9, 0.01, 0.3, 1.0):
        assert np.array_equal(arrived(TopK(share), x), top_k_of(x, share))


def test_bytes():
    """A byte, a bit, or eight bytes for one in a hundred; a float32 per block; whole words."""
    assert [Int8().size(n) for n in (1, 512, 513, 5120)] == [8, 516, 524, 5160]
    assert [Sign().size(n) for n in (1, 512, 513, 5120)] == [8, 68, 76, 680]
    assert [TopK(0.01).size(n) for n in (1, 49, 149, 151, 10_000)] == [8, 8, 8, 16, 800]


def test_random_rounding_is_unbiased_and_near():
    """The mean of n roundings has a deviation of at most s / (2 sqrt n); 6 of them leave 1e-9 for chance."""
    x, times = vector(2 * BLOCK), 2000
    scale = np.repeat(np.abs(x.astype(np.float64)).reshape(2, -1).max(axis=1) / 127, BLOCK)
    total = np.zeros(x.size)
    for seed in range(times):
        out = arrived(Int8(), x, seed)
        assert np.all(np.abs(out - x.astype(np.float64)) < scale * (1 + 1e-5))
        total += out
    assert np.all(np.abs(total / times - x) <= 6 * scale / (2 * times**0.5))


@given(arrays(np.float32, st.integers(1, 2000), elements=st.floats(-100, 100, width=32)), st.floats(0.01, 1))
def test_the_biased_ones_are_contractions(x, share):
    wide = x.astype(np.float64)
    lost = float(((arrived(Sign(), x) - wide) ** 2).sum())
    blocks = [wide[start : start + BLOCK] for start in range(0, x.size, BLOCK)]
    closed = sum((b**2).sum() - np.abs(b).sum() ** 2 / b.size for b in blocks)
    assert abs(lost - closed) <= 1e-5 * (wide**2).sum() + 1e-70  # of numbers below the smallest normal one
    kept = max(1, round(share * x.size))
    lost = float(((arrived(TopK(share), x) - wide) ** 2).sum())
    assert lost <= (1 - kept / x.size) * (wide**2).sum() * (1 + 1e-12)


@given(st.lists(st.integers(-127, 127), min_size=1, max_size=1500), st.integers(-8, 8))
def test_packing_loses_nothing_that_it_can_hold(levels, power):
    unit = np.float32(2.0**power)
    for start in range(0, len(levels), BLOCK):
        levels[start] = 127  # the scale of each block is one unit
    x = np.array(levels, np.float32) * unit
    assert np.array_equal(arrived(Int8(), x), x)
    signs = np.where(np.array(levels) >= 0, unit, -unit).astype(np.float32)
    assert np.array_equal(arrived(Sign(), signs), signs)
    assert np.array_equal(arrived(TopK(1.0), x), x)


def test_of_equal_magnitudes_the_first_are_kept():
    x = np.array([1, -2, 2, 1, -2, 0, 2], np.float32)
    assert arrived(TopK(3 / 7), x).tolist() == [0, -2, 2, 0, -2, 0, 0]


@pytest.mark.parametrize("kind", ["int8", "sign", "top-k"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_noticed(kind, value):
    x = vector(1000)
    x[700] = value
    assert not np.isfinite(arrived(compressor(kind, 0.002), x)).all()
    assert not arrived(compressor(kind, 0.5), np.zeros(600, np.float32)).any()


def test_blocks_too_small_for_float32_arrive_as_zeros():
    x = np.full(600, 1e-39, np.float32)
    x[:BLOCK] = 1
    out = arrived(Int8(), x)
    assert not out[BLOCK:].any() and np.all(out[:BLOCK] == 1)
