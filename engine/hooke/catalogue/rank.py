"""The interface between an algorithm and one rank of a run. `hooke.loop.rank` implements it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Literal, Protocol

from hooke.spec.specification import RunSpec

if TYPE_CHECKING:  # parameters of algorithms must be readable without NumPy
    from hooke.comm.base import Pending, Slice, Updates, Vector
    from hooke.comm.shared import Shared
    from hooke.comm.touched import Touched
    from hooke.comm.wrappers.timed import Timed


class Rank(Protocol):
    """One rank, as `Algorithm.run` sees it. The algorithm contains the loop, the rank everything else.

    Workers are ranks 0..P-1; the server, if any, is rank P. All vectors are flat, contiguous float32 and have the
    same size; `params` may be bfloat16, for methods that say that they take this (`takes_bf16_weights`).
    """

    comm: Timed
    """All ranks of the run."""
    spec: RunSpec
    rank: int
    workers: int
    """P."""
    server: int
    """The server's rank, P, if there is a server."""
    is_server: bool
    params: Vector
    """This worker's x (on a server: the center), equal on every rank at the start."""
    granted: int
    """Worker of a method with a server: the steps that the latest reply granted; 0 before the first."""
    word: float
    """Worker of a method with a server: the number in the latest reply; see `reply`."""
    t: int
    """Number of local steps done; in a restored run it begins at that of the checkpoint."""

    @property
    def layout(self) -> tuple[Slice, ...]:
        """Return the named slices of every vector: one per layer parameter."""

    @property
    def budget_steps(self) -> int:
        """Return the steps of a worker over which schedules run, if all take equally many, rounded up.

        They are those of the budget, unless it says otherwise (`schedule_samples`), as for trials with a smaller
        one. In synchronous methods every worker takes exactly its share; elsewhere a fast worker takes more.
        """

    def state(self, name: str, like: Vector | None = None) -> Vector:
        """Return the vector called `name`, which outlives a step; initially a copy of `like`, or zeros.

        It is part of every checkpoint; in a restored run it has the value in the checkpoint.
        """

    def buffer(self, like: Vector) -> Vector:
        """Return a scratch vector of the same size; call this before the loop, which should not allocate."""

    def gradient(
        self, at: Vector | None = None, joined: bool = False, batches: Literal[1] | None = None, of: int = 1
    ) -> Vector:
        """Pick this worker's next batch and return its mean gradient at `at`, or at `params`.

        With `accumulation` k these are the next k batches: the sum of their gradients in this order, times 1 / k;
        with `batches` = 1 the next batch alone, in any case.
        `joined`: one larger batch together with the gradient before, at the same point: in virtual time the
        seconds of a step are not charged again.
        `of`: how many gradients, this one included, the method sums at this point, of which all further ones are
        `joined`. A CUDA device computes all in one pass: the first is their sum, the others are 0.
        Every call returns the same buffer. Raises NumericalError, with rank and step, if it holds a NaN or Inf.
        """

    def touched(self, g: Vector) -> Touched | None:
        """Return the rows of which the gradient `g` consists, if the objective tells them; None: all may count.

        None, too, for any other vector, and once `g` has been changed or exchanged.
        """

    def read_rows(self) -> None:
        """Say that of gradients only the rows that `touched` tells are read, by `Rows.gradient`, if it tells any.

        An objective may then leave the vector of `gradient` as it is. Call this before the loop.
        """

    def stepped(self, elements: int) -> None:
        """Take note that the current step accesses only so many elements of the weights, for virtual time."""

    def note(self, key: str, text: str) -> None:
        """Add a note on a choice made for this rank to the journal's first record; before the loop begins."""

    def due(self, t: int, period: int) -> bool:
        """Return whether step t exchanges: every `period` steps, beginning with step 0.

        A restored worker of a method with a server counts from its first step instead, because it may only take
        steps that the server has granted.
        """

    def mean(self, x: Vector, into: Vector) -> Vector:
        """Write the mean of x over all workers to `into`, in float32 for any wire type, and return it; collective.

        Workers that have been dropped do not count. For the weights that `steps` evaluates: it changes no other
        vector of the method, whatever the wire type is.
        """

    def steps(
        self,
        evaluated: Vector | Shared | Callable[[], Vector] | None = None,
        flush: Callable[[], Iterable[Pending] | None] | None = None,
    ) -> Iterator[int]:
        """Yield the number of each local step, from the restored one, until the run ends.

        `evaluated` is the vector that an evaluation scores: the center's replica, the shared center, by default
        `params`, or a function that returns the vector. The function is called on all ranks while the clock
        stands. It may communicate, and its messages do not count as traffic of the method. In a method with a
        server the function of the server counts, and it must not communicate. If several ranks score, the
        vector must be equal on all of them: the first evaluation after a step and the score of the test part
        compare them and raise AlgorithmError if they differ.
        `flush` completes operations that a rank keeps pending, or updates that it holds back, from step to step.
        It is called before a checkpoint and the end, and in synchronous methods at an evaluation, while the clock
        stands: what a transfer still needs then, the rank waits for in its next operation on a vector, or in a
        further `wait` for that transfer. A method whose results are used later therefore keeps the transfer and
        waits for it again; one that begins further transfers before that returns those that it keeps, instead of
        waiting for them. Lock-free methods are scored without it; in parameter-server methods it is not called.
        """

    def requests(
        self,
        into: Vector | None,
        order: Literal["arrival", "rank"] = "arrival",
        period: int = 1,
        last_words: bool = False,
        holds: bool = False,
    ) -> Iterator[int]:
        """Server: yield the worker to reply to next, with its vector received in `into`, until all are done.

        If `into` is None, requests have no vector; else they may have one, see `brought`. Each reply grants
        `period` steps, the last one what is left. `last_words`: after its last step a worker delivers one more
        vector, which is yielded like a request; `reply` then does nothing. `holds`: replies may be given later,
        but to all workers that wait, once all do; a checkpoint is then written after such replies only.
        """

    @property
    def brought(self) -> bool:
        """Server: return whether the request that was yielded last came with a vector."""

    @property
    def rows(self) -> Touched | None:
        """Server: return the rows that the request yielded last is about; None: all.

        The vector that came with it, and one that the worker delivers, are these rows, packed, in the front of
        the receiver's vector. `reply` takes a whole vector and sends these rows of it.
        """

    @property
    def dropped(self) -> Collection[int]:
        """Server: return the workers without which the run continues, because they held NaN or Inf."""

    @property
    def ungranted(self) -> int:
        """Server: return the steps of the budget that no worker has been granted yet."""

    def reply(
        self,
        worker: int,
        vector: Vector | None,
        steps: int | None = None,
        word: float = 0.0,
        told: Touched | None = None,
    ) -> int:
        """Server: reply a vector to the worker whose request was yielded last; return the steps granted.

        `steps`: how many it grants, at most the `period` of `requests`; None: that many; fewer at the end of the
        budget, and 0 to a worker that has left. `word`: a number for the method. `vector`: None only in reply to
        `ask`. `told`: the rows of the vector that are sent, with their ids, to a worker that asked for that.
        """

    def report_lost(self, norms: Callable[[], tuple[float, float]]) -> None:
        """Server of a method that overwrites: give a function that returns the L1 norms of what was undone, and of
        all updates; it is called at the end."""

    def take(self, into: Vector, worker: int) -> None:
        """Server: receive the vector of a worker that asks (`ask`), before the reply."""

    def receive(self, into: Vector, worker: int) -> None:
        """Server: receive a vector that the worker delivers outside of its request."""

    def request(
        self, vector: Vector | None, into: Vector, rows: Touched | None = None, told: bool = False
    ) -> Pending:
        """Worker: send a request, with a vector or without, and receive the reply in `into`, in the background.

        `rows`: only these rows of the vector are sent, with their ids, and those of the center are returned,
        packed, in the front of `into`. A vector that is delivered before the next request is sent likewise; one
        that is delivered after the last step is whole. `told`: the server chooses and tells the rows that it
        returns (`answered`); these are received in `wait`, not before.
        """

    @property
    def answered(self) -> Touched | None:
        """Worker: return the rows, packed, of the latest reply to a request with `told`; None: all."""

    def ask(self, vector: Vector) -> None:
        """Worker: ask for steps and wait for them; the server may take the vector, and may replace it."""

    def deliver(self, vector: Vector) -> None:
        """Worker: send a vector to the server outside of a request."""

    def shared(self, name: str, like: Vector, updates: Updates = "auto", by_rows: bool = False) -> Shared:
        """Return a center that all ranks read and change without locks; initially rank 0's `like`.

        `by_rows`: where only touched rows travel, a read fetches the rows that ranks have changed since the last.

        Collective, once per name, before `steps`. It is part of checkpoints as the state `name`. The first call
        tests the machine's one-sided operations and raises CommError if they are wrong. Raises SpecError for
        `plain` updates if ranks share no memory.
        """
