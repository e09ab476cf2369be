"""Virtual seconds against closed forms: A seconds of latency, B seconds per byte, one port each way."""

from math import ceil, log2

import numpy as np
import pytest
from hooke.comm.base import ANY, Comm
from hooke.comm.virtual.communicator import run_virtual
from hooke.comm.wrappers.timed import connect
from hooke.spec.specification import Communication
from hooke.trace.phases import Ledger, Phase

from tests.engine.comm.worlds import NETWORK, A, B, virtual

N = 1000
MESSAGE = A + 4 * N * B
RANKS = range(2, 9)


def vector() -> np.ndarray:
    return np.zeros(N, np.float32)


def time_of(size, operation, collective="tree"):
    def main(comm: Comm) -> float:
        operation(comm)
        return comm.clock()

    return virtual(size, main, collective)


@pytest.mark.parametrize("size", RANKS)
def test_a_tree_takes_2_ceil_log2_p_messages(size):
    assert max(time_of(size, lambda c: c.allreduce(vector()))) == pytest.approx(2 * ceil(log2(size)) * MESSAGE)


@pytest.mark.parametrize("size", RANKS)
def test_a_broadcast_takes_ceil_log2_p_messages(size):
    times = time_of(size, lambda c: c.broadcast(vector(), size - 1))
    assert max(times) == pytest.approx(ceil(log2(size)) * MESSAGE)


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6, 7, 8, 9, 16, 17])
def test_halving_is_never_longer_than_the_tree(size):
    """Among q = 2^k ranks 2 log2 q messages, which add up to 2 (q - 1) / q vectors; others send theirs whole.

    The tree has as many messages one after the other, each of a whole vector.
    """
    q = 1 << int(log2(size))
    fold = 2 * MESSAGE if q < size else 0.0
    expected = fold + 2 * log2(q) * A + 2 * (q - 1) / q * 4 * N * B
    times = time_of(size, lambda c: c.allreduce(vector()), "halving")
    assert max(times) == pytest.approx(expected, rel=0.01)  # parts are not equally long where q does not divide N
    by_tree = max(time_of(size, lambda c: c.allreduce(vector())))
    assert by_tree == pytest.approx(2 * ceil(log2(size)) * MESSAGE)
    assert max(times) <= 0.8 * by_tree


@pytest.mark.parametrize("size", [2, 3, 5, 8, 17])
@pytest.mark.parametrize("elements", [1, 2, 7])
def test_nor_where_elements_are_fewer_than_ranks(size, elements):
    def seconds(collective):
        return max(time_of(size, lambda c: c.allreduce(np.zeros(elements, np.float32)), collective))

    assert seconds("halving") <= seconds("tree") * (1 + 1e-9)


def serve_in_turn(comm: Comm) -> None:
    server, x = comm.size - 1, vector()
    if comm.rank == server:
        for worker in range(server):
            comm.recv(x, worker)
    else:
        comm.send(x, server)


@pytest.mark.parametrize("size", RANKS)
def test_round_robin_takes_p_messages_at_the_servers_only_link(size):
    times = time_of(size, serve_in_turn)
    assert times[-1] == pytest.approx((size - 1) * MESSAGE)
    assert times[:-1] == pytest.approx([(k + 1) * MESSAGE for k in range(size - 1)])


@pytest.mark.parametrize("size", RANKS)
def test_nonblocking_receives_share_the_link_too(size):
    def operation(comm: Comm) -> None:
        if comm.rank:
            comm.send(vector(), 0)
        else:
            for p in [comm.irecv(vector(), r) for r in range(1, comm.size)]:
                p.wait()

    assert time_of(size, operation)[0] == pytest.approx((size - 1) * MESSAGE)


@pytest.mark.parametrize("size", RANKS)
def test_nonblocking_sends_share_the_link_too(size):
    def operation(comm: Comm) -> None:
        if comm.rank:
            comm.recv(vector(), 0)
        else:
            for p in [comm.isend(vector(), r) for r in range(1, comm.size)]:
                p.wait()

    times = time_of(size, operation)
    assert times == pytest.approx([(size - 1) * MESSAGE, *[k * MESSAGE for k in range(1, size)]])


def test_a_vector_travels_when_both_sides_are_there():
    def operation(comm: Comm) -> None:
        if comm.rank == 0:
            pending = comm.isend(vector(), 1)
            comm.charge(0.5)
            pending.wait()
            comm.charge(10.0)
            comm.send(vector(), 1)
        else:
            comm.charge(1.0)
            comm.recv(vector(), 0)
            assert comm.clock() == pytest.approx(1 + MESSAGE)
            comm.recv(vector(), 0)

    assert time_of(2, operation) == pytest.approx([11 + 2 * MESSAGE] * 2)


def test_send_and_receive_links_are_separate():
    """A ring: every rank sends and receives at once, so all are done after one message."""

    def operation(comm: Comm) -> None:
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        for p in (comm.isend(vector(), right), comm.irecv(vector(), left)):
            p.wait()

    assert time_of(5, operation) == pytest.approx([MESSAGE] * 5)


def test_a_server_serves_in_the_order_of_virtual_time():
    def main(comm: Comm) -> list[int]:
        if comm.rank:
            comm.charge(1.0 - comm.rank / 10)  # the last rank is the first
            comm.control.send((float(comm.rank),), 0)
            comm.send(vector(), 0)
            return []
        order = []
        for _ in range(1, comm.size):
            source, _ = comm.control.recv(ANY)
            comm.recv(vector(), source)
            order.append(source)
        assert comm.clock() == pytest.approx(0.9 + MESSAGE)  # 0.1 s apart, each message takes less
        return order

    assert virtual(5, main)[0] == [4, 3, 2, 1]
    assert MESSAGE < 0.1


def test_equal_times_are_served_in_the_order_of_ranks():
    def main(comm: Comm) -> list[int]:
        if comm.rank < comm.size - 1:
            comm.send(vector(), comm.size - 1)
            return []
        return [comm.recv(vector(), ANY).source for _ in range(comm.size - 1)]

    assert virtual(6, main)[-1] == [0, 1, 2, 3, 4]


def test_control_words_cost_nothing_but_do_not_travel_in_time():
    def main(comm: Comm) -> float:
        if comm.rank == 0:
            comm.charge(2.0)
            comm.control.send((1.0,), 1)
        elif comm.rank == 1:
            comm.control.recv()
        else:
            comm.charge(5.0)
        before = comm.clock()
        word = comm.control.ibroadcast((7.0,) if comm.rank == 0 else None)
        assert comm.clock() == before  # posting never waits
        assert word.wait() == (7.0,)
        return comm.clock()

    assert virtual(3, main) == [2.0, 2.0, 5.0]


@pytest.mark.parametrize("late", [0.0, 3.0])
def test_a_control_broadcast_is_heard_when_it_has_been_posted(late):
    def main(comm: Comm) -> float:
        comm.charge(late if comm.rank == 0 else 1.0)
        comm.control.ibroadcast((1.0,) if comm.rank == 0 else None).wait()
        return comm.clock()

    assert virtual(3, main) == [late, max(late, 1.0), max(late, 1.0)]


@pytest.mark.parametrize("size", range(1, 9))
def test_a_barrier_ends_log2_p_latencies_after_the_last_came(size):
    def operation(comm: Comm) -> None:
        comm.charge(float(comm.rank))
        comm.barrier()

    assert time_of(size, operation) == pytest.approx([size - 1 + (ceil(log2(size)) * A if size > 1 else 0)] * size)


@pytest.mark.parametrize(
    ("compute", "hidden", "exposed"), [(0.001, 0.001, 0.009), (0.01, 0.01, 0.0), (1, 0.01, 0)]
)
def test_what_computation_covers_is_hidden_and_the_rest_exposed(compute, hidden, exposed):
    """Two ranks, a tree: the all-reduce takes two messages, 10 ms."""

    def main(comm: Comm) -> None:
        pending = comm.iallreduce(vector())
        comm.charge(compute)
        entered = comm.clock()
        pending.wait()
        assert pending.hidden == pytest.approx(hidden)
        assert comm.clock() - entered == pytest.approx(exposed)

    virtual(2, main)


@pytest.mark.parametrize("collective", ["tree", "halving"])
def test_background_collectives_run_one_after_the_other(collective):
    def twice(comm: Comm) -> None:
        for p in [comm.iallreduce(vector()), comm.iallreduce(vector())]:
            p.wait()

    once = time_of(4, lambda c: c.allreduce(vector()), collective)
    assert max(time_of(4, twice, collective)) <= 2 * max(once) + 1e-12
    # A leaf of the tree begins its second sum while the first is still on its way up and down.
    assert max(time_of(4, twice, collective)) >= max(once) + MESSAGE / 2


def test_a_late_rank_delays_only_those_who_need_it():
    """Broadcast from 0 among 4: 0 -> 2 first, then 0 -> 1 and 2 -> 3. Rank 3 is late; 1 and 2 receive on time."""

    def operation(comm: Comm) -> None:
        if comm.rank == 3:
            comm.charge(1.0)
        comm.broadcast(vector())

    times = time_of(4, operation)
    assert times[:2] == pytest.approx([2 * MESSAGE] * 2)
    assert times[2:] == pytest.approx([1 + MESSAGE] * 2)


def test_a_round_trip_in_the_background_is_hidden_once():
    """A send and a receive under way together, and a wait for words in between: no second counts twice."""

    def main(comm: Comm) -> float:
        ledger = Ledger(comm.clock)
        timed = connect(comm, Communication(), (), ledger)
        if comm.rank == 1:
            x = vector()
            timed.recv(x, 0)
            timed.charge(0.1)
            timed.control.send((1.0,), 0)
            timed.send(x, 0)
            return ledger.hidden
        parts = [timed.isend(vector(), 1), timed.irecv(vector(), 1)]
        ledger.enter(Phase.COMPUTE)
        timed.charge(0.02)
        ledger.enter(Phase.UPDATE)
        timed.control.recv()
        for p in parts:
            p.wait()
        ledger.enter(Phase.IDLE)
        assert ledger.seconds[Phase.COMPUTE] == pytest.approx(0.02)
        assert ledger.seconds[Phase.COMMUNICATE] == pytest.approx(0.1 + 2 * MESSAGE - 0.02)
        return ledger.hidden

    assert virtual(2, main) == pytest.approx([0.02, 0.0])


def test_a_server_without_a_request_is_idle():
    def main(comm: Comm) -> dict[Phase, float]:
        ledger = Ledger(comm.clock)
        timed = connect(comm, Communication(), (), ledger)
        if comm.rank:
            timed.charge(3.0)
            timed.control.send((), 0)
            timed.send(vector(), 0)
        else:
            with timed.under(Phase.IDLE):
                timed.control.recv()
            timed.recv(vector(), 1)
        ledger.enter(Phase.IDLE)
        return ledger.seconds

    server, worker = virtual(2, main)
    assert server[Phase.IDLE] == pytest.approx(3.0)
    assert server[Phase.COMMUNICATE] == worker[Phase.COMMUNICATE] == pytest.approx(MESSAGE)
    assert worker[Phase.UPDATE] == pytest.approx(3.0)


def test_messages_of_a_server_have_the_price_of_a_copy_to_the_host():
    """Also in a communicator that numbers its ranks anew: the server is a rank of the world."""
    network = NETWORK.model_copy(update={"host_seconds_per_byte": 5 * B})
    host = A + 5 * 4 * N * B

    def main(comm: Comm) -> tuple[float, float]:
        x, server = vector(), comm.size - 1
        comm.split(int(comm.rank == server), comm.rank).allreduce(x)
        between = comm.clock()
        turned = comm.split(0, -comm.rank)
        if comm.rank in (0, server):
            turned.send(x, server) if comm.rank == server else turned.recv(x, 0)
        return between, comm.clock() - between

    times = run_virtual(5, network, main, servers=1)
    assert [between for between, _ in times[:-1]] == pytest.approx([4 * MESSAGE] * 4)
    assert times[-1][0] == 0
    assert times[0][1] == pytest.approx(host)
    assert times[-1][1] == pytest.approx(4 * MESSAGE + host), "from its own, earlier, time on"
    assert run_virtual(5, NETWORK, main, servers=1)[0][1] == pytest.approx(MESSAGE), "empty: as any other"
