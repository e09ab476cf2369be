"""P@k and PSP@k against loops over items and the equations of the papers."""

import math

import numpy as np
import pytest
from hooke.errors import ArgumentError
from hooke.objective.bags import Csr
from hooke.objective.ranking import Ranked, inverse_propensities, ranked


def csr(rows: list[list[int]]) -> Csr:
    starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return Csr(starts, np.array([i for row in rows for i in row], dtype=np.int32))


def case(count: int, labels: int, seed: int):
    random = np.random.default_rng(seed)
    rows = [sorted(random.choice(labels, random.integers(0, 9), replace=False).tolist()) for _ in range(count)]
    top = np.array([random.choice(labels, 5, replace=False) for _ in range(count)], dtype=np.int64)
    top[::3, 4] = -1
    return rows, top, 1 + random.exponential(5, labels)


def test_sums_against_a_loop():
    rows, top, weights = case(300, 12, 1)
    found = ranked(top, csr(rows), weights)
    for place, k in enumerate((1, 3, 5)):
        hits = [
            [label for label in ranks[:k] if label in row] for ranks, row in zip(top.tolist(), rows, strict=True)
        ]
        precision = sum(map(len, hits)) / (k * 300)
        best = sum(sum(sorted((weights[label] for label in row), reverse=True)[:k]) for row in rows)
        gained = sum(weights[label] for hit in hits for label in hit)
        assert found.precision[place] == pytest.approx(precision, rel=1e-12)
        assert found.weighted_precision[place] == pytest.approx(gained / best, rel=1e-12)
    assert found.hits[2] > 100


def test_shares_of_items_add_up():
    rows, top, weights = case(100, 30, 2)
    whole = ranked(top, csr(rows), weights)
    parts = [ranked(top[a:b], csr(rows[a:b]), weights) for a, b in ((0, 1), (1, 60), (60, 60), (60, 100))]
    total = sum(parts, Ranked())
    assert (total.count, total.hits) == (whole.count, whole.hits)
    assert total.gained == pytest.approx(whole.gained)
    assert total.possible == pytest.approx(whole.possible)


def test_a_perfect_ranking_has_weighted_precision_one():
    weights = np.array([1.0, 7.0, 2.0, 4.0, 3.0, 9.0])
    rows = [[1], [0, 2, 5], [0, 1, 2, 3, 4, 5]]
    top = np.array([[1, 0, 2, 3, 4], [5, 2, 0, 1, 3], [5, 1, 3, 4, 2]])
    found = ranked(top, csr(rows), weights)
    assert found.weighted_precision == (1.0, 1.0, 1.0)
    assert found.precision == (1.0, (1 + 3 + 3) / 9, (1 + 3 + 5) / 15)


def test_the_last_label_of_one_item_is_none_of_the_next_one():
    """-1 beside an item whose predecessor has the last label of all."""
    found = ranked(np.array([[0, 1, 2, 3, 5], [-1, -1, -1, -1, -1]]), csr([[4], [0]]), np.ones(6))
    assert found.hits == (0, 0, 0)
    found = ranked(np.array([[0, 1, 2, 3, 4], [-1, -1, -1, -1, -1]]), csr([[5], [0]]), np.ones(6))
    assert found.hits == (0, 0, 0)


def test_items_without_labels_count_and_no_items_have_no_score():
    found = ranked(np.array([[0, 1, 2, 3, 4]]), csr([[]]), np.ones(5))
    assert found.precision == (0.0, 0.0, 0.0)
    assert all(map(math.isnan, found.weighted_precision))
    assert all(map(math.isnan, Ranked().precision))


def test_equal_weights_make_propensities_irrelevant():
    rows, top, _ = case(50, 200, 3)
    rows = [[*range(5)] for _ in rows]
    found = ranked(top, csr(rows), np.full(200, 3.0))
    assert found.weighted_precision == pytest.approx(found.precision)


def test_propensities_as_published():
    frequencies = np.array([0, 1, 10, 1000])
    n = 14_146
    for a, b in ((0.55, 1.5), (0.5, 0.4), (0.6, 2.6)):
        weights = inverse_propensities(frequencies, n, a, b)
        for weight, frequency in zip(weights, frequencies.tolist(), strict=True):
            c = (math.log(n) - 1) * (b + 1) ** a
            propensity = 1 / (1 + c * math.exp(-a * math.log(frequency + b)))
            assert weight == pytest.approx(1 / propensity, rel=1e-12)
    assert inverse_propensities(frequencies, n) == pytest.approx(inverse_propensities(frequencies, n, 0.55, 1.5))
    with pytest.raises(ArgumentError, match="at least 3"):
        inverse_propensities(frequencies, 2)


@pytest.mark.parametrize(
    ("top", "says"),
    [
        ([[0, 1, 2, 3]], r"shape \(1, 5\), not \(1, 4\)"),
        ([[0, 1, 2, 3, 6]], "0 to 6; expected -1 .none. to 5"),
        ([[-2, 1, 2, 3, 4]], "-2 to 4"),
        ([[3, 1, 2, 3, 4]], "item 0 has a label twice"),
    ],
)
def test_rankings_that_are_none_are_refused(top, says):
    with pytest.raises(ArgumentError, match=says):
        ranked(np.array(top), csr([[1]]), np.ones(6))
