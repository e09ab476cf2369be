"""Planted problems: what the description says of them, recomputed from signatures and counts."""

import math

import numpy as np
import pytest
from hooke.errors import ArgumentError
from hooke.objective import planted
from hooke.objective.planted import Planted, shared_parts

SMALL = Planted(labels=50, features=400, points=1000, labels_per_item=3.0, signature=8, noise=2.0, seed=7)


def rows(csr) -> list[list[int]]:
    return [csr.ids[a:b].tolist() for a, b in zip(csr.starts[:-1], csr.starts[1:], strict=True)]


def test_sizes_and_guarantees():
    train, test = SMALL.parts()
    assert (len(train), len(test)) == (1000, 100)
    for part in (train, test):
        assert (part.feature_count, part.label_count) == (400, 50)
        for csr, count in ((part.features, 400), (part.labels, 50)):
            for row in rows(csr):
                assert row == sorted(set(row))
                assert row
                assert 0 <= row[0] <= row[-1] < count
        assert part.labels.values is None
        squares = np.add.reduceat(part.features.values.astype(float) ** 2, part.features.starts[:-1])
        np.testing.assert_allclose(squares, 1, rtol=1e-5)


def test_a_seed_determines_all_and_another_one_something_else():
    first, second, other = SMALL.parts(), SMALL.parts(), Planted(**{**vars(SMALL), "seed": 8}).parts()
    for a, b, c in zip(first, second, other, strict=True):
        assert a.features.ids.tobytes() == b.features.ids.tobytes()
        assert a.features.values.tobytes() == b.features.values.tobytes()
        assert a.labels.ids.tobytes() == b.labels.ids.tobytes()
        assert a.features.ids.tobytes() != c.features.ids.tobytes()


def test_signatures_are_distinct_ascending_and_spread_over_all_features():
    signatures = Planted(labels=5000, features=37, points=1, signature=8).signatures()
    assert signatures.shape == (5000, 8)
    assert (np.diff(signatures, axis=1) > 0).all()
    counts = np.bincount(signatures.ravel(), minlength=37)
    assert len(counts) == 37
    # A label has one feature of an interval of 4 or 5: binomial, within 5 standard deviations.
    for count in counts:
        assert any(abs(count - 5000 / w) < 5 * math.sqrt(5000 / w * (1 - 1 / w)) for w in (4, 5))


def test_without_noise_features_are_parts_of_the_signatures_of_the_labels():
    problem = Planted(labels=40, features=500, points=300, signature=6, noise=0.0, labels_per_item=2.5, seed=1)
    signatures = problem.signatures()
    for part in problem.parts():
        for features, labels in zip(rows(part.features), rows(part.labels), strict=True):
            assert set(features) <= set(signatures[labels].ravel().tolist())
            assert all(set(features) & set(signatures[label].tolist()) for label in labels)


def test_half_of_a_signature_is_kept():
    problem = Planted(
        labels=30, features=10_000, points=4000, signature=10, noise=0.0, labels_per_item=1.0, seed=2
    )
    sizes = problem.parts()[0].features.counts
    # Binomial(9, 1/2) + 1: one feature is always kept.
    assert abs(sizes.mean() - 5.5) < 5 * 1.5 / math.sqrt(4000)
    assert (sizes.min(), sizes.max()) == (1, 10)


@pytest.mark.parametrize("zipf", [0.0, 1.0])
def test_labels_are_drawn_by_zipfs_law(zipf):
    problem = Planted(labels=20, features=100, points=20_000, signature=2, noise=0, labels_per_item=1.0, zipf=zipf)
    train = problem.parts()[0]
    assert train.labels.counts.tolist() == [1] * 20_000
    weights = [1 / rank**zipf for rank in range(1, 21)]
    for count, weight in zip(train.label_frequencies().tolist(), weights, strict=True):
        p = weight / sum(weights)
        assert abs(count - 20_000 * p) < 5 * math.sqrt(20_000 * p * (1 - p))


def test_numbers_of_labels_and_of_noise_features():
    problem = Planted(
        labels=100_000, features=100_000, points=4000, signature=1, labels_per_item=4.0, noise=9.0, zipf=0
    )
    train = problem.parts()[0]
    # 1 + Poisson(3), and Poisson(9) more features; among 100,000 hardly any is drawn twice.
    assert abs(train.labels.counts.mean() - 4) < 5 * math.sqrt(3 / 4000) + 0.01
    assert abs(train.features.counts.mean() - 13) < 5 * math.sqrt(12 / 4000) + 0.02


def test_values_are_tf_idf_of_the_training_part():
    """Ratios within a row: of a feature that occurs once there, ln((1 + N) / (1 + df)) + 1, up to its length."""
    problem = Planted(labels=5, features=3000, points=800, signature=30, noise=3.0, labels_per_item=1.0, seed=3)
    train, test = problem.parts()
    df = np.bincount(train.features.ids, minlength=3000)
    for part in (train, test):
        for i in range(50):
            span = slice(part.features.starts[i], part.features.starts[i + 1])
            weights = np.array([math.log(801 / (1 + df[f])) + 1 for f in part.features.ids[span]])
            ratios = part.features.values[span] / weights
            common = np.median(ratios)  # noise seldom meets the signature
            once = np.isclose(ratios, common, rtol=1e-5)
            twice = np.isclose(ratios, common * (1 + math.log(2)), rtol=1e-5)
            assert (once | twice).all()
            assert once.sum() > len(weights) / 2


def test_a_chunk_does_not_depend_on_how_many_follow(monkeypatch):
    monkeypatch.setattr(planted, "CHUNK", 100)
    short, long = (Planted(labels=9, features=60, points=n, signature=4).parts()[0] for n in (100, 250))
    assert rows(long.labels)[:100] == rows(short.labels)
    assert rows(long.features)[:100] == rows(short.features)
    assert len(long) == 250


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"signature": 500}, "signature <= features"),
        ({"labels": 0}, "at least one label"),
        ({"labels_per_item": 0.5}, "labels_per_item >= 1"),
        ({"kept": 0.0}, "0 < kept <= 1"),
    ],
)
def test_impossible_sizes_are_refused(change, says):
    with pytest.raises(ArgumentError, match=says):
        Planted(**{**vars(SMALL), **change})


def test_ranks_of_a_process_share_the_parts_of_a_problem():
    first, second = shared_parts(SMALL), shared_parts(Planted(**vars(SMALL)))
    assert first is second
    np.testing.assert_array_equal(first[0].features.ids, SMALL.parts()[0].features.ids)
