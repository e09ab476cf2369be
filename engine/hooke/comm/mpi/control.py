"""Control words over MPI: up to 8 float64, on a separate communicator."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from mpi4py import MPI

from hooke.comm import collectives
from hooke.comm.arrays import MOST_WORDS, Array, Words, check_rank, check_words
from hooke.comm.base import ANY, ControlPending
from hooke.comm.mpi.exchange import Exchange, Scratch
from hooke.comm.mpi.leaving import possible
from hooke.comm.mpi.wait import Patience
from hooke.errors import CommError

_WORDS = 1
"""Tag of words from one rank to another. It differs from that of all-reduces on the same communicator, so that
words not received yet are never matched by a sum."""


class MpiControl:
    """See `hooke.comm.base.Control`."""

    def __init__(self, comm: MPI.Intracomm, patience: Patience, alone: bool = False) -> None:
        """`alone`: no other run follows in these processes."""
        self._comm, self._alone = comm, alone
        self.gone: set[int] = set()
        """Ranks whose processes have ended, as this rank was told."""
        self._patience = patience
        self._rank, self._size = comm.Get_rank(), comm.Get_size()
        self._scratch = Scratch()
        self._incoming = np.zeros(MOST_WORDS)
        self._outgoing: list[tuple[MPI.Request, Array]] = []

    def send(self, words: Words, to: int) -> None:
        """Send words to one rank; never blocks, because MPI buffers so short a message."""
        array = _array(words)
        request = self._comm.Isend(array, check_rank(to, self._size), _WORDS)
        self._patience.ring(to)
        self._keep(request, array)

    def recv(self, source: int = ANY) -> tuple[int, Words]:
        """Return (source, words) of the message from `source` that arrived first."""
        status = MPI.Status()
        if source == ANY:
            await_any(self._comm, _WORDS, self._patience, status, rung=True).Recv(self._incoming, status)
            return status.Get_source(), tuple(self._incoming[: status.Get_count(MPI.DOUBLE)].tolist())
        request = self._comm.Irecv(self._incoming, check_rank(source, self._size), _WORDS)
        try:
            self._patience.until(lambda: request.Test(status), rung=True, of=source)
        except BaseException:  # a signal handler raised: no later message may be received into this buffer
            request.Cancel()
            raise
        return status.Get_source(), tuple(self._incoming[: status.Get_count(MPI.DOUBLE)].tolist())

    def poll(self, source: int = ANY) -> tuple[int, Words] | None:
        """Return (source, words) of a message that has arrived, or None."""
        status = MPI.Status()
        whom = MPI.ANY_SOURCE if source == ANY else check_rank(source, self._size)
        message = self._comm.Improbe(whom, _WORDS, status)
        if message is None:
            return None
        message.Recv(self._incoming, status)
        return status.Get_source(), tuple(self._incoming[: status.Get_count(MPI.DOUBLE)].tolist())

    def ibroadcast(self, words: Words | None) -> ControlPending:
        """Post one broadcast from rank 0."""
        array = np.zeros(MOST_WORDS + 1)  # the number of words, then the words
        if self._rank == 0:
            if words is None:
                raise CommError("rank 0 posted a control broadcast without words")
            array[0], array[1 : len(words) + 1] = len(words), _array(words)
        request = self._comm.Ibcast(array, 0)
        self._keep(request, array)
        return _Announcement(request, array, self._patience)

    def allreduce(self, words: Words) -> Words:
        """Return the sums over ranks, in the documented order."""
        array = _array(words).copy()
        if self.gone:
            return self._among_the_others(array)
        rounds = collectives.allreduce(self._size, array.size, "tree")[self._rank]
        if rounds:
            Exchange(self._comm, rounds, array, self._scratch).run(self._patience)
        return tuple(array.tolist())

    def watch(self, ranks: Iterable[int]) -> None:
        """Look whether processes of these ranks have ended; not in one of several runs, nor with Open MPI."""
        if self._alone and possible():
            self._patience.watch(ranks)

    def forget(self, rank: int) -> None:
        """Look no longer whether the process of this rank has ended."""
        self._patience.forget(rank)

    def without(self, ranks: Iterable[int]) -> None:
        """Leave these ranks out of all-reduces."""
        self.gone |= set(ranks)

    def _among_the_others(self, array: Array) -> Words:
        """Return the sums over the ranks that are there, by the last of them."""
        others = [rank for rank in range(self._size) if rank not in self.gone]
        if self._rank != others[-1]:
            self.send(tuple(array.tolist()), others[-1])
            return self.recv(others[-1])[1]
        for rank in others[:-1]:
            array += np.array(self.recv(rank)[1])
        for rank in others[:-1]:
            self.send(tuple(array.tolist()), rank)
        return tuple(array.tolist())

    def _keep(self, request: MPI.Request, array: Array) -> None:
        """Keep buffers until MPI no longer needs them."""
        self._outgoing = [(r, a) for r, a in self._outgoing if not r.Test()]
        self._outgoing.append((request, array))


def await_any(
    comm: MPI.Intracomm, tag: int, patience: Patience, status: MPI.Status, rung: bool = False
) -> MPI.Message:
    """Wait for a message from any rank and return the first to arrive; receive it with its own `Recv`.

    `rung`: its sender wakes this rank.
    A matched probe is used instead of a receive from ANY_SOURCE: over UCX between hosts, MPICH 5.0 sometimes
    never completes the latter although the message has arrived, within some hundred messages.
    """
    found: list[MPI.Message] = []

    def arrived() -> bool:
        message = comm.Improbe(MPI.ANY_SOURCE, tag, status)
        if message is not None:
            found.append(message)
        return bool(found)

    patience.until(arrived, rung, ANY)
    return found[0]


class _Announcement:
    """A pending control broadcast."""

    def __init__(self, request: MPI.Request, array: Array, patience: Patience) -> None:
        self._request = request
        self._array = array
        self._patience = patience

    def wait(self) -> Words:
        """Return the words of rank 0."""
        self._patience.until(self._request.Test)
        return tuple(self._array[1 : int(self._array[0]) + 1].tolist())


def _array(words: Words) -> Array:
    return np.array(check_words(words), dtype=np.float64)
