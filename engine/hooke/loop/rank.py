"""One rank of a run, as an algorithm sees it. The algorithm owns the loop; the rank owns everything else.

`steps()` counts, evaluates off the clock, journals, checks for NaN, follows collective decisions and writes
checkpoints; `requests()` is the same for a server. `state()` names what outlives a step, `buffer()` is scratch.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from hooke.catalogue.algorithm import Algorithm, Coordination
from hooke.catalogue.workload import Objective
from hooke.comm.base import Pending, Updates, Vector
from hooke.comm.conformance import conformance
from hooke.comm.shared import Shared
from hooke.comm.wrappers.timed import Timed
from hooke.errors import AlgorithmError
from hooke.loop import checkpoint
from hooke.loop.decisions import ENDINGS, Reason
from hooke.loop.evaluate import aside
from hooke.loop.lock_free import LockFreeLoop
from hooke.loop.recorder import RecordedRank, Recorder
from hooke.loop.server import ServerLoop
from hooke.loop.server_worker import ServerWorkerLoop
from hooke.loop.state import RankOptions
from hooke.loop.synchronous import SynchronousLoop
from hooke.spec.specification import RunSpec
from hooke.trace.phases import Phase


class TrainingRank(RecordedRank):
    """What `Algorithm.run` is given: the implementation of `hooke.catalogue.rank.Rank`, and how a rank ends."""

    def __init__(
        self,
        comm: Timed,
        algorithm: Algorithm,
        objective: Objective,
        spec: RunSpec,
        recorder: Recorder,
        cancel_requested: threading.Event | None = None,
        folder: Path | None = None,
        options: RankOptions | None = None,
    ) -> None:
        super().__init__(comm, algorithm, objective, spec, recorder, cancel_requested, folder, options)
        self.synchronous_loop = SynchronousLoop(self)
        self.server_worker_loop = ServerWorkerLoop(self)
        self.server_loop = ServerLoop(self, options.order if options else None)
        self.lock_free_loop = LockFreeLoop(self)
        self.notes |= algorithm.notes(spec.workers)

    def checkpoint(self) -> None:
        """Write a checkpoint, if the run keeps any; collective."""
        checkpoint.save(self)

    def due(self, t: int, period: int) -> bool:
        """Return whether step t exchanges: every `period` steps, beginning with step 0.

        A restored worker of a method with a server counts from its first step instead: no step may be taken
        that the server has not granted.
        """
        return (t - (self.first if self.algorithm.coordination == "parameter-server" else 0)) % period == 0

    def shared(self, name: str, like: Vector, updates: Updates = "auto") -> Shared:
        """Return a center that all ranks read and change without locks, at first equal to rank 0's `like`.

        Collective, once per name, before `steps`. Checkpoints keep it as the state `name`. The first one tests
        the machine's one-sided operations: raises CommError where they are wrong. Raises SpecError for `plain`
        updates where ranks share no memory.
        """
        if not self.windows:
            self.note("one-sided operations", conformance(self.comm))
        shared = Shared(self.comm, self.state(name, like), self.buffer(like), updates)
        self.windows.append(shared)
        self.note(f"updates of {name}", shared.mode)
        return shared

    def mean(self, x: Vector, into: Vector) -> Vector:
        """Leave the mean of x over all workers in the other vector: see `hooke.catalogue.rank`."""
        if self.algorithm.servers:
            raise AlgorithmError("a server takes no part in `mean`: only methods without one can call it")
        self.comm.in_full().allreduce(into.copy_(x))
        return into.mul_(1 / self.comm.size)  # type: ignore[no-any-return]

    def steps(
        self,
        evaluated: Vector | Shared | Callable[[], Vector] | None = None,
        flush: Callable[[], None] | None = None,
    ) -> Iterator[int]:
        """Yield the number of each local step, until the run ends: see `hooke.catalogue.rank`."""
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

    def requests(
        self,
        into: Vector | None,
        order: Literal["arrival", "rank"] = "arrival",
        period: int = 1,
        last_words: bool = False,
    ) -> Iterator[int]:
        """Server: yield the worker to reply to next, its vector received in `into`, until all are done.

        `into=None`: requests carry no vector; else one may, as `brought` says. Each request takes the worker
        `period` steps further. `last_words`: behind its last step a worker delivers one more vector, which is
        yielded like a request; `reply` then does nothing.
        """
        return self.server_loop.requests(into, order, period, last_words)

    @property
    def brought(self) -> bool:
        """Return whether the request that was yielded last came with a vector (server)."""
        return self.server_loop.brought

    def reply(self, worker: int, vector: Vector) -> None:
        """Server: reply a vector to the worker whose request was yielded last."""
        self.server_loop.reply(worker, vector)

    def receive(self, into: Vector, worker: int) -> None:
        """Server: receive a vector that the worker delivers outside of its request."""
        self.server_loop.receive(into, worker)

    def request(self, vector: Vector | None, into: Vector) -> Pending:
        """Worker: send a vector (or none) to the server and ask for its reply, both in the background."""
        return self.server_worker_loop.request(vector, into)

    def deliver(self, vector: Vector) -> None:
        """Worker: send a vector to the server outside of a request."""
        self.comm.send(vector, self.server)

    def agree_on_ending(self) -> Reason:
        """Wait, idle, until every rank has ended; return the deciding rank's reason, on all of them.

        A worker of a method with a server may have left before the reason was known; without its decision the
        ranks would disagree on whether a checkpoint follows. None follows once a worker has been dropped.
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
            said, gone = self.comm.control.allreduce((float(mine), float(len(self.recorder.dropped))))
        self.ledger.enter(Phase.IDLE)
        self.ledger.move(min(stood, self.ledger.since - since), Phase.IDLE, Phase.EVALUATE)
        self.schedule.reason = ENDINGS[int(said)]
        if gone:
            self.keep = None
        return self.schedule.reason

    def leave(self) -> None:
        """Go, as a worker whose numbers went bad, in a method that goes on without it."""
        for window in self.windows:
            window.finish()  # before the others look at it
        (self.lock_free_loop if self.algorithm.coordination == "lock-free" else self.server_worker_loop).leave()

    def settle(self) -> None:
        """Find out how much of what was pushed into windows is lost, and free them; collective."""
        with aside(self.comm, Phase.IDLE):
            balances = [window.balance() for window in self.windows]
            if pushed := sum(mass for _, mass in balances):
                self.recorder.lost_mass = sum(lost for lost, _ in balances) / pushed if self.rank == 0 else None
            for window in self.windows:
                window.close()
            self.lock_free_loop.close()
