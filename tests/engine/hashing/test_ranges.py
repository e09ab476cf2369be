"""Into how many ranges a step divides its work: as few as there is work for, with the same numbers."""

import numpy as np
import pytest
from hooke.hashing.active import ActiveSets, DrawnSets
from hooke.hashing.drawn import derivatives, gradients
from hooke.hashing.entries import by_row
from hooke.hashing.lists import Lists
from hooke.hashing.row_optimizer import RowOptimizer
from hooke.hashing.threads import ONE, Threads

ROWS, SAMPLES, WIDTH = 670_091, 128, 8


class Counted(Threads):
    """Threads that count the ranges which they begin."""

    def __init__(self, count):
        super().__init__(count)
        self.begun = []

    def over(self, n, work, grain=1):
        def counted(begin, end):
            self.begun.append((begin, end))
            work(begin, end)

        super().over(n, counted, grain)


def entries_of(each, seed=0):
    """Return lists of so many different rows of every sample, and a value for each."""
    random = np.random.default_rng(seed)
    ids = np.concatenate([random.choice(ROWS, each, replace=False) for _ in range(SAMPLES)])
    lists = Lists(np.arange(SAMPLES + 1) * each, ids.astype(np.int32))
    return lists, random.standard_normal(len(ids)).astype(np.float32)


@pytest.mark.parametrize(("each", "most"), [(1, 3), (60, 12), (900, 64)])
def test_sorting_begins_as_many_ranges_as_there_are_entries_for(each, most):
    """16 threads began 64 for any number: 16 to count, 16 to move, 32 to sort; one takes microseconds to begin."""
    lists, values = entries_of(each)
    threads = Counted(16)
    found, alone = by_row(lists, values, ROWS, threads), by_row(lists, values, ROWS, ONE)
    assert len(threads.begun) <= most
    for name in ("parts", "distinct", "samples", "values"):
        assert np.array_equal(getattr(found, name), getattr(alone, name))
    assert np.array_equal(found.touched, alone.touched)


@pytest.mark.parametrize("biased", [True, False])
def test_gradients_of_drawn_rows_stand_behind_those_of_lists(biased):
    """One array, which is written in place: against sums in float64, row by row."""
    random = np.random.default_rng(1)
    rows = 300
    weight = random.standard_normal((rows, WIDTH)).astype(np.float32)
    vectors = random.standard_normal((SAMPLES, WIDTH)).astype(np.float32)
    drawn = np.arange(0, 60, 2, dtype=np.int32)
    ids = np.concatenate([random.choice(np.arange(61, rows), 5, replace=False) for _ in range(SAMPLES)])
    own = ActiveSets(Lists(np.arange(SAMPLES + 1) * 5, ids.astype(np.int32)), np.ones(SAMPLES, np.int64))
    sets = DrawnSets(drawn, own, Lists.empty(SAMPLES))
    output = derivatives(sets, vectors, weight)
    optimizer = RowOptimizer("sgd", weight.shape, biased=biased)
    touched, found = gradients(sets, output, vectors, weight, optimizer, Threads(3))
    assert len(touched) == len(found) == len(set(touched.tolist()))
    assert touched[-len(drawn) :].tolist() == drawn.tolist() and found.shape[1] == WIDTH + biased
    dense = np.zeros((rows, WIDTH + 1))
    ends = np.hstack((vectors.astype(float), np.ones((SAMPLES, 1))))
    dense[drawn] = output.shared.astype(float).T @ ends
    for sample in range(SAMPLES):
        mine = slice(5 * sample, 5 * sample + 5)
        dense[ids[mine]] += np.outer(output.delta[mine].astype(float), ends[sample])
    np.testing.assert_allclose(found, dense[touched, : WIDTH + biased], rtol=1e-4, atol=1e-6)
