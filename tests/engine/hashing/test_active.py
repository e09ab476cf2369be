"""Active sets: what must be in them, what must not, and that uniform negatives reach every label."""

import numpy as np
import pytest
from hooke.errors import ArgumentError
from hooke.hashing.active import Assembler
from hooke.hashing.lists import Lists
from hooke.hashing.threads import Threads

LABELS = 300


def lists_of(*rows):
    starts = np.cumsum([0, *map(len, rows)])
    return Lists(starts, np.array([i for row in rows for i in row], np.int32))


def random_lists(b, most, seed, low=0):
    random = np.random.default_rng(seed)
    return lists_of(*(random.permutation(LABELS)[: random.integers(low, most)].tolist() for _ in range(b)))


@pytest.mark.parametrize("groups", [1, 3, 17])
def test_sets_have_labels_draws_and_candidates_and_no_duplicates(groups):
    b, cap = 17, 60
    labels, candidates = random_lists(b, 9, 1, low=1), random_lists(b, 100, 2)
    assembler = Assembler(LABELS, cap, uniform=20, least=40, groups=groups, seed=3)
    active = assembler.per_sample(12, labels, candidates, Threads(2))
    draws = assembler.draws(12)
    for i in range(b):
        ids, mine = active.lists.of(i).tolist(), set(labels.of(i).tolist())
        assert set(ids[: active.positives[i]]) == mine
        assert len(set(ids)) == len(ids)
        assert 40 <= len(ids) <= cap
        draw = set(draws[i * groups // b].tolist())
        assert draw <= set(ids)
        room = cap - len(mine | draw)
        new = [c for c in candidates.of(i).tolist() if c not in mine | draw]
        assert set(new[:room]) <= set(ids)
        if len(mine | draw) + len(new) >= 40:
            assert set(ids) == mine | draw | set(new[:room])


def test_a_label_given_twice_counts_once():
    active = Assembler(LABELS, 10, uniform=3).per_sample(0, lists_of([7, 7, 8], [8]))
    assert active.positives.tolist() == [2, 1]


@pytest.mark.parametrize("groups", [1, 2])
def test_an_epoch_has_every_label_as_a_negative_even_if_tables_return_the_same_few(groups):
    b, uniform = 6, 7
    labels, candidates = lists_of(*([i] for i in range(b))), lists_of(*[[1, 2, 3]] * b)
    assembler = Assembler(LABELS, 40, uniform, groups=groups, seed=1)
    seen = set()
    for step in range(-(-LABELS // (uniform * groups))):
        active = assembler.per_sample(step, labels, candidates)
        for i in range(b):
            seen.update(active.lists.of(i)[active.positives[i] :].tolist())
    assert seen == set(range(LABELS))


def test_draws_are_permutations_one_after_the_other():
    assembler = Assembler(LABELS, 100, uniform=70, groups=2, seed=9)
    drawn = np.concatenate([assembler.draws(step).ravel() for step in range(15)])
    passes = drawn.reshape(-1, LABELS)
    assert (np.sort(passes, axis=1) == np.arange(LABELS)).all()
    assert not np.array_equal(passes[0], passes[1])
    assert np.array_equal(assembler.draws(3), Assembler(LABELS, 100, uniform=70, groups=2, seed=9).draws(3))
    assert not np.array_equal(assembler.draws(3), Assembler(LABELS, 100, 70, groups=2, seed=8).draws(3))


def test_sets_are_functions_of_seed_and_step_for_any_number_of_threads():
    labels, candidates = random_lists(40, 9, 1), random_lists(40, 50, 2)
    sets = [
        Assembler(LABELS, 90, 10, least=80, seed=seed).per_sample(step, labels, candidates, Threads(threads))
        for seed, step, threads in ((1, 5, 1), (1, 5, 3), (1, 6, 1), (2, 5, 1))
    ]
    same = [np.array_equal(sets[0].lists.ids, other.lists.ids) for other in sets]
    assert same == [True, True, False, False]


def test_all_rows_are_active_if_the_cap_allows_it():
    active = Assembler(50, 50, uniform=0, least=50).per_sample(0, lists_of([3], [], [49, 0]))
    assert active.lists.sizes.tolist() == [50] * 3
    assert active.positives.tolist() == [1, 0, 2]
    assert all(sorted(active.lists.of(i).tolist()) == list(range(50)) for i in range(3))


def test_a_shared_set_has_all_labels_then_the_draw_then_candidates():
    labels, candidates = lists_of([5, 9, 5], [], [200, 9]), np.array([9, 40, 41, 40, 42, 43], np.int32)
    assembler = Assembler(LABELS, 12, uniform=6, seed=4)
    shared = assembler.shared(2, labels, candidates)
    fixed = {5, 9, 200} | set(assembler.draws(2, 1).ravel().tolist())
    new = [c for c in (40, 41, 42, 43) if c not in fixed][: 12 - len(fixed)]
    assert shared.ids.tolist() == sorted(fixed | set(new))
    assert [shared.ids[shared.labels.of(i)].tolist() for i in range(3)] == [[5, 9], [], [9, 200]]
    assert set(Assembler(LABELS, 3, uniform=0).shared(0, labels, candidates).ids.tolist()) == {5, 9, 200}


def test_impossible_sets_are_refused():
    assembler = Assembler(LABELS, 10, uniform=6)
    refused = [
        (
            lambda: assembler.per_sample(0, lists_of([1], [1, 2, 3, 4, 5])),
            "sample 1 .* has 5 labels.*raise the cap",
        ),
        (lambda: assembler.per_sample(0, lists_of([300])), "labels are 300 to 300"),
        (lambda: assembler.per_sample(0, lists_of([1]), lists_of([-1])), "candidates are -1"),
        (lambda: assembler.per_sample(0, lists_of([1]), lists_of([1], [2])), "2 samples given for 1"),
        (lambda: Assembler(LABELS, 5, uniform=6), "cap of active sets is 5"),
        (lambda: Assembler(LABELS, 5, uniform=2, least=6), "least is 6"),
        (lambda: Assembler(0, 5, uniform=2), "labels of active sets is 0"),
        (lambda: Lists(np.array([0, 3, 2]), np.zeros(2, np.int32)), "offsets"),
    ]
    for call, message in refused:
        with pytest.raises(ArgumentError, match=message):
            call()
