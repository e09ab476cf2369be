"""One rank of a run, as an algorithm sees it. The algorithm contains the loop, the rank everything else.

`steps()` counts, evaluates while the clock stands, writes the journal, checks for NaN, follows collective
decisions and writes checkpoints; `requests()` does the same for a server. A vector from `state()` outlives a step,
one from `buffer()` does not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Literal

from typing_extensions import override

from hooke.catalogue.claims import Coordination
from hooke.comm.base import Pending, Updates, Vector
from hooke.comm.conformance import conformance
from hooke.comm.shared import Shared
from hooke.comm.touched import Touched, packed
from hooke.errors import AlgorithmError
from hooke.loop import checkpoint
from hooke.loop.decisions import ENDINGS, Reason
from hooke.loop.evaluate import aside
from hooke.loop.lock_free import LockFreeLoop
from hooke.loop.recorder import RecordedRank, Recorder
from hooke.loop.server import ServerLoop
from hooke.loop.server_worker import ServerWorkerLoop
from hooke.loop.state import RankSetup
from hooke.loop.synchronous import SynchronousLoop
from hooke.loop.threads import updates
from hooke.spec.events import TRAINING_ITEMS
from hooke.spec.pointers import pointer
from hooke.trace.phases import Phase


class TrainingRank(RecordedRank):
    """The argument of `Algorithm.run`: the implementation of `hooke.catalogue.rank.Rank`, and how a rank ends."""

    def __init__(self, setup: RankSetup, recorder: Recorder) -> None:
        super().__init__(setup, recorder)
        algorithm, spec = setup.algorithm, setup.spec
        self.synchronous_loop = SynchronousLoop(self)
        self.server_worker_loop = ServerWorkerLoop(self)
        self.server_loop = ServerLoop(self, setup.options.order)
        self.lock_free_loop = LockFreeLoop(self)
        self._undone: Callable[[], tuple[float, float]] | None = None
        self.notes |= algorithm.notes(spec.workers)
        if setup.comm.rank == 0:
            self.note(TRAINING_ITEMS, str(setup.objective.train_size))

    def checkpoint(self) -> None:
        """Write a checkpoint, if the run keeps any; collective."""
        checkpoint.save(self)

    @override
    def due(self, t: int, period: int) -> bool:
        return (t - (self.first if self.algorithm.coordination == "parameter-server" else 0)) % period == 0

    @override
    def read_rows(self) -> None:
        if self.schedule.accumulation == 1 and hasattr(self.objective, "apart"):
            self.objective.apart = True

    @override
    def shared(self, name: str, like: Vector, updates: Updates = "auto", by_rows: bool = False) -> Shared:
        if not self.windows:
            self.note("one-sided operations", conformance(self.comm))
        chosen_at = pointer("algorithm", "parameters", *filter(None, [self.algorithm.updates_field]))
        layout = self.layout if by_rows and self.spec.communication.rows == "touched" else None
        shared = Shared(self.comm, self.state(name, like), self.buffer(like), updates, chosen_at, layout)
        self.windows.append(shared)
        self.note(f"updates of {name}", shared.mode)
        return shared

    @override
    def mean(self, x: Vector, into: Vector) -> Vector:
        if self.algorithm.servers:
            raise AlgorithmError("`mean` cannot be called in a method with a server, which takes no part in it")
        gone = self.lock_free_loop.gone
        (dropped,) = self.comm.control.allreduce((float(gone),)) if self.drops else (0.0,)
        self.comm.in_full().allreduce(into.zero_() if gone else into.copy_(x))
        return into.mul_(1 / (self.comm.size - int(dropped)))  # type: ignore[no-any-return]

    @override
    def steps(
        self,
        evaluated: Vector | Shared | Callable[[], Vector] | None = None,
        flush: Callable[[], Iterable[Pending] | None] | None = None,
    ) -> Iterator[int]:
        self.flush = flush
        if evaluated is not None:
            self.evaluated = evaluated.snapshot if isinstance(evaluated, Shared) else evaluated
        loops: dict[Coordination, SynchronousLoop | ServerWorkerLoop | LockFreeLoop]
        loops = {
            "synchronous": self.synchronous_loop,
            "parameter-server": self.server_worker_loop,
            "lock-free": self.lock_free_loop,
        }
        return loops[self.algorithm.coordination].steps()

    @override
    def requests(
        self,
        into: Vector | None,
        order: Literal["arrival", "rank"] = "arrival",
        period: int = 1,
        last_words: bool = False,
        holds: bool = False,
    ) -> Iterator[int]:
        return self.server_loop.requests(into, order, period, last_words, holds)

    @property
    @override
    def brought(self) -> bool:
        return self.server_loop.brought.vector

    @property
    @override
    def rows(self) -> Touched | None:
        return self.server_loop.brought.rows

    @property
    @override
    def dropped(self) -> Collection[int]:
        return self.recorder.dropped

    @property
    @override
    def ungranted(self) -> int:
        return self.server_loop.grants.left

    @override
    def reply(
        self,
        worker: int,
        vector: Vector | None,
        steps: int | None = None,
        word: float = 0.0,
        told: Touched | None = None,
    ) -> int:
        self.server_loop.brought.told = told
        return self.server_loop.reply(worker, vector, steps, word)

    @override
    def report_lost(self, norms: Callable[[], tuple[float, float]]) -> None:
        self._undone = norms

    @override
    def take(self, into: Vector, worker: int) -> None:
        self.server_loop.take(into, worker)

    @override
    def receive(self, into: Vector, worker: int) -> None:
        self.server_loop.receive(into, worker)

    @override
    def request(
        self, vector: Vector | None, into: Vector, rows: Touched | None = None, told: bool = False
    ) -> Pending:
        return self.server_worker_loop.request(vector, into, rows, told)

    @property
    @override
    def answered(self) -> Touched | None:
        return self.server_worker_loop.answered

    @override
    def ask(self, vector: Vector) -> None:
        self.server_worker_loop.ask(vector)

    @override
    def deliver(self, vector: Vector) -> None:
        self.pushing.send(packed(vector, self.server_worker_loop.rows), self.server)

    def agree_on_ending(self) -> Reason:
        """Wait, in phase idle, until every rank has ended; return the deciding rank's reason, on all ranks.

        A worker of a method with a server may have left before the reason was known; without the deciding rank's
        reason the ranks would disagree on whether a checkpoint follows. If a worker has been dropped, none does.
        """
        mine = ENDINGS.index(self.schedule.reason or "budget") if self.deciding else 0
        stood = 0.0
        since = self.ledger.clock()
        self.ledger.enter(Phase.IDLE)
        with self.comm.under(Phase.IDLE):
            if self.algorithm.coordination == "parameter-server" and self.deciding:
                self.server_loop.tell_the_end()
            elif self.algorithm.coordination == "parameter-server":
                stood = self.server_worker_loop.hear_the_end()
                since = self.server_worker_loop.left_at or since  # the server may have evaluated before this
            said, gone = self.comm.control.allreduce((float(mine), float(len(self.recorder.dropped))))
        self.ledger.enter(Phase.IDLE)
        self.ledger.move(min(stood, self.ledger.since - since), Phase.IDLE, Phase.EVALUATE)
        self.schedule.reason = ENDINGS[int(said)]
        if gone:
            self.keep = None
        return self.schedule.reason

    def leave(self) -> None:
        """Leave the run, as a worker with NaN or Inf, in a method that continues without it."""
        for window in self.windows:
            window.finish()  # before the others read it
        (self.lock_free_loop if self.algorithm.coordination == "lock-free" else self.server_worker_loop).leave()

    def settle(self) -> None:
        """Determine the lost share of updates, without locks or overwritten, and free the windows; collective."""
        with aside(self.comm, Phase.IDLE):
            balances = [window.balance() for window in self.windows]
            if self.spec.shares_weights or self.algorithm.overwrites():
                own = self._undone() if self._undone else updates(self.objective, self.group)
                lost, pushed = self.comm.control.allreduce(own)
                balances.append((lost, pushed))
            if pushed := sum(mass for _, mass in balances):
                self.recorder.lost_mass = sum(lost for lost, _ in balances) / pushed if self.rank == 0 else None
            for window in self.windows:
                window.close()
            self.lock_free_loop.close()
