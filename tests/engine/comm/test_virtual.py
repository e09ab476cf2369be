"""Every case in the virtual world, for every number of ranks and both collectives."""

import threading
from math import ceil, log2

import numpy as np
import pytest
from hooke.comm.base import ANY, Comm
from hooke.errors import CommError, Deadlock
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.comm.cases import CASES, LAYOUT, expected_sum, summand
from tests.engine.comm.worlds import virtual


@pytest.mark.parametrize("collective", ["tree", "halving"])
@pytest.mark.parametrize("size", range(1, 9))
@pytest.mark.parametrize("name", CASES)
def test_case(name, size, collective):
    threads = threading.active_count()
    first = virtual(size, CASES[name], collective)
    assert virtual(size, CASES[name], collective) == first
    assert threading.active_count() == threads


@pytest.mark.parametrize("size", range(1, 9))
@pytest.mark.parametrize("name", ["allreduce_is_the_ordered_sum", "delays_move_no_bit"])
def test_both_collectives_agree_and_so_do_all_ranks(name, size):
    answers = virtual(size, CASES[name], "tree") + virtual(size, CASES[name], "halving")
    assert len(set(answers)) == 1


@given(
    size=st.integers(1, 8), elements=st.integers(0, 50), delays=st.lists(st.floats(0, 1), min_size=8, max_size=8)
)
@pytest.mark.parametrize("collective", ["tree", "halving"])
def test_sums_do_not_depend_on_who_comes_first(collective, size, elements, delays):
    def main(comm: Comm) -> bytes:
        comm.charge(delays[comm.rank])
        x = summand(comm.rank, elements)
        comm.allreduce(x)
        return x.tobytes()

    assert virtual(size, main, collective) == [expected_sum(size, elements)] * size


@pytest.mark.parametrize("size", range(2, 9))
def test_the_tree_moves_2_p_minus_1_vectors(size):
    allreduce, iallreduce, broadcast, barrier, control, reduce = zip(
        *[counts[:6] for counts in virtual(size, CASES["traffic_counts"])], strict=True
    )
    for counts in (allreduce, iallreduce):
        assert [sum(column) for column in zip(*counts, strict=True)] == [
            4000 * size,
            2 * (size - 1) * 4000,
            2 * (size - 1),
        ]
    assert [sum(column) for column in zip(*broadcast, strict=True)] == [4000, (size - 1) * 4000, size - 1]
    assert [sum(column) for column in zip(*reduce, strict=True)] == [*[(size - 1) * 4000] * 2, size - 1]
    assert {tuple(c) for c in (*barrier, *control)} == {(0, 0, 0)}


def test_a_rank_alone_sends_nothing():
    (counts,) = virtual(1, CASES["traffic_counts"])
    assert counts == [[0, 0, 0]] * 6


def test_a_send_counts_once():
    sent, received, _ = (counts[6:] for counts in virtual(3, CASES["traffic_counts"]))
    assert (sent, received) == ([[4000, 4000, 1]], [[0, 0, 0]])


def test_packing_multiplies_the_messages_by_the_parts():
    layers, buckets = len(LAYOUT), 2
    # Two ranks, a tree: rank 0 sends 2 all-reduces and 2 vectors, rank 1 sends 2 all-reduces, a broadcast and
    # a vector to be reduced; the short vector is 1 message either way.
    assert virtual(2, CASES["packing_moves_no_bit"]) == [[4 * n + 1 for n in (1, layers, buckets)]] * 2


def test_deadlock_names_every_rank_in_every_rank():
    told = {}

    def main(comm: Comm) -> None:
        if comm.rank == 3:
            return
        comm.charge(0.25)
        try:
            if comm.rank == 2:
                comm.barrier()
            else:
                comm.recv(np.zeros(1, np.float32), ANY if comm.rank else 1, tag=7)
        except Deadlock as error:
            told[comm.rank] = str(error)
            raise

    with pytest.raises(Deadlock) as caught:
        virtual(4, main)
    assert told == dict.fromkeys(range(3), str(caught.value))
    for part in (
        "rank 0 (at 0.25 s) waits to receive from rank 1 (tag 7)",
        "rank 1 (at 0.25 s) waits to receive from any rank (tag 7)",
        "rank 2 (at 0.25 s) waits at a barrier",
        "rank 3 has ended",
    ):
        assert part in told[0]


@pytest.mark.parametrize(
    ("wait", "reason"),
    [
        (lambda c: c.control.recv(), "control words from any rank"),
        (lambda c: c.control.allreduce((1.0,)), "a control all-reduce"),
        (lambda c: c.allreduce(np.zeros(3, np.float32)), "in an all-reduce"),
        (lambda c: c.send(np.zeros(3, np.float32), 1 - c.rank), "to send to rank"),  # would hang under MPI, too
    ],
)
def test_every_way_to_wait_is_reported(wait, reason):
    def main(comm: Comm) -> None:
        if comm.rank == 0 or "send" in reason:
            wait(comm)

    with pytest.raises(Deadlock, match=reason):
        virtual(2, main)


def test_the_first_failure_ends_every_rank_and_names_its_own():
    threads, ended = threading.active_count(), []

    def main(comm: Comm) -> None:
        try:
            comm.charge(float(comm.rank))
            comm.barrier()
            if comm.rank == 2:
                raise ZeroDivisionError("the third rank")
            comm.barrier()
        finally:
            ended.append(comm.rank)

    with pytest.raises(ZeroDivisionError, match="the third rank") as caught:
        virtual(4, main)
    assert caught.value.__notes__ == ["raised by rank 2 of 4 in the virtual world"]
    assert sorted(ended) == [0, 1, 2, 3]
    assert threading.active_count() == threads


def test_a_rank_that_swallows_the_end_of_the_world_is_told_again():
    def main(comm: Comm) -> None:
        if comm.rank == 1:
            raise KeyError("gone")
        for _ in range(3):
            with pytest.raises(CommError, match="rank 1: KeyError"):
                comm.barrier()

    with pytest.raises(KeyError):
        virtual(3, main)


def test_ranks_that_disagree_are_told():
    def lengths(comm: Comm) -> None:
        comm.allreduce(np.zeros(3 + comm.rank, np.float32))

    def kinds(comm: Comm) -> None:
        x = np.zeros(3, np.float32)
        comm.allreduce(x) if comm.rank else comm.broadcast(x)

    def messages(comm: Comm) -> None:
        x = np.zeros(3 + comm.rank, np.float32)
        comm.send(x, 1) if comm.rank == 0 else comm.recv(x, 0)

    def meetings(comm: Comm) -> None:
        comm.barrier() if comm.rank else comm.control.allreduce((1.0,))

    for main in (lengths, kinds, messages, meetings):
        with pytest.raises(CommError):
            virtual(2, main)


def test_time_cannot_be_charged_backwards():
    with pytest.raises(ValueError, match="cannot charge negative time"):
        virtual(1, lambda comm: comm.charge(-1.0))


def test_a_hundred_ranks():
    def main(comm: Comm) -> float:
        x = np.ones(4, np.float32)
        comm.allreduce(x)
        return float(x[0])

    assert virtual(100, main) == [100.0] * 100
    assert ceil(log2(100)) == 7
