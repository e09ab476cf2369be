"""Groups of items that ask the hash tables together: the means by their definition, and what a batch then gets."""

import numpy as np
import pytest
import torch
from hooke.hashing.active import Assembler
from hooke.hashing.families import make_family
from hooke.hashing.schedule import RebuildSchedule
from hooke.hashing.tables import Tables
from hooke.objective.slide import ROUNDS, Slide, directions

LABELS, WIDTH = 400, 12


def in_groups(count=40, groups=4, seed=0):
    """Vectors around some directions, of different lengths."""
    random = np.random.default_rng(seed)
    centers = np.linalg.qr(random.normal(size=(WIDTH, WIDTH)))[0][:groups]
    found = centers[np.arange(count) % groups] + 0.1 * random.normal(size=(count, WIDTH))
    return (found * random.uniform(0.1, 30, (count, 1))).astype(np.float32), centers


def by_definition(vectors, groups):
    """Spherical k-means in float64, vector by vector."""
    unit = [v / np.linalg.norm(v) for v in vectors.astype(np.float64)]
    means = [unit[k * len(unit) // groups] for k in range(groups)]
    for _ in range(ROUNDS):
        mine = [max(range(groups), key=lambda k, v=v: v @ means[k]) for v in unit]
        for k in range(groups):
            if own := [v for v, at in zip(unit, mine, strict=True) if at == k]:
                means[k] = sum(own) / np.linalg.norm(sum(own))
    return np.array(means)


@pytest.mark.parametrize("groups", [1, 3, 4, 7, 40])
def test_the_means_are_those_of_their_definition(groups):
    vectors, _ = in_groups()
    np.testing.assert_allclose(directions(vectors, groups), by_definition(vectors, groups), atol=1e-5)


def test_groups_are_found_whatever_the_lengths_are():
    vectors, centers = in_groups(count=42)
    found = directions(vectors, 4)
    assert sorted((found @ centers.T).argmax(axis=1)) == [0, 1, 2, 3]
    assert (found @ centers.T).max(axis=1).min() > 0.98


def test_equal_and_empty_vectors_make_no_nan():
    found = directions(np.vstack([np.zeros((3, WIDTH)), np.ones((3, WIDTH))]).astype(np.float32), 4)
    assert np.isfinite(found).all()
    assert found.dtype == np.float32


class Counted:
    """A family that notes how many vectors it has hashed in each call."""

    def __init__(self, family):
        self._family, self.hashed = family, []

    def __getattr__(self, name):
        return getattr(self._family, name)

    def codes(self, vectors, threads):
        self.hashed.append(len(vectors))
        return self._family.codes(vectors, threads)


def made(queries):
    family = Counted(make_family("simhash", WIDTH, 5, 10, 2))
    slide = Slide(
        family, Tables(10, family.bits, seed=2), Assembler(LABELS, 120, 30, seed=1), RebuildSchedule(50, 0.1)
    )
    slide.queries = queries
    return slide, family


def chosen(queries, steps=3):
    slide, family = made(queries)
    rows = torch.from_numpy(in_groups(LABELS, 10, seed=1)[0])
    hidden, own = torch.from_numpy(in_groups()[0]), np.array([1, 7, 390])
    found = [slide.choose(own, hidden, rows, None).ids.tolist() for _ in range(steps)]
    assert all(set(own.tolist()) <= set(ids) and len(ids) <= 120 for ids in found)
    return found, family.hashed[1:]  # the first call hashed the rows


def test_as_many_groups_ask_as_were_wanted():
    assert chosen(5)[1] == [5, 5, 5]
    assert chosen(0)[1] == [40, 40, 40]
    assert chosen(40) == chosen(64) == chosen(0), "no more than there are items"
    assert chosen(5) == chosen(5)


def test_few_groups_retrieve_the_best_labels_as_items_do():
    """Rows and items lie around the same directions: four groups find a label that fits, as forty items do."""
    vectors, centers = in_groups()
    rows = (centers[np.arange(LABELS) % 4] + 0.15 * np.random.default_rng(5).normal(size=(LABELS, WIDTH))).astype(
        np.float32
    )
    best = np.argsort(-(vectors @ rows.T), axis=1)[:, :5]
    shares = []
    for queries in (0, 4):
        slide, _ = made(queries)
        ids = slide.choose(np.array([1]), torch.from_numpy(vectors), torch.from_numpy(rows), None).ids.numpy()
        shares.append(np.isin(best, ids).mean())
    assert min(shares) > 1.2 * 120 / LABELS
