"""Hash tables against plain Python: what is in a bucket, what a query returns, how both change."""

import math
from collections import Counter, deque

import numpy as np
import pytest
from hooke.errors import ArgumentError
from hooke.hashing.simhash import SimHash
from hooke.hashing.tables import Tables
from hooke.hashing.threads import Threads
from hooke.hashing.winners import DWTA

TWO, THREE = Threads(2), Threads(3)


def random_codes(rows, tables, bits, seed=0):
    return np.random.default_rng(seed).integers(0, 2**bits, (rows, tables), np.int32)


def buckets(tables):
    return [[sorted(tables.bucket(t, c).tolist()) for c in range(2**tables.bits)] for t in range(tables.tables)]


def test_a_fifo_bucket_keeps_the_ids_that_were_inserted_last():
    codes, tables = random_codes(300, 4, 3), Tables(4, 3, capacity=7)
    tables.build(codes, TWO)
    for t in range(4):
        rings = [deque(maxlen=7) for _ in range(8)]
        for row in range(300):
            rings[codes[row, t]].append(row)
        assert [tables.bucket(t, c).tolist() for c in range(8)] == [list(ring) for ring in rings]


@pytest.mark.parametrize("capacity", [5, 1000])
def test_an_update_inserts_rows_anew_and_moves_no_others(capacity):
    random, bits = np.random.default_rng(1), 3
    codes, tables = random_codes(200, 3, bits), Tables(3, bits, capacity)
    tables.build(codes)
    order = list(range(200))
    for turn in range(3):
        rows = random.permutation(200)[:40]
        new = random_codes(40, 3, bits, seed=turn + 5)
        moved = int((codes[rows] != new).sum())
        codes[rows] = new
        order = [row for row in order if row not in set(rows.tolist())] + rows.tolist()
        assert tables.update(rows, new, TWO) == moved
        expected = [
            [sorted([row for row in order if codes[row, t] == c][-capacity:]) for c in range(8)] for t in range(3)
        ]
        assert buckets(tables) == expected


def test_a_reservoir_is_a_uniform_sample():
    rows, capacity, turns = 60, 6, 1500
    codes, counts = np.zeros((rows, 1), np.int32), np.zeros(rows)
    tables = Tables(1, 1, capacity, "reservoir", seed=7)
    for _ in range(turns):
        tables.build(codes)
        bucket = tables.bucket(0, 0)
        assert len(set(bucket.tolist())) == capacity
        counts[bucket] += 1
    share = capacity / rows
    chi = ((counts - turns * share) ** 2).sum() / (turns * share * (1 - share)) * (rows - 1) / rows
    assert abs(chi - (rows - 1)) < 4 * math.sqrt(2 * (rows - 1))


def test_hashing_again_moves_ids_and_loses_none():
    random = np.random.default_rng(3)
    weights, family = random.standard_normal((500, 24), np.float32), DWTA(24, 3, 6, seed=1)
    tables = Tables(6, family.bits, capacity=500)
    tables.build_from(family, weights, TWO)
    before = family.codes(weights)
    rows = np.sort(random.permutation(500)[:120])
    weights[rows] += random.standard_normal((120, 24), np.float32)
    after = family.codes(weights)
    moved = tables.update_from(family, weights, rows, TWO)
    assert moved == int((before != after).sum())
    assert moved > 300
    load = tables.statistics()
    assert load.dropped == 0
    for t in range(6):
        ids = np.concatenate([tables.bucket(t, c) for c in np.unique(after[:, t])])
        assert np.array_equal(np.sort(ids), np.arange(500))
        assert all((after[tables.bucket(t, c), t] == c).all() for c in np.unique(after[:, t]))


def test_statistics_are_those_of_the_buckets():
    codes, tables = random_codes(300, 2, 9), Tables(2, 9, capacity=2)
    tables.build(codes)
    sizes = [len(tables.bucket(t, c)) for t in range(2) for c in range(512)]
    load = tables.statistics()
    assert load.most == max(sizes) == 2
    assert load.mean == pytest.approx(sum(sizes) / sum(size > 0 for size in sizes))
    assert load.empty == pytest.approx(sizes.count(0) / 1024)
    assert load.dropped == 600 - sum(sizes) > 0


def test_memory_is_what_the_sizes_say():
    tables = Tables(5, 9)
    tables.build(random_codes(1000, 5, 9))
    assert tables.bytes == 5 * (4 * 1000 + 4 * 513 + 2 * 1000) + 4 * 1000


@pytest.fixture(scope="module")
def filled():
    """Tables with codes of which queries hit many, and the candidates of each query with their frequencies."""
    codes, queries = random_codes(400, 8, 4, seed=1), random_codes(20, 8, 4, seed=2)
    tables = Tables(8, 4, capacity=20, seed=5)
    tables.build(codes)
    found = [Counter(i for t in range(8) for i in tables.bucket(t, query[t]).tolist()) for query in queries]
    return tables, queries, found


def test_a_union_has_every_id_of_the_buckets_once(filled):
    tables, queries, found = filled
    lists = tables.query(queries)
    for i, counter in enumerate(found):
        assert sorted(lists.of(i).tolist()) == sorted(counter)


def test_a_limited_union_is_a_uniform_choice(filled):
    tables, queries, found = filled
    counts, turns = Counter(), 400
    for step in range(turns):
        chosen = tables.query(queries[:1], limit=30, step=step).of(0).tolist()
        assert len(set(chosen)) == 30
        counts.update(chosen)
    assert set(counts) == set(found[0])
    share = 30 / len(found[0])
    assert max(abs(counts[i] / turns - share) for i in found[0]) < 5 * math.sqrt(share * (1 - share) / turns)


def test_vanilla_reads_tables_in_random_order_until_it_has_enough(filled):
    tables, queries, found = filled
    first = set()
    for step in range(100):
        lists = tables.query(queries, "vanilla", limit=30, step=step)
        for i, counter in enumerate(found):
            chosen = lists.of(i).tolist()
            assert len(set(chosen)) == len(chosen) == min(30, len(counter))
            assert set(chosen) <= set(counter)
        whole = [t for t in range(8) if set(tables.bucket(t, queries[0, t])) <= set(lists.of(0).tolist())]
        first.update(whole)
        assert 1 <= len(whole) <= 2
    assert first == set(range(8))


def test_top_k_has_the_most_frequent_ids_and_threshold_the_frequent_ones(filled):
    tables, queries, found = filled
    top, frequent = tables.query(queries, "top-k", limit=25), tables.query(queries, "threshold", times=3)
    few = tables.query(queries, "threshold", limit=10, times=2)
    for i, counter in enumerate(found):
        expected = sorted(counter.values(), reverse=True)
        assert sorted((counter[c] for c in top.of(i)), reverse=True) == expected[:25]
        assert len(set(top.of(i).tolist())) == 25
        assert sorted(frequent.of(i).tolist()) == sorted(c for c in counter if counter[c] >= 3)
        twice = [count for count in expected if count >= 2]
        assert sorted((counter[c] for c in few.of(i)), reverse=True) == twice[:10]


def test_a_batch_shares_the_candidates_that_are_in_most_buckets_of_each_sample(filled):
    tables, queries, _ = filled
    shared = tables.union_of_batch(queries, 100)
    each = tables.query(queries, "top-k", limit=5)
    assert shared.tolist() == sorted(set(each.ids.tolist()))
    assert len(shared) <= 100
    with pytest.raises(ArgumentError, match="at least one each"):
        tables.union_of_batch(queries, 19)


@pytest.mark.parametrize("strategy", ["union", "vanilla", "top-k", "threshold"])
@pytest.mark.parametrize("policy", ["fifo", "reservoir"])
def test_threads_and_a_restart_change_nothing(strategy, policy):
    codes, queries = random_codes(500, 6, 3, seed=1), random_codes(33, 6, 3, seed=2)
    one, three = (Tables(6, 3, 16, policy, seed=4) for _ in range(2))
    again = Tables(6, 3, 16, policy, seed=4)
    rows = np.arange(100, 150)
    for tables, threads in ((one, Threads(1)), (three, THREE)):
        tables.build(codes, threads)
        tables.update(rows, codes[:50], threads)
    again.restore(three.state(), THREE)
    lists = [
        tables.query(queries, strategy, 20, step=9, threads=threads)
        for tables, threads in ((one, Threads(1)), (three, THREE), (again, TWO))
    ]
    for other in lists[1:]:
        assert np.array_equal(lists[0].starts, other.starts)
        assert np.array_equal(lists[0].ids, other.ids)


def test_a_label_is_retrieved_as_often_as_the_law_of_its_angle_says():
    """1 - (1 - p^K)^L, and of m tables the binomial tail, over independent families; rows of all lengths."""
    random, k, tables, times, families = np.random.default_rng(11), 3, 8, 3, 400
    query = np.maximum(0, random.standard_normal((1, 24), np.float32))
    rows = (random.standard_cauchy((30, 24)) + np.linspace(0, 4, 30)[:, None] * query).astype(np.float32)
    counts = {"union": np.zeros(30), "threshold": np.zeros(30)}
    for seed in range(families):
        family, filled = SimHash(24, k, tables, seed), Tables(tables, k, 30)
        filled.build_from(family, rows)
        for strategy, found in counts.items():
            found[filled.query(family.codes(query), strategy, times=times).of(0)] += 1
    cosines = (rows.astype(np.float64) @ query[0]) / np.linalg.norm(rows.astype(np.float64), axis=1)
    q = (1 - np.arccos(cosines / np.linalg.norm(query.astype(np.float64))) / math.pi) ** k
    tail = sum(math.comb(tables, i) * q**i * (1 - q) ** (tables - i) for i in range(times, tables + 1))
    assert q.max() > 0.5 and q.min() < 0.1
    for found, chance in ((counts["union"], 1 - (1 - q) ** tables), (counts["threshold"], tail)):
        off = np.abs(found - families * chance) / np.sqrt(families * chance * (1 - chance))
        assert off.max() < 4


def recall(family, weights, queries):
    """Return recall of the exact ten largest inner products, and the mean number of candidates over all rows."""
    tables = Tables(family.tables, family.bits, capacity=len(weights))
    tables.build_from(family, weights, TWO)
    exact = np.argsort(-(queries @ weights.T), axis=1)[:, :10]
    lists = tables.query(family.codes(queries), threads=TWO)
    hits = [len(set(lists.of(i).tolist()) & set(exact[i].tolist())) for i in range(len(queries))]
    return sum(hits) / (10 * len(queries)), lists.sizes.mean() / len(weights)


@pytest.mark.parametrize("family", [SimHash, DWTA])
def test_recall_rises_with_tables_falls_with_hashes_and_beats_chance(family):
    """On rows in clusters, as of a layer after training, and queries near one of them."""
    random = np.random.default_rng(2)
    centers = np.repeat(random.standard_normal((100, 64)), 20, axis=0)
    weights = centers + 0.6 * random.standard_normal((2000, 64))
    weights = (weights / np.linalg.norm(weights, axis=1, keepdims=True)).astype(np.float32)
    queries = weights[::25] + 0.05 * random.standard_normal((80, 64), np.float32)
    k = 4 if family is SimHash else 2
    few, some, many = (recall(family(64, k, tables, seed=1), weights, queries) for tables in (2, 8, 30))
    assert few[0] < some[0] < many[0]
    coarse, fine = (recall(family(64, hashes, 8, seed=1), weights, queries) for hashes in (k - 1, k + 1))
    assert coarse[0] > some[0] > fine[0]
    for found, size in (few, some, fine):
        assert found > 2 * size  # a random set of this size finds `size` of the rows


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 3), "tables of hash tables is 0"),
        ((3, 0), "bits of hash tables is 0"),
        ((3, 25), "lower K"),
        ((3, 3, 0), "capacity"),
        ((3, 3, 8, "lifo"), "fifo, reservoir"),
        ((3, 3, 8, "fifo", -1), "seed"),
    ],
)
def test_impossible_tables_are_refused(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        Tables(*arguments)


def test_wrong_codes_rows_and_queries_are_refused(filled):
    tables, queries, _ = filled
    refused = [
        (lambda: tables.build(queries[:, :7]), r"\(n, 8\)"),
        (lambda: tables.query(queries + 10), "2\\*\\*4 buckets"),
        (lambda: tables.query(queries, "best"), "union, vanilla, top-k, threshold"),
        (lambda: tables.query(queries, limit=0), "at least 1"),
        (lambda: tables.update(np.array([1, 1]), queries[:2]), "repeated rows"),
        (lambda: tables.update(np.array([1, 400]), queries[:2]), "rows 1 to 400"),
        (lambda: tables.update(np.array([1]), queries[:2]), "2 rows of codes"),
        (lambda: tables.build_from(DWTA(16, 1, 2), np.ones((4, 16), np.float32)), "2 tables of 3 bits"),
    ]
    for call, message in refused:
        with pytest.raises(ArgumentError, match=message):
            call()
