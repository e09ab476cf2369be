"""Rows in bfloat16, rounded at random: against Python's integers, torch, and the binomial distribution."""

import math

import numpy as np
import pytest
import torch
from hooke.errors import ArgumentError
from hooke.hashing.active import ActiveSets
from hooke.hashing.entries import by_row
from hooke.hashing.half_rows import HalfRows, rounded
from hooke.hashing.jit import key_of
from hooke.hashing.lists import Lists
from hooke.hashing.row_optimizer import RowOptimizer
from hooke.hashing.rows import softmax
from hooke.hashing.threads import Threads

WRAP = 1 << 64


def bits_of(seed, row, column, step, width):
    """The 16 random bits of one element: SplitMix64 in Python's integers, a word for four columns."""
    words = -(-width // 4)
    z = (int(key_of(seed, 0x4A1F, step)) + (row * words + column // 4 + 1) * 0x9E3779B97F4A7C15) % WRAP
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WRAP
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WRAP
    return ((z ^ (z >> 31)) >> 16 * (column % 4)) & 0xFFFF


def kept(rows, values, step=1, seed=3, threads=None, size=5000):
    half = HalfRows((size, values.shape[1]), seed)
    half.put(rows, values, step, threads or Threads(1))
    return half


def some(k=40, width=11, seed=0):
    random = np.random.default_rng(seed)
    values = (random.standard_normal((k, width)) * 10.0 ** random.integers(-40, 30, (k, width))).astype(np.float32)
    return random.permutation(5000)[:k].astype(np.int32), values


def test_every_element_is_that_of_its_own_bits():
    rows, values = some()
    half, bits = kept(rows, values), values.view(np.uint32)
    for i, k in np.ndindex(values.shape):
        expected = (int(bits[i, k]) + bits_of(3, int(rows[i]), k, 1, 11)) >> 16
        assert half.weight[rows[i], k] == expected
    untouched = np.ones(5000, bool)
    untouched[rows] = False
    assert not half.weight[untouched].any()


def test_values_of_bfloat16_are_kept():
    """Zeros, the least and the largest, infinities; and every step whose result is one."""
    exact = torch.randn(30, 8).bfloat16().float().numpy()
    exact[0] = [0.0, -0.0, np.inf, -np.inf, 2.0**-133, -(2.0**-126), 3.3895314e38, -1.0]
    rows = np.arange(30, dtype=np.int32)
    for step in range(20):
        assert kept(rows, exact, step).of(rows).tobytes() == exact.tobytes()
    exact[1, 2] = np.nan
    assert np.isnan(kept(rows, exact).of(rows)[1, 2])


@pytest.mark.parametrize("share", [1 / 64, 0.25, 0.5, 0.9])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_expectation_is_the_exact_value(share, sign):
    """Of n elements, n p are rounded away from zero, within 4 sigma; all become one of the two neighbours."""
    low, high = 1.5, 1.5 + 2.0**-7
    value = np.float32(sign * (low + share * (high - low)))
    rows, n = np.arange(3000, dtype=np.int32), 3000 * 9
    found = kept(rows, np.full((3000, 9), value, np.float32)).of(rows)
    assert set(np.abs(found).ravel().tolist()) <= {low, high}
    away = int((np.abs(found) == high).sum())
    assert abs(away - n * share) < 4 * math.sqrt(n * share * (1 - share))
    columns = (np.abs(found) == high).mean(axis=0)
    assert np.abs(columns - share).max() < 5 * math.sqrt(share * (1 - share) / 3000), "in every column"


def test_small_steps_add_up():
    """400 steps of 1/40 of the distance of neighbours: rounded to the nearest, nothing would move."""
    rows, step = np.arange(2000, dtype=np.int32), 2.0**-7 / 40
    half = kept(rows, np.ones((2000, 1), np.float32), 0)
    for t in range(1, 401):
        half.put(rows, half.of(rows) + np.float32(step), t)
    mean, exact = float(half.of(rows).mean()), 1 + 400 * step
    sigma = 2.0**-7 * math.sqrt(400 * (1 / 40) * (39 / 40) / 2000)
    assert abs(mean - exact) < 4 * sigma
    assert (torch.ones(1).bfloat16() + step).item() == 1


def test_neither_threads_nor_the_order_of_rows_change_a_bit():
    rows, values = some(k=700)
    alone = kept(rows, values)
    order = np.random.default_rng(1).permutation(700)
    assert kept(rows, values, threads=Threads(3)).weight.tobytes() == alone.weight.tobytes()
    assert kept(rows[order], values[order]).weight.tobytes() == alone.weight.tobytes()
    assert kept(rows, values, step=2).weight.tobytes() != alone.weight.tobytes()
    assert kept(rows, values, seed=4).weight.tobytes() != alone.weight.tobytes()
    assert alone.bytes == values.shape[1] * 5000 * 2


@pytest.mark.parametrize("width", [1, 4, 11])
def test_torch_writes_the_same_bits(width):
    rows, values = some(width=width)
    values[0, 0], values[1, 0], values[2, 0] = np.nan, -np.inf, 3.4e38
    found = rounded(torch.from_numpy(values), torch.from_numpy(rows.astype(np.int64)), 3, 1)
    expected = kept(rows, values).weight[rows]
    assert found.view(torch.int16).numpy().view(np.uint16).tobytes() == expected.tobytes()


def test_a_step_of_rows_is_that_of_float32_where_its_result_is_a_value_of_bfloat16():
    """Weights are multiples of 1/4 and steps of 1/4: the touched rows of a softmax with two equal logits."""
    half = HalfRows((9, 4), 0)
    half.put(np.arange(9, dtype=np.int32), np.full((9, 4), 0.5, np.float32), 0)
    whole = half.of(np.arange(9, dtype=np.int32))
    lists = Lists(np.array([0, 2, 4]), np.array([7, 2, 5, 2], np.int32))
    positives, h = np.array([1, 1]), np.full((2, 4), 0.5, np.float32)
    optimizer = RowOptimizer("sgd", (9, 4), 2.0)
    output = softmax(ActiveSets(lists, positives), h, whole)
    optimizer.step(by_row(lists, output.delta, 9), h, whole)
    rows, local, w = half.named(lists)
    assert rows.tolist() == [2, 5, 7]
    output = softmax(ActiveSets(local, positives), h, w)
    RowOptimizer("sgd", (3, 4), 2.0).step(by_row(local, output.delta, 3), h, w)
    half.put(rows, w, 1)
    assert half.of(np.arange(9, dtype=np.int32)).tobytes() == whole.tobytes()
    assert sorted(set(whole.ravel().tolist())) == [0.0, 0.5, 0.75]


def test_wrong_arguments_are_named():
    half = HalfRows((5, 3))
    with pytest.raises(ArgumentError, match="float64 values of shape"):
        half.put(np.array([1], np.int32), np.zeros((1, 3)), 0)
    with pytest.raises(ArgumentError, match="rows"):
        half.of(np.array([5], np.int32))
