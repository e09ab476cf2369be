"""What an algorithm is given: one rank of a run. `hooke.loop.rank` implements it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal, Protocol

from hooke.spec.specification import RunSpec

if TYPE_CHECKING:  # an algorithm's parameters are read where there is no NumPy
    from hooke.comm.base import Pending, Slice, Updates, Vector
    from hooke.comm.shared import Shared
    from hooke.comm.wrappers.timed import Timed


class Rank(Protocol):
    """One rank, as `Algorithm.run` sees it. The algorithm owns the loop; the rank owns everything else.

    Workers are ranks 0..P-1, the server, if any, is rank P. Every vector is flat, contiguous float32 of one size.
    """

    comm: Timed
    """All ranks of the run."""
    spec: RunSpec
    rank: int
    workers: int
    """P."""
    server: int
    """The server's rank, where there is one."""
    is_server: bool
    params: Vector
    """This worker's x (on a server: the center), equal on every rank at the start."""
    t: int
    """Local steps done: 0, or those that a restored run had done."""

    @property
    def layout(self) -> tuple[Slice, ...]:
        """Return the named slices of every vector: one per layer parameter."""

    def state(self, name: str, like: Vector | None = None) -> Vector:
        """Return the vector called `name`, which outlives a step: a copy of `like`, or zeros.

        It is part of every checkpoint and comes back from a restored one.
        """

    def buffer(self, like: Vector) -> Vector:
        """Return scratch of the same size, allocated once: no allocation in the loop."""

    def gradient(self, at: Vector | None = None) -> Vector:
        """Pick this worker's next batch and return its mean gradient at `at`, or at `params`.

        The same buffer each time. Raises NumericalError, naming rank and step, before a NaN or Inf can travel.
        """

    def note(self, key: str, text: str) -> None:
        """Have the journal's first record say what was chosen for this rank, and why; before the loop begins."""

    def due(self, t: int, period: int) -> bool:
        """Return whether step t exchanges: every `period` steps, beginning with step 0.

        A restored worker of a method with a server counts from its first step instead: no step may be taken
        that the server has not granted.
        """

    def mean(self, x: Vector, into: Vector) -> Vector:
        """Leave the mean of x over all workers in the other vector, as float32, and return it; collective.

        Workers that have been dropped do not count. For what `steps` evaluates: it moves no vector of the method,
        whatever the wire type is.
        """

    def steps(
        self,
        evaluated: Vector | Shared | Callable[[], Vector] | None = None,
        flush: Callable[[], None] | None = None,
    ) -> Iterator[int]:
        """Yield the number of each local step, from the restored one, until the run ends.

        `evaluated` is what an evaluation scores: the center's replica, the shared center, by default `params`, or
        a function that returns it, called while the clock stands, on all ranks: it may communicate, and is no
        traffic of the method. In a method with a server that of the server counts, and must not communicate.
        Where several ranks score, the vector must be the same on all of them: the first evaluation after a step,
        and the score of the test part, compare them and raise AlgorithmError if it is not.
        `flush` completes what a rank keeps under way, or to itself, from step to step. It is called before a
        checkpoint and the end, and before an evaluation where all ranks step together; lock-free methods are
        scored as they are. Methods with a server have no use for it.
        """

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

    @property
    def brought(self) -> bool:
        """Return whether the request that was yielded last came with a vector (server)."""

    def reply(self, worker: int, vector: Vector) -> None:
        """Server: reply a vector to the worker whose request was yielded last."""

    def receive(self, into: Vector, worker: int) -> None:
        """Server: receive a vector that the worker delivers outside of its request."""

    def request(self, vector: Vector | None, into: Vector) -> Pending:
        """Worker: send a vector (or none) to the server and ask for its reply, both in the background."""

    def deliver(self, vector: Vector) -> None:
        """Worker: send a vector to the server outside of a request."""

    def shared(self, name: str, like: Vector, updates: Updates = "auto") -> Shared:
        """Return a center that all ranks read and change without locks, at first equal to rank 0's `like`.

        Collective, once per name, before `steps`. Checkpoints keep it as the state `name`. The first one tests
        the machine's one-sided operations: raises CommError where they are wrong. Raises SpecError for `plain`
        updates where ranks share no memory.
        """
