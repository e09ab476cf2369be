"""Workers whose processes end while the server of their method goes on without them.

With `on_bad_worker: drop`, on one machine and with MPICH, a worker that a signal has killed is dropped as one with
NaN or Inf: what it did not finish goes back. MPI goes on among the others as long as the launcher is not told: a
guard outlives its rank (`hooke.cluster.outliving`). Nothing collective may follow but sums of control words, which
leave out who is gone, and MPI cannot be finalized (`hooke.comm.mpi.leaving`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from hooke.errors import CommError, HookeError, NumericalError, RankLost
from hooke.loop.recorder import RecordedRank
from hooke.loop.server_worker import BAD, MOST_TOLD
from hooke.trace.phases import Phase

Message = tuple[int, tuple[float, ...]]
"""A worker and its words."""


class Deaths:
    """The server's side: which workers are gone, in the order in which they went."""

    def __init__(self, rank: RecordedRank) -> None:
        self._r = rank
        self.found: list[int] = []
        self.arrived: dict[int, int] = {}
        """Steps of each worker whose updates have arrived: it may have told of more, as at a checkpoint."""

    @property
    def word(self) -> float:
        """Return a number with a bit for each worker that is gone."""
        return float(sum(1 << worker for worker in self.found))

    def watch(self) -> None:
        """From now on look whether processes of workers have ended, where the run may go on without them."""
        r = self._r
        if r.drops and r.spec.virtual is None and r.workers <= MOST_TOLD:
            r.comm.control.watch(range(r.workers))

    def hear(self, source: int, reached: dict[int, int]) -> tuple[int, tuple[float, ...]]:
        """Return (worker, words) of the earliest message from `source`; BAD of a worker that is gone.

        `reached`: the steps of each worker according to its latest message; see `arrives`.
        """
        r = self._r
        try:
            with r.comm.under(Phase.IDLE):
                return r.comm.control.recv(source)
        except RankLost as lost:
            r.comm.control.forget(lost.rank)
            self.found.append(lost.rank)
            if lost.rank not in r.recorder.dropped:
                self._take_back(lost.rank, reached)
            return lost.rank, (BAD, float(reached.get(lost.rank, 0)), r.loss)

    def awaited(self, messages: Iterable[Message]) -> list[Message]:
        """Return earlier messages, without what workers that are gone had announced: it may never arrive.

        Steps of such a worker that nobody has counted yet go back with its others.
        """
        return [(worker, words) for worker, words in messages if worker not in self.found or words[0] == BAD]

    def completes(self, exchange: Callable[[], None]) -> bool:
        """Carry out an exchange with a worker; return false if its process ended: then `hear` tells it."""
        try:
            exchange()
        except RankLost:
            return False
        return True

    def arrives(self, bring: Callable[[], None], worker: int, reached: dict[int, int]) -> bool:
        """Receive what a message comes with; return false if the worker's process ended: then `hear` tells it.

        Steps whose update has not arrived no longer count in `reached`: others take them, and their batches.
        """
        if not self.completes(bring):
            self._take_back(worker, reached)
            return False
        self._settle(worker, reached)
        return True

    def left(self, worker: int, reached: Mapping[int, int], last_words: bool) -> None:
        """Take note of a farewell; with `last_words` an update follows it."""
        if not last_words:
            self._settle(worker, reached)

    def _settle(self, worker: int, reached: Mapping[int, int]) -> None:
        self.arrived[worker] = reached[worker]
        if self._r.dispatch is not None:
            self._r.dispatch.settled(worker)

    def _take_back(self, worker: int, reached: dict[int, int]) -> None:
        if worker in self.arrived:
            reached[worker] = self.arrived[worker]
        if self._r.dispatch is not None:
            self._r.dispatch.undone(worker)

    def why(self, worker: int, step: int) -> str:
        """Return why a worker was dropped."""
        what = "its process has ended" if worker in self.found else "NaN or Inf"
        return f"{what}, rank {worker} at its step {step}: the run continues without it"

    def nobody(self) -> HookeError:
        """Return the error that no worker is left."""
        if len(self.found) == self._r.workers:
            return CommError("no worker is left: the processes of all of them have ended")
        return NumericalError("no worker is left: the gradients or weights of all of them hold NaN or Inf")
