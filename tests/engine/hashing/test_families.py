"""Hash families against their collision laws, their invariances, and one path against the other."""

import math

import numpy as np
import pytest
from hooke.errors import ArgumentError
from hooke.hashing.families import FAMILIES, make_family
from hooke.hashing.simhash import SimHash, SparseSimHash
from hooke.hashing.threads import Threads
from hooke.hashing.winners import DWTA, WTA, MinHash

TWO, THREE = Threads(2), Threads(3)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def at_angle(theta, dim, seed=0):
    """Return two vectors with this angle between them."""
    a, b = np.linalg.qr(np.random.default_rng(seed).standard_normal((dim, 2)))[0].T
    return np.stack([a, math.cos(theta) * a + math.sin(theta) * b]).astype(np.float32)


def sparse(vectors):
    """Return the elements of a matrix that are not 0 as starts, ids, values."""
    rows, ids = np.nonzero(vectors)
    starts = np.searchsorted(rows, np.arange(len(vectors) + 1))
    return starts, ids.astype(np.int32), vectors[rows, ids]


def within(observed, expected, n, sigmas=4):
    return abs(observed - expected) <= sigmas * math.sqrt(expected * (1 - expected) / n) + 1e-12


@pytest.mark.parametrize("theta", [0.2, 0.8, math.pi / 2, 2.2, 2.9])
def test_bits_and_tables_of_simhash_collide_by_the_law(theta):
    k, tables, group = 4, 6000, 20
    first, second = SimHash(16, k, tables, seed=3).codes(at_angle(theta, 16))
    bits = k * tables
    equal = bits - sum(int(x).bit_count() for x in first ^ second)
    p = 1 - theta / math.pi
    assert within(equal / bits, p, bits)
    hits = (first == second).reshape(-1, group).any(axis=1)  # queries of L = `group` tables each
    assert within(hits.mean(), 1 - (1 - p**k) ** group, len(hits))


@pytest.mark.parametrize("theta", [0.3, 1.0, 2.0])
def test_sparse_projections_follow_the_law_approximately(theta):
    tables = 4000
    first, second = SparseSimHash(128, 1, tables, seed=1).codes(at_angle(theta, 128, seed=4))
    p = 1 - theta / math.pi
    assert abs((first == second).mean() - p) < 4 * math.sqrt(p * (1 - p) / tables) + 0.02


@pytest.mark.parametrize("family", [SimHash, SparseSimHash])
def test_a_code_of_simhash_depends_on_the_direction_only_and_opposites_have_no_bit_in_common(family):
    vectors, hashes = normal(70, 33), family(33, 9, 7)
    codes = hashes.codes(vectors)
    assert np.array_equal(hashes.codes(4 * vectors), codes)
    assert np.array_equal(hashes.codes(-vectors), 2**9 - 1 - codes)


def test_sparse_projections_add_a_third_of_the_coordinates_with_signs():
    vectors = np.eye(30, dtype=np.float32)
    plus = SparseSimHash(30, 1, 300).codes(vectors)
    minus = SparseSimHash(30, 1, 300).codes(-vectors)
    assert np.array_equal(
        (plus | minus).sum(axis=0), np.full(300, 10)
    )  # a sum over 10 of 30: else neither is below 0
    assert 1300 < plus.sum() < 1700


def test_winners_depend_on_the_order_of_elements_only():
    vectors = normal(100, 50)
    ranks = (vectors.argsort(axis=1).argsort(axis=1) + 1).astype(np.float32)
    for family in (DWTA(50, 4, 6), WTA(50, 4, 6)):
        codes = family.codes(vectors)
        assert np.array_equal(family.codes(ranks), codes)
        assert np.array_equal(family.codes(0.25 * vectors), codes)
    assert np.array_equal(WTA(50, 4, 6).codes(ranks - 7), WTA(50, 4, 6).codes(ranks))


def test_all_buckets_are_reachable():
    """A shift by ln 8 in place of log2 8 leaves 148 of 512."""
    hashes = DWTA(64, 3, 2, seed=5)
    codes = hashes.codes(normal(16000, 64))
    assert hashes.bits == 9
    assert [len(np.unique(codes[:, t])) for t in range(2)] == [512, 512]
    assert (codes.min(), codes.max()) == (0, 511)


def test_hashes_of_dwta_are_maxima_of_bins_of_a_permutation():
    """The winner of eight coordinates moves to whichever of them is raised, and to no other one."""
    hashes, vector = DWTA(40, 1, 5), np.arange(1, 41, dtype=np.float32)
    raised = np.tile(vector, (40, 1))
    np.fill_diagonal(raised, 100)
    changes = hashes.codes(raised) != hashes.codes(vector[None])
    assert changes.sum(axis=0).tolist() == [7] * 5
    assert changes.sum(axis=1).max() == 1


@pytest.mark.parametrize("width", [2, 8, 16])
@pytest.mark.parametrize("density", [0.03, 0.2, 0.6])
def test_dense_and_sparse_paths_give_the_same_codes(width, density):
    random = np.random.default_rng(1)
    vectors = normal(90, 70) * (random.random((90, 70)) < density)
    vectors[3] = 0
    vectors[4] = np.round(vectors[4])  # equal elements
    for family in (DWTA(70, 3, 11, width=width), MinHash(70, 3, 11, width=width, top=70)):
        codes = family.codes(vectors)
        assert np.array_equal(family.sparse_codes(*sparse(vectors), TWO), codes)
        assert codes[3].tolist() == [0] * 11
        assert codes.max() < 2**family.bits


def test_empty_bins_borrow_from_bins_with_elements():
    vector = np.zeros((1, 64), np.float32)
    vector[0, 17] = 1
    family = DWTA(64, 1, 80, seed=2)  # 8 hashes per permutation: one of them has the element
    places, homes = family._places[17], family._homes[17]
    codes = family.codes(vector)[0]
    assert np.array_equal(codes[homes], places)
    assert set(codes.tolist()) == set(places.tolist())


def sets(both, only, dim, seed):
    """Return two sets with `both` elements in common and `only` of its own each, as rows of 0 and 1."""
    order = np.random.default_rng(seed).permutation(dim)
    members = np.zeros((2, dim), np.float32)
    members[:, order[:both]] = 1
    members[0, order[both : both + only]] = 1
    members[1, order[both + only : both + 2 * only]] = 1
    return members, both / (both + 2 * only)


def test_minhash_collides_with_the_jaccard_similarity():
    for both, only in ((30, 10), (16, 20), (45, 3)):
        members, jaccard = sets(both, only, 64, both)
        first, second = MinHash(64, 1, 4000, seed=both, width=16, top=64).codes(members)
        assert within((first == second).mean(), jaccard, 4000)


def test_minhash_with_empty_bins_adds_chance_coincidences_only():
    members, jaccard = sets(3, 3, 64, 1)
    first, second = MinHash(64, 1, 4000, seed=1, width=8, top=64).codes(members)
    margin = 6 * math.sqrt(jaccard * (1 - jaccard) / 4000)
    assert jaccard - margin < (first == second).mean() < jaccard + (1 - jaccard) / 8 + margin


def test_minhash_of_a_vector_is_that_of_its_largest_elements():
    vectors = normal(40, 64)
    family = MinHash(64, 3, 9, top=12)
    members = np.zeros_like(vectors)
    np.put_along_axis(members, np.argsort(-vectors, axis=1)[:, :12], 1, axis=1)
    assert np.array_equal(family.codes(vectors), family.sparse_codes(*sparse(members)))


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_codes_are_functions_of_seed_and_vector_alone(name):
    vectors = normal(200, 40)
    vectors[vectors < 0] = 0
    family = make_family(name, 40, 3, 5, 11)
    codes = family.codes(vectors)
    assert codes.shape == (200, 5)
    assert codes.dtype == np.int32
    assert np.array_equal(make_family(name, 40, 3, 5, 11).codes(vectors, THREE), codes)
    assert np.array_equal(np.concatenate([family.codes(vectors[i : i + 1]) for i in range(5)]), codes[:5])
    assert np.array_equal(family.codes(vectors[::-1]), codes[::-1])
    assert np.array_equal(family.sparse_codes(*sparse(vectors), TWO), codes)
    assert not np.array_equal(make_family(name, 40, 3, 5, 12).codes(vectors), codes)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("dwta", 128, 9, 5), "2\\*\\*27 buckets.*lower K"),
        (("simhash", 128, 25, 5), "lower K"),
        (("simhash", 0, 2, 5), "dim is 0"),
        (("wta", 128, 0, 5), r"\(K\) is 0"),
        (("minhash", 128, 2, 0), r"\(L\) is 0"),
        (("dwta", 5, 2, 2), "lower m"),
        (("simhash", 5, 2, 2, -1), "seed"),
        (("lsh", 5, 2, 2), "dwta, minhash, simhash, simhash-sparse, wta"),
    ],
)
def test_impossible_families_are_refused(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        make_family(*arguments)


def test_wrong_vectors_are_refused():
    family = DWTA(16, 1, 2)
    with pytest.raises(ArgumentError, match=r"\(n, 16\)"):
        family.codes(normal(3, 15))
    with pytest.raises(ArgumentError, match="range\\(16\\)"):
        family.sparse_codes(np.array([0, 1]), np.array([16], np.int32), np.ones(1, np.float32))
    with pytest.raises(ArgumentError, match="power of two"):
        DWTA(16, 1, 2, width=6)
