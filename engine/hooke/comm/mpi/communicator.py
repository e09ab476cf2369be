"""`Comm` over MPI: ranks are processes.

Differences from calling MPI directly:

- waits poll and sleep instead of occupying a core (`wait.py`);
- a thread advances nonblocking operations (`progress.py`);
- sums follow the schedules of `collectives.py`, because MPI may change the order with the size or the number of
  ranks (`library` uses MPI's all-reduce).

Vectors, blocking collectives, background all-reduces, control words and the library's all-reduce use separate MPI
communicators, so that their messages never match one another.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from mpi4py import MPI

from hooke.comm import collectives
from hooke.comm.arrays import (
    Array,
    array_of,
    block_length,
    check_message,
    check_rank,
    count_collective,
    count_gather,
    count_message,
    landing,
)
from hooke.comm.base import ANY, Control, Counter, Message, Pending, Traffic, Window
from hooke.comm.collectives import Collective
from hooke.comm.elements import portable
from hooke.comm.mpi.control import MpiControl, await_any
from hooke.comm.mpi.counter import MpiCounter
from hooke.comm.mpi.exchange import Exchange, Scratch
from hooke.comm.mpi.launched import check_together
from hooke.comm.mpi.progress import BackgroundMessage, BackgroundSum, Progress
from hooke.comm.mpi.segments import note_segments
from hooke.comm.mpi.wait import Patience, sleep_precisely
from hooke.comm.mpi.window import MpiWindow
from hooke.comm.schedule import Round
from hooke.errors import CommError

T = TypeVar("T")


class MpiComm:
    """All ranks of MPI.COMM_WORLD, or of the communicator given; see `hooke.comm.base.Comm`.

    Creating and closing one are collective. Tags are small non-negative integers.
    """

    def __init__(
        self,
        collective: Collective = "tree",
        world: MPI.Intracomm | None = None,
        traffic: Traffic | None = None,
        whole: Patience | None = None,
        owned: bool = False,
    ) -> None:
        """`whole`: the waits of all ranks, of which these are a part; `owned`: `close` frees `world`, too."""
        if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
            raise CommError("this MPI was initialized without MPI_THREAD_MULTIPLE; overlap needs it")
        alone = world is None
        self.world: MPI.Intracomm = MPI.COMM_WORLD if world is None else world
        """MPI's communicator of these ranks."""
        world = self.world
        sleep_precisely()
        self.implementation = " ".join(MPI.Get_library_version().splitlines()[0].split())
        check_together(MPI.COMM_WORLD.Get_size(), self.implementation)
        self.rank: int = world.Get_rank()
        self.size: int = world.Get_size()
        self.collective = collective
        self.traffic = Traffic() if traffic is None else traffic
        self._patience = Patience(world, whole)
        self.ranks_on_this_host = self._patience.ranks_on_this_host
        self.ranks_on_this_machine = self._patience.ranks_on_this_machine
        self.crowded = self._patience.crowded
        """Whether ranks of this machine outnumber its cores."""
        self._vectors, self._sums, self._background, self._words, self._library = (world.Dup() for _ in range(5))
        self._own_control = MpiControl(self._words, self._patience, alone)
        self.control: Control = self._own_control
        self._scratch, self._background_scratch = Scratch(), Scratch()
        self._progress = Progress(self._patience)
        self._owned = owned
        if not owned:
            note_segments()

    @property
    def incomplete(self) -> bool:
        """Whether the process of a rank has ended, without which the others have gone on."""
        return bool(self._own_control.gone)

    def clock(self) -> float:
        """Return seconds of `time.perf_counter`."""
        return time.perf_counter()

    def charge(self, seconds: float) -> None:
        """Do nothing: real work takes real time."""

    def pause(self, seconds: float) -> None:
        """Sleep for `seconds`."""
        time.sleep(seconds)

    def occupy(self, seconds: float) -> None:
        """Do nothing: real links are what they are."""

    def alongside(self, work: Callable[[], T]) -> T:
        """Return `work()`: other ranks are processes of their own."""
        return work()

    def barrier(self) -> None:
        """Return when every rank has entered."""
        if self.size > 1:
            self._patience.until(self._sums.Ibarrier().Test)

    def broadcast(self, x: Any, root: int = 0) -> None:
        """Overwrite x on every rank with that of the root, along a binomial tree."""
        array = array_of(x)
        rounds = collectives.broadcast(self.size, array.size, check_rank(root, self.size))[self.rank]
        self._execute(array, rounds, asked=self.rank == root and self.size > 1)

    def allreduce(self, x: Any) -> None:
        """Overwrite x on every rank with the sum over ranks."""
        if self.collective == "library":
            self._patience.until(self._begin_library_sum(array_of(x)).Test)
            return
        array = array_of(x)
        self._execute(array, self._sum_rounds(array), asked=self.size > 1)

    def iallreduce(self, x: Any, into: Any | None = None) -> Pending:
        """Begin an all-reduce in the background."""
        array = landing(x, into)
        if self.collective == "library":
            request = self._begin_library_sum(array)
            return self._carry(BackgroundMessage(request, self._patience, "the library's all-reduce"))
        rounds = self._sum_rounds(array)
        count_collective(self.traffic, array, rounds, asked=self.size > 1)
        return self._begin(array, rounds)

    def gather(self, x: Any, root: int = 0) -> None:
        """Collect the blocks of all ranks on the root."""
        array = array_of(x)
        block = block_length(array, self.size)
        rounds = collectives.gather(self.size, block, check_rank(root, self.size))[self.rank]
        count_gather(self.traffic, array, block, rounds, asked=self.rank != root)
        self._run(array, rounds)

    def allgather(self, x: Any) -> None:
        """Collect the blocks of all ranks on every rank."""
        self._run(*self._gather_rounds(x))

    def iallgather(self, x: Any) -> Pending:
        """Begin to collect the blocks of all ranks on every rank, in the background."""
        return self._begin(*self._gather_rounds(x))

    def send(self, x: Any, to: int, tag: int = 0) -> None:
        """Send x; return when it may be overwritten."""
        array, target = array_of(x), check_rank(to, self.size)
        count_message(self.traffic, array)
        self._patience.until(self._vectors.Isend(portable(array), target, tag).Test, of=target)

    def isend(self, x: Any, to: int, tag: int = 0) -> BackgroundMessage:
        """Begin to send x."""
        array, target = array_of(x), check_rank(to, self.size)
        count_message(self.traffic, array)
        request = self._vectors.Isend(portable(array), target, tag)
        return self._carry(BackgroundMessage(request, self._patience, f"the send to rank {to}"))

    def recv(self, into: Any, source: int, tag: int = 0) -> Message:
        """Receive into the vector from `source` or ANY."""
        array = array_of(into)
        status = MPI.Status()
        if source == ANY:
            request = await_any(self._vectors, tag, self._patience, status).Irecv(portable(array))
        else:
            request = self._vectors.Irecv(portable(array), check_rank(source, self.size), tag)
        self._patience.until(lambda: request.Test(status), of=source)
        sent = status.Get_count(MPI.BYTE)
        check_message(sent, array.nbytes, array.itemsize, f"message from rank {status.Get_source()}")
        return Message(status.Get_source())

    def irecv(self, into: Any, source: int, tag: int = 0) -> BackgroundMessage:
        """Begin to receive."""
        request = self._vectors.Irecv(portable(array_of(into)), self._source(source), tag)
        return self._carry(BackgroundMessage(request, self._patience, f"the receive from rank {source}"))

    def reduce(self, x: Any, root: int = 0) -> None:
        """Overwrite the root's x with the sum over ranks."""
        array = array_of(x)
        rounds = collectives.reduce(self.size, array.size, check_rank(root, self.size))[self.rank]
        self._execute(array, rounds, asked=self.rank != root)

    def window(self, initial: Any, owner: int = 0) -> Window:
        """Return a window on a copy of the owner's vector; collective."""
        return MpiWindow(self._sums, initial, owner, self._patience, self.traffic)

    def counter(self) -> Counter:
        """Return a counter at 0, kept by rank 0; collective."""
        return MpiCounter(self._sums, self._patience)

    def split(self, color: int, key: int = 0) -> MpiComm:
        """Return the communicator of the ranks that gave the same color, ordered by key; same traffic counts."""
        part = cast(MPI.Intracomm, self._sums.Split(color, key))
        return MpiComm(self.collective, part, self.traffic, self._patience, owned=True)

    def close(self) -> None:
        """End the progress thread and free the communicators; collective."""
        self._progress.close()
        for comm in (self._vectors, self._sums, self._background, self._words, self._library):
            comm.Free()
        if self._owned:
            self.world.Free()
        else:
            self._patience.close()

    def _begin_library_sum(self, array: Array) -> MPI.Request:
        """Begin MPI's own all-reduce. Its actual traffic is unknown: |W| and one message are counted."""
        if array.dtype.itemsize == 2:
            raise CommError(
                "the MPI library cannot add the wire types bf16 and fp16: choose another collective, or fp32"
            )
        if self.size > 1:
            count_message(self.traffic, array)
        return self._library.Iallreduce(MPI.IN_PLACE, array, MPI.SUM)

    def _gather_rounds(self, x: Any) -> tuple[Array, Sequence[Round]]:
        array = array_of(x)
        block = block_length(array, self.size)
        rounds = collectives.allgather(self.size, block, self.collective)[self.rank]
        count_gather(self.traffic, array, block, rounds, asked=self.size > 1)
        return array, rounds

    def _begin(self, array: Array, rounds: Sequence[Round]) -> Pending:
        pending = BackgroundSum(Exchange(self._background, rounds, array, self._background_scratch))
        if rounds:
            self._progress.submit(pending)
        else:
            pending.step()
        return pending

    def _sum_rounds(self, array: Array) -> Sequence[Round]:
        return collectives.allreduce(self.size, array.size, self.collective)[self.rank]

    def _execute(self, array: Array, rounds: Sequence[Round], asked: bool) -> None:
        count_collective(self.traffic, array, rounds, asked)
        self._run(array, rounds)

    def _run(self, array: Array, rounds: Sequence[Round]) -> None:
        if rounds:
            Exchange(self._sums, rounds, array, self._scratch).run(self._patience)

    def _carry(self, message: BackgroundMessage) -> BackgroundMessage:
        if not message.step():
            self._progress.submit(message)
        return message

    def _source(self, rank: int) -> int:
        return MPI.ANY_SOURCE if rank == ANY else check_rank(rank, self.size)
