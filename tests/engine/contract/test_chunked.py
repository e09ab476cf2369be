"""Messages of the largest elements of chunks, and cosine transforms, against a full sort and SciPy's transform."""

import warnings

import numpy as np
import pytest
import torch
from hooke.methods.chunked import Cosines, LargestOfChunks
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.fft import dct

from tests.engine.reference.methods import sparse

SHAPES = [
    (1, 1, 1),
    (64, 64, 7),
    (100, 64, 7),
    (63, 64, 63),
    (1000, 10, 30),
    (5000, 4096, 64),
    (70_000, 65_536, 9),
]


def vector(elements, seed=0):
    return np.random.default_rng([seed, elements]).normal(size=elements).astype(np.float32)


def arrived(x, chunk, kept, bits):
    """Encode, check the announced size, decode twice: once added to zeros, once subtracted again."""
    code = LargestOfChunks(chunk, kept, bits)
    encoded = np.full(code.size(x.size), 0xA5, np.uint8)
    code.encode(x, encoded, None)
    assert encoded.size % 4 == 0
    out = np.zeros_like(x)
    code.add(encoded, out)
    again = out.copy()
    code.add(encoded, again, -1)
    assert not np.isfinite(out).all() or not again.any()
    return out


def wanted(x, chunk, kept, bits):
    return np.concatenate([sparse.sent(each, kept, bits) for each in sparse.chunks(x.astype(np.float64), chunk)])


@pytest.mark.parametrize(("elements", "chunk", "kept"), SHAPES)
def test_what_arrives_is_what_a_sort_says(elements, chunk, kept):
    x = vector(elements)
    assert np.array_equal(arrived(x, chunk, kept, 32), wanted(x, chunk, kept, 32).astype(np.float32))
    np.testing.assert_allclose(arrived(x, chunk, kept, 2), wanted(x, chunk, kept, 2), rtol=1e-5)


@given(
    arrays(np.float32, st.integers(1, 40), elements=st.sampled_from([-2.0, -1.0, 0.0, 1.0, 2.0])),
    st.integers(1, 12),
    st.integers(1, 12),
    st.sampled_from([2, 32]),
)
def test_of_equal_magnitudes_the_first_are_sent(x, chunk, kept, bits):
    np.testing.assert_allclose(arrived(x, chunk, kept, bits), wanted(x, chunk, kept, bits), rtol=1e-6)


def test_bytes():
    """128 of 4096 in 2 bits: two levels, indices of 2 bytes, 4 values a byte; without levels 6 bytes for each."""
    assert LargestOfChunks(4096, 128, 2).size(4096) == 8 + 256 + 32
    assert LargestOfChunks(4096, 128, 32).size(4096) == 128 * 6
    assert LargestOfChunks(64, 3, 2).size(65) == 16 + 8 + 4
    assert LargestOfChunks(64, 3, 32).size(65) == 8 + 16


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("bits", [2, 32])
def test_what_is_not_finite_arrives_as_such(bad, bits):
    x = vector(100)
    x[37] = bad
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not np.isfinite(arrived(x, 16, 3, bits)).all()


@pytest.mark.parametrize(("elements", "chunk"), [(1, 64), (64, 64), (100, 64), (4096, 64), (1000, 999)])
def test_cosines_are_those_of_scipy(elements, chunk):
    x = torch.from_numpy(vector(elements))
    y, again, cosines = torch.zeros(elements), torch.zeros(elements), Cosines(elements, chunk)
    cosines.forward(x, y)
    of_scipy = np.concatenate([dct(each, norm="ortho") for each in sparse.chunks(x.numpy(), chunk)])
    np.testing.assert_allclose(y.numpy(), of_scipy, atol=3e-6)
    cosines.inverse(y, again)
    np.testing.assert_allclose(again.numpy(), x.numpy(), atol=3e-6)


def test_signs_are_the_same_in_any_order_of_addition():
    """Hosts of two kinds add in different orders; DeMo steps along the signs, and its replicas must stay equal."""
    rng, size, chunk = np.random.default_rng(5), 640_000, 64
    y = np.where(rng.random(size) < 1 / 16, rng.normal(size=size), 0).astype(np.float32)
    out = torch.zeros(size)
    Cosines(size, chunk).inverse(torch.from_numpy(y), out)
    n = np.arange(chunk)
    scale = np.sqrt(np.where(n == 0, 1, 2) / chunk)[:, None]
    matrix = scale * np.cos(np.pi * (n + 0.5)[None] * n[:, None] / chunk)
    other = np.zeros((size // chunk, chunk))
    for k in reversed(range(chunk)):
        other += y.astype(np.float64).reshape(-1, chunk)[:, k : k + 1] * matrix[k]
    assert np.array_equal(np.sign(out.numpy()), np.sign(other.reshape(-1)))
