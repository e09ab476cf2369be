"""The virtual world: every rank is a thread that runs the same algorithm code; one-port network model.

All rules are deterministic (turns: `baton.py`, message times: `network.py`):

- A vector is transferred when both sides have posted it and both links are free, like a large message under
  MPI. A program that could hang there (two ranks that both send first) is reported as a Deadlock here.
- A receive from ANY takes the send that was posted first in virtual time.
- All-reduce and broadcast execute the rounds of `collectives.py` message by message; a rank works on one
  collective of a communicator at a time, in the order posted, like the progress thread of `mpi/progress.py`.
- Control words cost no time, but cannot be read before the time at which they were sent.
- A barrier ends ceil(log2 P) latencies after the last rank entered (a dissemination barrier).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from hooke.comm import collectives
from hooke.comm.arrays import (
    Array,
    Words,
    array_of,
    block_length,
    check_rank,
    check_words,
    count_collective,
    count_gather,
    count_message,
    landing,
)
from hooke.comm.base import ANY, Comm, Control, ControlPending, Counter, Message, Pending, Traffic, Window
from hooke.comm.collectives import Collective
from hooke.comm.schedule import Round
from hooke.comm.virtual.baton import Baton
from hooke.comm.virtual.collectives import Collectives
from hooke.comm.virtual.counter import VirtualCounter
from hooke.comm.virtual.group import Group
from hooke.comm.virtual.network import Network
from hooke.comm.virtual.transfer import Transfer
from hooke.comm.virtual.window import VirtualWindow
from hooke.errors import CommError
from hooke.spec.specification import VirtualCluster

T = TypeVar("T")


def run_virtual(
    size: int,
    network: VirtualCluster,
    main: Callable[[Comm], T],
    collective: Collective = "tree",
    servers: int = 0,
    cores: int = 1,
) -> list[T]:
    """Run `main(comm)` on `size` ranks in virtual time; return their results in the order of ranks.

    The last `servers` ranks are servers: messages to and from them may have a separate cost per byte. As many as
    `cores` ranks compute at once (see `Baton.alongside`); results do not depend on it.

    The first exception ends every rank and is raised here, with a note that names the rank. Ranks that all
    wait for another raise Deadlock, which lists what each rank waits for.
    """
    if collective == "library":
        raise CommError(
            "there is no MPI library in the virtual world: choose the collective tree, halving or ring"
        )
    if size < 1:
        raise ValueError(f"a virtual world needs at least one rank, not {size}")
    baton = Baton(size, cores)
    everybody = Group(tuple(range(size)), baton, Network(size, network, size - servers), collective)
    shared = Collectives(everybody)
    return baton.run(lambda rank: main(VirtualComm(everybody, shared, rank, Traffic())))


class VirtualComm:
    """One rank's view of a group of virtual ranks; see `hooke.comm.base.Comm` for the operations."""

    def __init__(self, group: Group, shared: Collectives, rank: int, traffic: Traffic) -> None:
        self.rank = rank
        self.size = group.size
        self.traffic = traffic
        self.implementation = "the virtual world"
        self.control: Control = VirtualControl(group, rank)
        self._group = group
        self._collectives = shared
        self._me = group.members[rank]
        self._baton = group.baton

    def clock(self) -> float:
        """Return this rank's virtual seconds."""
        return self._baton.time[self._me]

    def worked(self) -> float:
        """Return the seconds that transfers behind a computation have taken from this rank itself so far."""
        return self._baton.worked[self._me]

    def charge(self, seconds: float) -> None:
        """Advance this rank's virtual time by `seconds`."""
        self._baton.charge(self._me, seconds)

    def pause(self, seconds: float) -> None:
        """Advance this rank's virtual time by `seconds`."""
        self.charge(seconds)

    def occupy(self, seconds: float) -> None:
        """Let this rank's links carry no message that begins within `seconds`."""
        self._baton.turn(self._me)
        self._group.links.occupy(self._me, self._baton.time[self._me] + seconds)

    def alongside(self, work: Callable[[], T]) -> T:
        """Return `work()`, while ranks that precede this one in virtual time take their turns."""
        return self._baton.alongside(self._me, work)

    def barrier(self) -> None:
        """Return ceil(log2 P) latencies after the last rank entered."""
        delay = collectives.depth(self.size) * self._group.links.latency
        self._group.meet(self.rank, "at a barrier", None, lambda _: None, delay)

    def broadcast(self, x: Any, root: int = 0) -> None:
        """Overwrite x everywhere by the root's, along a binomial tree."""
        array = array_of(x)
        rounds = collectives.broadcast(self.size, array.size, self._peer(root))[self.rank]
        count_collective(self.traffic, array, rounds, asked=self.rank == root and self.size > 1)
        self._collectives.broadcast(self.rank, array, root).wait()

    def allreduce(self, x: Any) -> None:
        """Overwrite x everywhere by the sum over ranks."""
        self._begin_sum(landing(x, None)).wait()

    def iallreduce(self, x: Any, into: Any | None = None) -> Pending:
        """Begin an all-reduce that proceeds while this rank charges work to its clock."""
        array = landing(x, into)
        pending = self._begin_sum(array)
        rounds = collectives.allreduce(self.size, array.size, self._group.collective)[self.rank]
        return self._behind(pending, rounds, array.itemsize)

    def gather(self, x: Any, root: int = 0) -> None:
        """Collect the blocks of all ranks on the root."""
        array = array_of(x)
        block = block_length(array, self.size)
        rounds = collectives.gather(self.size, block, self._peer(root))[self.rank]
        count_gather(self.traffic, array, block, rounds, asked=self.rank != root)
        self._collectives.gather(self.rank, array, block, root).wait()

    def allgather(self, x: Any) -> None:
        """Collect the blocks of all ranks on every rank."""
        self._begin_gather(array_of(x)).wait()

    def iallgather(self, x: Any) -> Pending:
        """Begin to collect the blocks of all ranks on every rank."""
        array = array_of(x)
        pending = self._begin_gather(array)
        block = block_length(array, self.size)
        rounds = collectives.allgather(self.size, block, self._group.collective)[self.rank]
        return self._behind(pending, rounds, array.itemsize)

    def _behind(self, pending: Transfer, rounds: Sequence[Round], itemsize: int) -> Transfer:
        """Give an operation in the background what it takes from the computation, and what it takes longer."""
        links = self._group.links
        pending.busy = links.beside("background", rounds, itemsize)
        pending.late = links.beside("behind", rounds, itemsize)
        return pending

    def send(self, x: Any, to: int, tag: int = 0) -> None:
        """Send x; return when it has been received."""
        self.isend(x, to, tag).wait()

    def isend(self, x: Any, to: int, tag: int = 0) -> Transfer:
        """Begin to send x."""
        array, target = array_of(x), self._peer(to)
        count_message(self.traffic, array)
        return self._group.post_send(self.rank, target, tag, array)

    def recv(self, into: Any, source: int, tag: int = 0) -> Message:
        """Receive into the vector from `source` or ANY."""
        pending = self.irecv(into, source, tag)
        pending.wait()
        return Message(pending.source)

    def irecv(self, into: Any, source: int, tag: int = 0) -> Transfer:
        """Begin to receive."""
        wanted = source if source == ANY else self._peer(source)
        return self._group.post_receive(self.rank, wanted, tag, array_of(into))

    def reduce(self, x: Any, root: int = 0) -> None:
        """Overwrite the root's x with the sum over ranks; elsewhere x becomes NaN, so that using it is noticed."""
        array = array_of(x)
        rounds = collectives.reduce(self.size, array.size, self._peer(root))[self.rank]
        count_collective(self.traffic, array, rounds, asked=self.rank != root)
        self._collectives.reduce(self.rank, array, root).wait()

    def window(self, initial: Any, owner: int = 0) -> Window:
        """Return a window on a copy of the owner's vector; collective."""
        return VirtualWindow(self._group, self.rank, initial, owner, self.traffic)

    def counter(self) -> Counter:
        """Return a counter at 0, kept by rank 0; collective."""
        return VirtualCounter(self._group, self.rank)

    def split(self, color: int, key: int = 0) -> VirtualComm:
        """Return the communicator of the ranks that gave the same color, ordered by key, then rank.

        It shares links, clock and traffic with this one.
        """
        groups = self._group.meet(self.rank, "in split", (color, key), self._divide, 0.0)
        group, shared = groups[color]
        return VirtualComm(group, shared, group.members.index(self._me), self.traffic)

    def _divide(self, choices: list[tuple[int, int]]) -> dict[int, tuple[Group, Collectives]]:
        groups = self._group.divide(choices)
        return {color: (group, Collectives(group)) for color, group in groups.items()}

    def _begin_sum(self, array: Array) -> Transfer:
        rounds = collectives.allreduce(self.size, array.size, self._group.collective)[self.rank]
        count_collective(self.traffic, array, rounds, asked=self.size > 1)
        return self._collectives.allreduce(self.rank, array)

    def _begin_gather(self, array: Array) -> Transfer:
        block = block_length(array, self.size)
        rounds = collectives.allgather(self.size, block, self._group.collective)[self.rank]
        count_gather(self.traffic, array, block, rounds, asked=self.size > 1)
        return self._collectives.allgather(self.rank, array, block)

    def _peer(self, rank: int) -> int:
        return check_rank(rank, self.size)


class VirtualControl:
    """Control words of one rank; see `hooke.comm.base.Control`."""

    def __init__(self, group: Group, rank: int) -> None:
        self._group = group
        self._rank = rank

    def send(self, words: Words, to: int) -> None:
        """Send words; never blocks, costs nothing."""
        self._group.post_words(self._rank, check_rank(to, self._group.size), check_words(words))

    def recv(self, source: int = ANY) -> tuple[int, Words]:
        """Return (source, words) of the message from `source` that was sent first."""
        wanted = source if source == ANY else check_rank(source, self._group.size)
        return self._group.take_words(self._rank, wanted)

    def poll(self, source: int = ANY) -> tuple[int, Words] | None:
        """Return (source, words) if a message has been sent by now, else None."""
        wanted = source if source == ANY else check_rank(source, self._group.size)
        return self._group.poll_words(self._rank, wanted)

    def ibroadcast(self, words: Words | None) -> ControlPending:
        """Post one broadcast from rank 0."""
        return _VirtualAnnouncement(self._group.post_announcement(self._rank, words and check_words(words)))

    def allreduce(self, words: Words) -> Words:
        """Return the sums over ranks when the last one has entered."""
        total: Words = self._group.meet(self._rank, "in a control all-reduce", check_words(words), _sum_words, 0.0)
        return total

    def watch(self, ranks: Iterable[int]) -> None:
        """Do nothing: all ranks share a process."""

    def forget(self, rank: int) -> None:
        """Do nothing."""

    def without(self, ranks: Iterable[int]) -> None:
        """Do nothing: none is gone."""


class _VirtualAnnouncement:
    """A control broadcast that can be waited for more than once."""

    def __init__(self, read: Callable[[], Words]) -> None:
        self._read = read
        self._words: Words | None = None

    def wait(self) -> Words:
        """Return the words of rank 0."""
        if self._words is None:
            self._words = self._read()
        return self._words


def _sum_words(words: list[Words]) -> Words:
    return tuple(collectives.ordered_sum([np.array(w, dtype=np.float64) for w in words]).tolist())
