"""Work without the baton: it takes place at once, and changes neither the order of operations nor what fails."""

import threading
import time

import numpy as np
import pytest
from hooke.comm.base import ANY
from hooke.comm.virtual.communicator import run_virtual
from hooke.spec.specification import VirtualCluster

NETWORK = VirtualCluster(latency=1e-6, seconds_per_byte=0)


def test_as_many_ranks_work_at_once_as_there_are_cores():
    """Each waits for the other inside of its work: alone it would wait in vain."""
    both, three, most, least, busy = threading.Barrier(2), 3, [0], [3], []

    def main(comm):
        comm.charge(1.0)
        comm.alongside(lambda: both.wait(60))

    run_virtual(2, NETWORK, main, cores=2)

    def count(comm):
        def work():
            busy.append(comm.rank)
            most[0] = max(most[0], len(busy))
            time.sleep(0.02)
            late = time.monotonic() + 5  # the others may be slow to begin
            while most[0] < least[0] and time.monotonic() < late:
                time.sleep(0.02)
            busy.remove(comm.rank)

        for _ in range(5):
            comm.charge(1.0)
            comm.alongside(work)
        # the last of all has the baton, and needs no place
        comm.barrier()

    run_virtual(8, NETWORK, count, cores=three)
    assert most[0] in (three, three + 1)
    most[0], least[0] = 0, 1
    run_virtual(8, NETWORK, count, cores=1)
    assert most[0] == 1


@pytest.mark.parametrize("cores", [1, 2, 8])
def test_messages_arrive_in_the_order_of_virtual_time(cores):
    """The later a worker is in virtual time, the earlier its work has ended on this machine."""
    arrived = []

    def main(comm):
        if comm.rank == 0:
            for _ in range(6):
                arrived.append(comm.recv(np.zeros(1, np.float32), ANY).source)
            return comm.clock()
        for turn in range(2):
            comm.charge(comm.rank)
            comm.alongside(lambda: time.sleep(0.02 * (3 - comm.rank)))
            comm.send(np.full(1, turn, np.float32), 0)
        return comm.clock()

    clocks = run_virtual(4, NETWORK, main, cores=cores)
    # at 1, 2 and 2, 3, 4, 6 seconds: rank 1 was the second time at 2 + latency, after rank 2
    assert arrived == [1, 2, 1, 3, 2, 3]
    assert clocks == pytest.approx([6, 2, 4, 6], abs=1e-4)


@pytest.mark.parametrize("cores", [1, 4])
def test_what_work_raises_is_raised_in_the_turn_of_its_rank(cores):
    def main(comm):
        comm.charge(1.0 + comm.rank)
        if comm.rank == 2:
            comm.alongside(lambda: 1 // 0)
        else:
            comm.alongside(lambda: time.sleep(0.05))
        comm.barrier()

    with pytest.raises(ZeroDivisionError) as raised:
        run_virtual(4, NETWORK, main, cores=cores)
    assert raised.value.__notes__ == ["raised by rank 2 of 4 in the virtual world"]


def test_the_first_failure_in_virtual_time_counts():
    """Rank 1 fails long before rank 0 does, but only for the clock of this machine."""

    def fail(seconds, why):
        time.sleep(seconds)
        raise ValueError(why)

    def main(comm):
        comm.charge(1.0 + comm.rank)
        comm.alongside(lambda: fail(0.1, "early") if comm.rank == 0 else fail(0, "late"))

    with pytest.raises(ValueError, match="early") as raised:
        run_virtual(2, NETWORK, main, cores=2)
    assert "raised by rank 0 of 2" in raised.value.__notes__[0]
