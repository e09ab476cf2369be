"""The table of a run against sums done step by step in plain Python."""

import math
import random

import numpy as np
import pytest
from hooke.spec.events import ABSENT
from hooke_api.metrics.attempts import Begun, keep_evaluations, keep_steps, limits_of
from hooke_api.metrics.table import (
    COLUMNS,
    RankColumns,
    aggregate,
    sizes_of,
    unequal_batches,
    writing_workers,
)


def rank(number: int, rows: list[dict], server: bool = False) -> RankColumns:
    columns = {
        name: np.array([row.get(name, ABSENT.get(name, math.nan if name == "loss" else 0)) for row in rows])
        for name in COLUMNS
    }
    return RankColumns(number, server, columns)


def lockstep_ranks(workers: int, steps: int, batch: int) -> list[RankColumns]:
    source = random.Random(1)
    ranks = []
    for w in range(workers):
        clock, rows = 0.0, []
        for s in range(1, steps + 1):
            clock += 0.01 + source.random() * 0.001
            rows.append(
                {
                    "step": s,
                    "samples": s * workers * batch,
                    "clock": clock,
                    "wall": clock + 0.5,
                    "loss": 1 / s + w,
                    "communicate": 0.002 * (w + 1),
                    "wire": 100 + w,
                }
            )
        ranks.append(rank(w, rows))
    return ranks


def test_lockstep_rows_are_steps():
    ranks = lockstep_ranks(3, 20, 16)
    table = aggregate(ranks, 3, 16, lockstep=True, ended=True)
    assert table.samples.tolist() == [s * 48 for s in range(1, 21)]
    for s in range(20):
        assert table.loss[s] == pytest.approx(1 / (s + 1) + 1.0)
        assert table.clock[s] == max(r["clock"][s] for r in ranks)
        assert table.bytes[s] == 303 * (s + 1)
        exposed = [0.002 * (w + 1) * (s + 1) / r["clock"][s] for w, r in enumerate(ranks)]
        assert table.fraction[s] == pytest.approx(sum(exposed) / 3)


def test_losses_of_unequal_batches_are_weighted_by_them():
    """Worker w has loss 1 / s + w in step s: with 3, 1 and 2 batches the mean is 1 / s + (1 + 2 * 2) / 6."""
    ranks = lockstep_ranks(3, 20, 16)
    table = aggregate(ranks, 3, 16, lockstep=True, ended=True, weights=(3, 1, 2))
    assert table.loss.tolist() == pytest.approx([1 / s + 5 / 6 for s in range(1, 21)])


@pytest.mark.parametrize(
    ("algorithm", "sizes", "workers", "batches"),
    [
        ("weighted-sync-sgd", [3, 1], 4, (3, 1, 3, 1)),
        ("weighted-sync-sgd", None, 2, ()),
        ("hogbatch", [1, 8], 2, ()),
        ("one-of-a-user", [1, 8], 2, ()),
    ],
)
def test_batches_of_a_step_follow_from_the_method(algorithm, sizes, workers, batches):
    assert unequal_batches(algorithm, sizes, workers) == batches


def test_a_row_waits_for_every_worker():
    ranks = lockstep_ranks(3, 20, 16)
    shorter = RankColumns(1, False, {name: ranks[1].columns[name][:12] for name in COLUMNS})
    assert len(aggregate([ranks[0], shorter, ranks[2]], 3, 16, lockstep=True, ended=False)) == 12
    silent = RankColumns(1, False, {name: np.empty(0) for name in COLUMNS})
    assert len(aggregate([ranks[0], silent, ranks[2]], 3, 16, lockstep=True, ended=False)) == 0
    assert len(aggregate([], 3, 16, lockstep=True, ended=True)) == 0


def server_ranks() -> list[RankColumns]:
    """A fast worker (30 steps), a slow one (10), and a server that answers each of them."""
    fast = [
        {"step": s, "clock": s * 0.1, "wall": s * 0.1, "loss": 5.0, "communicate": 0.03, "wire": 10}
        for s in range(1, 31)
    ]
    slow = [
        {"step": s, "clock": s * 0.3, "wall": s * 0.3 + 0.001, "loss": 1.0, "communicate": 0.06, "wire": 20}
        for s in range(1, 11)
    ]
    walls = sorted(row["wall"] for row in fast + slow)
    server = [
        {"step": i + 1, "wall": w - 0.0005, "clock": w, "wire": 7, "staleness": i % 2 or math.nan}
        for i, w in enumerate(walls)
    ]
    return [rank(0, fast), rank(1, slow), rank(2, server, server=True)]


def test_gradients_of_unequal_workers_are_put_in_order_of_time():
    ranks = server_ranks()
    table = aggregate(ranks, 2, 8, lockstep=False, ended=True)
    events = sorted(
        [(row, 5.0, w) for w in (0,) for row in ranks[0]["wall"]] + [(row, 1.0, 1) for row in ranks[1]["wall"]]
    )
    assert len(table) == 20
    for g in range(20):
        pair = events[2 * g : 2 * g + 2]
        end = pair[-1][0]
        assert table.samples[g] == (2 * g + 2) * 8  # the budget is met exactly
        assert table.loss[g] == pytest.approx(sum(loss for _, loss, _ in pair) / 2)
        assert table.wall[g] == end
        done = [sum(wall <= end for wall in r["wall"]) for r in ranks]
        assert table.bytes[g] == done[0] * 10 + done[1] * 20 + done[2] * 7
        shares = [done[w] * c / ranks[w]["clock"][done[w] - 1] for w, c in ((0, 0.03), (1, 0.06)) if done[w]]
        assert table.fraction[g] == pytest.approx(sum(shares) / len(shares))
    assert (np.diff(table.samples) > 0).all() and (np.diff(table.bytes) >= 0).all()


def test_a_running_server_method_shows_only_what_cannot_change():
    ranks = server_ranks()
    whole = aggregate(ranks, 2, 8, lockstep=False, ended=False)
    for seen_fast, seen_slow in ((5, 1), (12, 2), (12, 7), (30, 9)):
        cut = [
            RankColumns(r.rank, r.server, {n: r.columns[n][:k] for n in COLUMNS})
            for r, k in zip(ranks, (seen_fast, seen_slow, 40), strict=True)
        ]
        part = aggregate(cut, 2, 8, lockstep=False, ended=False)
        n = len(part)
        assert n == sum(w <= min(cut[0]["wall"][-1], cut[1]["wall"][-1]) for r in cut[:2] for w in r["wall"]) // 2
        for name in ("samples", "clock", "wall", "bytes", "loss", "fraction"):
            assert (getattr(part, name) == getattr(whole, name)[:n]).all()


def cut(ranks: list[RankColumns], seen: list[int], left: int | None = None) -> list[RankColumns]:
    return [
        RankColumns(r.rank, r.server, {n: r.columns[n][:k] for n in COLUMNS}, r.rank == left)
        for r, k in zip(ranks, seen, strict=True)
    ]


@pytest.mark.parametrize(("left", "seen"), [(0, [7, 10, 17]), (1, [30, 4, 34]), (1, [30, 0, 30])])
def test_rows_go_on_without_a_worker_that_left(left, seen):
    """And are those of the end, from whichever moment one looks."""
    ranks = cut(server_ranks(), seen, left)
    others = 1 - left
    whole = aggregate(ranks, 2, 8, lockstep=False, ended=False)
    walls = sorted(w for r in ranks[:2] for w in r["wall"])
    pair = 2 if min(seen) else 1  # a worker that never stepped has no part in a row
    assert len(whole) == sum(w <= ranks[others]["wall"][-1] for w in walls) // pair
    assert whole.samples.tolist() == [8 * pair * (g + 1) for g in range(len(whole))]
    waiting = aggregate(cut(ranks, seen), 2, 8, lockstep=False, ended=False)
    assert len(waiting) < len(whole), "as long as it may have more to say, its last step is the end"
    for k in range(1, seen[others] + 1):
        part = aggregate(cut(ranks, [k if r.rank == others else len(r) for r in ranks], left), 2, 8, False, False)
        for name in ("samples", "clock", "wall", "bytes", "loss", "fraction"):
            assert (getattr(part, name) == getattr(whole, name)[: len(part)]).all()
    final = aggregate(ranks, 2, 8, lockstep=False, ended=True)
    assert len(final) - len(whole) in (0, 1)


def test_of_many_workers_those_that_write_may_leave():
    ranks = [RankColumns(n, False, r.columns, left=True) for n, r in zip((0, 63), server_ranks(), strict=False)]
    assert len(aggregate(ranks, 64, 8, lockstep=False, ended=False)) == 20


def test_staleness_has_points_only_where_it_is_known():
    ranks = server_ranks()
    table = aggregate(ranks, 2, 8, lockstep=False, ended=True)
    assert len(table.staleness) and (table.staleness == 1).all()
    assert (np.diff(table.staleness_at) > 0).all() and table.staleness_at[-1] < len(table)


def test_many_workers_of_which_two_write():
    assert writing_workers(32) == tuple(range(32)) and writing_workers(64) == (0, 63)
    few = lockstep_ranks(2, 5, 4)
    for column in (few[0].columns, few[1].columns):
        column["samples"] = np.arange(1, 6) * 64 * 4
    table = aggregate([few[0], RankColumns(63, False, few[1].columns)], 64, 4, lockstep=True, ended=False)
    assert table.samples.tolist() == [256, 512, 768, 1024, 1280]
    assert table.bytes[0] == 32 * 201


def columns(steps: range, mark: float) -> dict:
    return {name: np.array([float(s) if name == "step" else mark for s in steps]) for name in COLUMNS}


def test_points_after_the_restored_step_are_superseded():
    stored = {
        (1, 0): columns(range(1, 11), 1.0),
        (2, 0): columns(range(6, 9), 2.0),
        (3, 0): columns(range(8, 12), 3.0),
    }
    begun = [Begun(1, None), Begun(2, 5), Begun(3, 7)]
    kept = keep_steps(stored, begun, [0])[0]
    assert kept["step"].tolist() == list(range(1, 12))
    assert kept["loss"].tolist() == [1.0] * 5 + [2.0] * 2 + [3.0] * 4


def test_an_attempt_that_begins_anew_hides_everything_before_at_once():
    stored = {(1, 0): columns(range(1, 11), 1.0)}
    assert len(keep_steps(stored, [Begun(1, None)], [0])[0]["step"]) == 10
    assert keep_steps(stored, [Begun(1, None), Begun(2, None)], [0]) == {}
    assert keep_steps(stored, [Begun(1, None), Begun(2, 4)], [0])[0]["step"].tolist() == [1, 2, 3, 4]


def test_each_worker_goes_on_from_its_own_step():
    stored = {
        (1, 0): columns(range(1, 9), 1.0),
        (1, 1): columns(range(1, 5), 1.0),
        (2, 0): columns(range(7, 9), 2.0),
        (2, 1): columns(range(4, 6), 2.0),
    }
    kept = keep_steps(stored, [Begun(1, None), Begun(2, 6)], [0, 1])
    assert kept[0]["step"].tolist() == [1, 2, 3, 4, 5, 6, 7, 8] and kept[0]["loss"].tolist() == [1] * 6 + [2] * 2
    assert kept[1]["step"].tolist() == [1, 2, 3, 4, 5] and kept[1]["loss"].tolist() == [1] * 3 + [2] * 2


def test_superseded_evaluations_are_hidden_and_none_is_doubled():
    scores = [(1, s, "old") for s in (0, 100, 200, 300)] + [(2, s, "new") for s in (200, 300, 400)]
    begun = [Begun(1, None), Begun(2, 5)]
    kept = keep_evaluations(scores, begun, restored_samples=200)
    assert [(s, who) for _, s, who in kept] == [(0, "old"), (100, "old"), (200, "new"), (300, "new"), (400, "new")]
    assert [s for _, s, _ in keep_evaluations(scores[:4], begun, restored_samples=200)] == [0, 100, 200]
    assert keep_evaluations(scores[:4], [Begun(1, None), Begun(2, None)], restored_samples=0) == []


def test_the_last_step_that_counts_is_that_of_the_steps_kept():
    """Against `keep_steps`, on attempts that go on anywhere."""
    draw = random.Random(2)
    for _ in range(300):
        begun = [Begun(n, draw.choice((None, draw.randint(1, 20)))) for n in range(1, draw.randint(2, 5))]
        stored = {}
        for number in (b.number for b in begun):
            for rank in (0, 1):
                if draw.random() < 0.8:
                    first = draw.randint(1, 20)
                    stored[number, rank] = np.arange(first, first + draw.randint(1, 15))
        firsts = {place: int(steps[0]) for place, steps in stored.items() if place[0] > 1}
        limits = limits_of([b.number for b in begun], begun, firsts, (0, 1))
        columns = {place: {name: steps for name in COLUMNS} for place, steps in stored.items()}
        kept = keep_steps(columns, begun, (0, 1))
        for rank in (0, 1):
            counted = [
                s for (n, r), steps in sorted(stored.items()) if r == rank for s in steps if s <= limits[n, r]
            ]
            assert counted == (kept[rank]["step"].tolist() if rank in kept else [])


def test_measured_batches_are_those_that_a_rank_has_noted():
    chosen = {"split": "measured", "mean": 5, "sizes": [1]}
    assert sizes_of(chosen, {"batches of a step": "8, 2 by measured speed"}) == [8, 2]
    assert sizes_of(chosen) == [5], "before it has"
    assert sizes_of({"split": "given", "sizes": [3, 1]}) == [3, 1]
    assert sizes_of({}) is None
