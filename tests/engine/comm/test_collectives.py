"""The schedules alone: executed by a dozen lines that know nothing of MPI or virtual time."""

from fractions import Fraction
from math import ceil, log2

import numpy as np
import pytest
from hooke.comm import collectives
from hooke.comm.collectives import ordered_sum, sum_of_equals
from hooke.comm.schedule import Part, Schedule, sent
from hooke.errors import CommError
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.comm.wire_cases import ring_sum

RANKS = range(1, 10)


def execute(schedule: Schedule, vectors: list[np.ndarray]) -> list[np.ndarray]:
    """Run the rounds of all ranks; a message travels when both its ends are in the round that names it."""
    x = [v.copy() for v in vectors]
    rounds = [iter(mine) for mine in schedule]
    offers: dict[tuple[int, int], Part] = {}
    wants: dict[tuple[int, int], tuple[Part, bool]] = {}
    open_messages = [0] * len(x)
    ended = [False] * len(x)
    while not all(ended):
        moved = False
        for r in range(len(x)):
            while not open_messages[r] and not ended[r]:
                turn = next(rounds[r], None)
                ended[r] = turn is None
                moved = True
                if turn is not None and turn.send:
                    offers[r, turn.peer] = turn.send
                    open_messages[r] += 1
                if turn is not None and turn.receive:
                    wants[turn.source, r] = (turn.receive, turn.add)
                    open_messages[r] += 1
        ready = offers.keys() & wants.keys()
        moving = {ends: x[ends[0]][offers[ends].start : offers[ends].stop].copy() for ends in ready}
        for (source, target), data in moving.items():
            part, add = wants.pop((source, target))
            assert offers.pop((source, target)) == part
            into = x[target][part.start : part.stop]
            into[:] = into + data if add else data
            open_messages[source] -= 1
            open_messages[target] -= 1
        assert moved or ready, "the rounds of two ranks do not match: a deadlock"
    return x


def vectors(ranks: int, elements: int, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng([ranks, elements, seed])
    return [(rng.standard_normal(elements) * 10.0 ** rng.integers(-3, 4)).astype(np.float32) for _ in range(ranks)]


def test_the_order_is_the_documented_one():
    a, b, c, d, e, f, g = (np.array([v], np.float32) for v in (1e8, 1, -1e8, 3, 1, 7, 0.1))
    # q = 4: ranks 4, 5, 6 are folded into 0, 1, 2; then distance 1, then distance 2.
    expected = ((a + e) + (b + f)) + ((c + g) + d)
    assert ordered_sum([a, b, c, d, e, f, g]).tobytes() == expected.tobytes()
    assert expected != ((((((a + b) + c) + d) + e) + f) + g)  # the order matters for these numbers


@pytest.mark.parametrize("ranks", range(1, 18))
def test_tree_and_halving_leave_the_same_bits_everywhere(ranks):
    for elements in (1, 2, ranks - 1, ranks, 3 * ranks + 1, 100):
        summands = vectors(ranks, elements)
        by_schedule = [
            {x.tobytes() for x in execute(collectives.allreduce(ranks, elements, each), summands)}
            for each in ("tree", "halving")
        ]
        assert by_schedule == [{ordered_sum(summands).tobytes()}] * 2


@pytest.mark.parametrize("collective", ["tree", "halving"])
@given(ranks=st.integers(1, 17), elements=st.integers(0, 40), seed=st.integers(0, 1000))
def test_every_rank_holds_the_ordered_sum_bit_for_bit(collective, ranks, elements, seed):
    summands = vectors(ranks, elements, seed)
    expected = ordered_sum(summands).tobytes()
    results = execute(collectives.allreduce(ranks, elements, collective), summands)
    assert [x.tobytes() for x in results] == [expected] * ranks


@given(ranks=st.integers(1, 9), elements=st.integers(0, 40), root=st.integers(0, 8), seed=st.integers(0, 1000))
def test_a_reduce_leaves_the_ordered_sum_at_any_root(ranks, elements, root, seed):
    root %= ranks
    summands = vectors(ranks, elements, seed)
    schedule = collectives.reduce(ranks, elements, root)
    assert execute(schedule, summands)[root].tobytes() == ordered_sum(summands).tobytes()
    assert sum(sent(rounds)[0] for rounds in schedule) == (ranks - 1) * elements
    assert max(map(len, schedule)) <= ceil(log2(ranks))


@given(ranks=st.integers(1, 9), elements=st.integers(0, 40), seed=st.integers(0, 1000))
def test_a_ring_leaves_the_sum_of_its_own_order_everywhere(ranks, elements, seed):
    summands = vectors(ranks, elements, seed)
    expected = ring_sum(summands)
    results = execute(collectives.allreduce(ranks, elements, "ring"), summands)
    assert [x.tobytes() for x in results] == [expected.tobytes()] * ranks
    assert ordered_sum(summands, "ring").tobytes() == expected.tobytes()


@pytest.mark.parametrize("ranks", RANKS)
def test_a_ring_sends_the_least_possible_from_every_rank(ranks):
    for rounds in collectives.allreduce(ranks, 16 * ranks, "ring"):
        assert sent(rounds) == (2 * (ranks - 1) * 16, 2 * (ranks - 1))
        assert len({turn.peer for turn in rounds} | {turn.source for turn in rounds}) == min(2, ranks - 1)


def test_the_library_has_no_schedule_of_ours():
    with pytest.raises(CommError, match="no schedule"):
        collectives.allreduce(2, 10, "library")


@given(ranks=st.integers(1, 9), elements=st.integers(1, 20), seed=st.integers(0, 1000))
def test_the_ordered_sum_is_the_sum(ranks, elements, seed):
    summands = [np.round(v * 1e3).astype(np.float64) for v in vectors(ranks, elements, seed)]
    exact = [float(sum(Fraction(v[i]) for v in summands)) for i in range(elements)]
    assert ordered_sum(summands).tolist() == exact  # integers: no rounding


@given(ranks=st.integers(1, 9), elements=st.integers(0, 20), root=st.integers(0, 8))
def test_broadcast_reaches_every_rank(ranks, elements, root):
    root %= ranks
    parts = vectors(ranks, elements)
    results = execute(collectives.broadcast(ranks, elements, root), parts)
    assert all(x.tobytes() == parts[root].tobytes() for x in results)


@pytest.mark.parametrize("ranks", RANKS)
def test_the_tree_sends_2_p_minus_1_vectors_in_2_ceil_log2_p_rounds(ranks):
    schedule = collectives.allreduce(ranks, 1000, "tree")
    counts = [sent(rounds) for rounds in schedule]
    assert sum(elements for elements, _ in counts) == 2 * (ranks - 1) * 1000
    assert sum(messages for _, messages in counts) == 2 * (ranks - 1)
    assert max(map(len, schedule)) == 2 * ceil(log2(ranks))


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_halving_sends_the_least_possible_from_every_rank(ranks):
    for rounds in collectives.allreduce(ranks, 1024, "halving"):
        assert sent(rounds) == (2 * (ranks - 1) * 1024 // ranks, 2 * log2(ranks))


@pytest.mark.parametrize("ranks", RANKS)
def test_broadcast_is_a_binomial_tree(ranks):
    schedule = collectives.broadcast(ranks, 10, 0)
    assert sum(sent(rounds)[0] for rounds in schedule) == 10 * (ranks - 1)
    assert max(map(len, schedule)) == ceil(log2(ranks))


def test_no_message_is_empty_when_elements_are_fewer_than_ranks():
    for rounds in collectives.allreduce(8, 3, "halving"):
        for turn in rounds:
            assert turn.send or turn.receive
            assert turn.send is None or len(turn.send) > 0
            assert turn.receive is None or len(turn.receive) > 0


@pytest.mark.parametrize("collective", ["tree", "halving", "ring"])
@pytest.mark.parametrize("ranks", range(1, 18))
def test_the_sum_of_equal_vectors_has_the_bits_of_the_schedule(ranks, collective):
    (x,) = vectors(1, 500)
    expected = execute(collectives.allreduce(ranks, 500, collective), [x] * ranks)
    found = sum_of_equals(x, ranks, collective)
    assert found.dtype == np.float32
    assert {found.tobytes()} == {each.tobytes() for each in expected}
    if ranks in (5, 7) and collective != "ring":
        assert found.tobytes() != (x * np.float32(ranks)).tobytes(), "the test can tell"
