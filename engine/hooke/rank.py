"""One rank of a run, as an algorithm sees it. The algorithm owns the loop; the rank owns everything else.

`steps()` counts, evaluates off the clock, journals, checks for NaN, follows collective decisions and writes
checkpoints; `requests()` is the same for a server. `state()` names what outlives a step, `buffer()` is scratch.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from hooke import checkpoint
from hooke.accord import Accord
from hooke.algorithm import Algorithm, Pace
from hooke.asking import Asking
from hooke.batches import Batches
from hooke.comm.base import Pending, Updates, Vector
from hooke.comm.conformance import conformance
from hooke.comm.timed import Timed
from hooke.decisions import Course
from hooke.errors import NumericalError
from hooke.free import Free
from hooke.hardware.placing import Placed
from hooke.phases import Phase
from hooke.recorder import Recorder
from hooke.serving import Order, Serving
from hooke.shared import Shared
from hooke.spec import RunSpec
from hooke.stepping import Stepping
from hooke.workload import Problem, Slice


@dataclass(frozen=True)
class Besides:
    """What may be asked of a rank beside its run."""

    checkpoint_requested: threading.Event = field(default_factory=threading.Event)
    order: Order | None = None
    """The exchanges that the server is to serve again (see `hooke.replay`)."""
    placed: Placed | None = None
    """Where the rank runs, if somebody placed it."""


class Rank(Accord):
    """What `Algorithm.run` is given.

    `params` is this worker's x (on a server: the center), equal on every rank at the start; `workers` is P;
    workers are ranks 0..P-1 and the server, if any, is rank P.
    """

    def __init__(
        self,
        comm: Timed,
        algorithm: Algorithm,
        problem: Problem,
        spec: RunSpec,
        recorder: Recorder,
        stop_requested: threading.Event | None = None,
        folder: Path | None = None,
        besides: Besides | None = None,
    ) -> None:
        self.comm = comm
        self.algorithm = algorithm
        self.problem = problem
        self.spec = spec
        self.recorder = recorder
        self.stop_requested = stop_requested or threading.Event()
        besides = besides or Besides()
        self.checkpoint_requested = besides.checkpoint_requested
        self.placed = besides.placed
        self.keep = None if spec.checkpoint == "never" else folder
        """Where checkpoints go; None: nowhere."""
        self.drops = spec.on_bad_worker == "drop" and algorithm.may_drop
        self.notes: dict[str, str] = dict(getattr(problem, "notes", {}))
        self.windows: list[Shared] = []
        self.ledger = comm.ledger
        self.rank = comm.rank
        self.workers = spec.workers
        self.server = spec.workers
        self.is_server = self.rank >= spec.workers
        self.deciding = self.rank == (self.server if algorithm.pace == "served" else 0)
        self.holds_center = self.rank == (self.server if algorithm.servers else 0)
        self.course = Course(spec)
        self.params = problem.initial(spec.seed)
        self.comm.broadcast(self.params)
        self.states: dict[str, Vector] = {"params": self.params}
        self.restored: dict[str, Vector] = {}
        self.restored_seconds: dict[Phase, float] | None = None
        self.answer_vector = self.params
        self.land: Callable[[], None] | None = None
        self.t = self.first = 0
        self.samples = 0
        self.loss = math.nan
        self._gradient = problem.allocate()
        problem.bind(self.params, self._gradient)
        self.batches = Batches(problem.train_size, spec.batch, spec.seed, self.rank, spec.workers, spec.sharding)
        self.jitter = np.random.Generator(np.random.PCG64(np.random.SeedSequence([spec.seed, self.rank, 1])))
        self.stepping = Stepping(self)
        self.asking = Asking(self)
        self.serving = Serving(self, besides.order)
        self.free = Free(self)
        if callable(rate := getattr(algorithm, "rate", None)):
            self.note("moving rate", f"{rate(spec.workers):.6g}")

    @property
    def layout(self) -> tuple[Slice, ...]:
        """Return the named slices of every vector: one per layer parameter."""
        return self.problem.layout

    def state(self, name: str, like: Vector | None = None) -> Vector:
        """Return the vector called `name`, which outlives a step: a copy of `like`, or zeros.

        It is part of every checkpoint and comes back from a restored one.
        """
        vector = self.problem.allocate()
        if name in self.restored:
            vector.copy_(self.restored[name])
        elif like is not None:
            vector.copy_(like)
        self.states[name] = vector
        return vector

    def buffer(self, like: Vector) -> Vector:
        """Return scratch of the same size, allocated once: no allocation in the loop."""
        del like  # every vector of a problem has one size
        return self.problem.allocate()

    def gradient(self, at: Vector | None = None) -> Vector:
        """Pick this worker's next batch and return its mean gradient at `at`, or at `params`.

        The same buffer each time. Raises NumericalError, naming rank and step, before a NaN or Inf can travel.
        """
        if at is not None:
            self.problem.bind(at, self._gradient)
        before = self.ledger.enter(Phase.DATA)
        batch = self.problem.pick(self.batches.next())
        if getattr(self.problem, "reads_ahead", False):
            self.problem.prefetch(self.batches.peek())
        self.ledger.enter(Phase.COMPUTE)
        if self.spec.virtual is not None:
            self.comm.charge(self._compute_seconds())
        self.loss = self.problem.gradient(batch)
        self.ledger.enter(before)
        if at is not None:
            self.problem.bind(self.params, self._gradient)
        self.check(self._gradient, "the gradient")
        return self._gradient

    def _compute_seconds(self) -> float:
        network = self.spec.virtual
        assert network is not None  # noqa: S101 - the caller asked
        sigma = network.compute_jitter
        factor = float(self.jitter.lognormal(-sigma * sigma / 2, sigma)) if sigma else 1.0
        return self.spec.batch * network.compute_seconds_per_sample * factor

    def charge_update(self) -> None:
        """Have the vector arithmetic of one step charged to it, not to what comes next.

        On a device by waiting for it; in virtual time by its price, bytes over memory bandwidth.
        """
        if callable(wait := getattr(self.problem, "synchronize", None)):
            wait()
        if self.spec.virtual is not None:
            size = 4 * self.params.numel() * self.algorithm.vector_passes(self.is_server)
            self.comm.charge(size / self.spec.virtual.memory_bandwidth)

    def check(self, vector: Vector, what: str, rank: int | None = None, step: int | None = None) -> None:
        """Raise NumericalError if the vector holds a NaN or Inf (one sum: cheap, and both survive it)."""
        if not math.isfinite(float(vector.sum())):
            who, when = self.rank if rank is None else rank, self.t if step is None else step
            raise NumericalError(
                f"{what} of rank {who} holds NaN or Inf at its step {when}: the run diverged; "
                "a smaller learning rate or elasticity may help"
            )

    def note(self, key: str, text: str) -> None:
        """Have the journal's first record say what was chosen for this rank, and why; before the loop begins."""
        self.notes[key] = text

    def checkpoint(self) -> None:
        """Write a checkpoint, if the run keeps any; collective."""
        if self.keep is not None:
            checkpoint.save(self, self.keep)

    def due(self, t: int, period: int) -> bool:
        """Return whether step t exchanges: every `period` steps, beginning with step 0.

        A restored worker of a method with a server counts from its first step instead: no step may be taken
        that the server has not granted.
        """
        return (t - (self.first if self.algorithm.pace == "served" else 0)) % period == 0

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

    def steps(
        self, answer: Vector | Shared | None = None, land: Callable[[], None] | None = None
    ) -> Iterator[int]:
        """Yield the number of each local step, from the restored one, until the run ends.

        `answer` is what evaluation scores: the center's replica, the shared center, or by default `params`.
        `land` completes what a rank keeps under way, or to itself, from step to step. It is called before a
        checkpoint and the end, and before an evaluation where all ranks step together; lock-free methods are
        scored as they are. Methods with a server have no use for it.
        """
        self.land = land
        if answer is not None:
            self.answer_vector = answer.snapshot if isinstance(answer, Shared) else answer
        loops: dict[Pace, Stepping | Asking | Free]
        loops = {"together": self.stepping, "served": self.asking, "free": self.free}
        return loops[self.algorithm.pace].steps()

    def requests(
        self,
        into: Vector | None,
        order: Literal["arrival", "rank"] = "arrival",
        period: int = 1,
        last_words: bool = False,
    ) -> Iterator[int]:
        """Server: yield the worker to answer next, its vector received in `into`, until all are done.

        `into=None`: requests carry no vector; else one may, as `brought` says. Each request takes the worker
        `period` steps further. `last_words`: behind its last step a worker delivers one more vector, which is
        yielded like a request; `answer` then does nothing.
        """
        return self.serving.requests(into, order, period, last_words)

    @property
    def brought(self) -> bool:
        """Return whether the request that was yielded last came with a vector (server)."""
        return self.serving.brought

    def answer(self, worker: int, vector: Vector) -> None:
        """Server: reply a vector to the worker whose request was yielded last."""
        self.serving.answer(worker, vector)

    def receive(self, into: Vector, worker: int) -> None:
        """Server: receive a vector that the worker delivers outside of its request."""
        self.comm.recv(into, worker)
        self.check(into, "the weights", worker, self.serving.reached[worker])

    def request(self, vector: Vector | None, into: Vector) -> Pending:
        """Worker: send a vector (or none) to the server and ask for its answer, both in the background."""
        return self.asking.request(vector, into)

    def deliver(self, vector: Vector) -> None:
        """Worker: send a vector to the server outside of a request."""
        self.comm.send(vector, self.server)
