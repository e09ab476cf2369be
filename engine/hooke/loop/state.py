"""The state of a rank, independent of the step loop: its vectors, batches, gradient and checks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Literal

from typing_extensions import override

from hooke.catalogue.algorithm import Algorithm
from hooke.catalogue.rank import Rank
from hooke.catalogue.workload import Objective
from hooke.comm.base import Pending, Slice, Vector
from hooke.comm.elements import sendable
from hooke.comm.shared import Shared
from hooke.comm.touched import Touched, finite
from hooke.comm.wrappers.timed import Timed
from hooke.errors import NumericalError
from hooke.hardware.placing import Placed
from hooke.loop.compute_time import ComputeTime, update_bytes
from hooke.loop.decisions import Decision, Requests, RunSchedule
from hooke.loop.dispatch import Dispatch
from hooke.loop.flag import Flag
from hooke.loop.governor import Governor
from hooke.loop.passes import Passes
from hooke.loop.rebuilding import rebuild
from hooke.loop.replay import ExchangeOrder
from hooke.loop.threads import virtual_seconds
from hooke.objective.batches import Batches
from hooke.objective.dispatched import DispatchedBatches, Part
from hooke.spec.devices import DeviceGroup
from hooke.spec.specification import RunSpec
from hooke.trace.phases import Phase


@dataclass(frozen=True)
class RankOptions:
    """Options of a rank that are not in its specification."""

    cancel_requested: Flag = field(default_factory=Flag)
    checkpoint_requested: Flag = field(default_factory=Flag)
    order: ExchangeOrder | None = None
    """The exchanges that the server repeats (see `hooke.loop.replay`)."""
    placed: Placed | None = None
    """Where the rank runs, if it was placed."""
    together: Requests | None = None
    """Of a virtual world whose ranks have the same flags: how they follow them; None: by control words."""


@dataclass(frozen=True)
class RankSetup:
    """The parts from which a rank is built."""

    comm: Timed
    algorithm: Algorithm
    objective: Objective
    spec: RunSpec
    folder: Path | None = None
    """Folder for checkpoints, if the specification keeps any; None: no checkpoints."""
    options: RankOptions = field(default_factory=RankOptions)


class RankState(Rank):
    """The part of a rank that its loops, its recorder and its checkpoints read and change; see `Rank`.

    `params` is this worker's x (on a server: the center), equal on every rank at the start; `workers` is P;
    workers are ranks 0..P-1 and the server, if any, is rank P.
    """

    word, _buffers = 0.0, 0
    measured: list[int] | None = None  # batches of each worker's step; part of a checkpoint
    _joined = joined = False
    """Whether the gradient belongs to the batch of the one before; of the step's first one."""
    _counted = (-1, 0)
    """The step of the latest gradient, and how many it has had: `loss` is their mean."""
    _touched: tuple[Touched | None, int | None] = (None, None)
    """The rows of the latest gradient, or of the sum in its place, and the version of that vector."""
    elements: int | None = None
    """Elements of the weights that the current step has read and written, where it told them."""

    def __init__(self, setup: RankSetup) -> None:
        comm, algorithm, objective = setup.comm, setup.algorithm, setup.objective
        spec, options = setup.spec, setup.options
        self.comm, self.algorithm, self.objective, self.spec = comm, algorithm, objective, spec
        self.cancel_requested = options.cancel_requested
        self.checkpoint_requested = options.checkpoint_requested
        self.together = options.together
        self.placed = options.placed
        self.keep = None if spec.checkpoint == "never" else setup.folder
        """Folder for checkpoints; None: no checkpoints."""
        self.drops = spec.on_bad_worker == "drop" and algorithm.may_drop
        self.notes: dict[str, str] = dict(objective.notes)
        self.windows: list[Shared] = []
        self.pushing = comm.sending(algorithm.pushes)
        """The communicator for what a worker sends to a server."""
        self.ledger = comm.ledger
        self.rank, self.workers, self.server = comm.rank, spec.workers, spec.workers
        self.is_server = self.rank >= spec.workers
        self.deciding = self.rank == (self.server if algorithm.coordination == "parameter-server" else 0)
        self.holds_center = self.rank == (self.server if algorithm.servers else 0)
        self.schedule = RunSchedule(spec, algorithm.gradients_per_step())
        self.params = objective.initial(spec.seed)
        start = comm if spec.communication.wire in ("fp32", "bf16", "fp16") else comm.in_full()
        comm.label(self.params, "params")
        start.broadcast(sendable(self.params))
        self.states: dict[str, Vector] = {"params": self.params}
        self.restored: dict[str, Vector] = {}
        self.restored_seconds: dict[Phase, float] | None = None
        self.evaluated: Vector | Callable[[], Vector] = self.params
        self.compared = False  # whether the ranks have compared the weights that they evaluate
        self.flush: Callable[[], Iterable[Pending] | None] | None = None
        self.t = self.first = self.granted = 0
        self.turn = 0  # of a server: whose turn it is in rank order; part of a checkpoint
        self.samples = 0
        self.loss = math.nan
        self._gradient = objective.allocate()
        comm.label(self._gradient, "gradient")
        objective.bind(self.params, self._gradient)
        self._sum = objective.allocate() if self.schedule.accumulation > 1 else None
        if not self.is_server and (warm := getattr(objective, "warm", None)) is not None:
            warm(spec.batch)  # before the clock starts
        self.passes = Passes(objective.device if spec.virtual is None else "cpu")  # times are those of each batch
        self.batches, self.dispatch = self._data()
        self.compute_time = ComputeTime(spec, self.rank)
        if (supports := comm.account.supports) is not None:
            supports.of, supports.learn = self.touched, self._learn
            supports.keep = lambda name: (self.state(name), name in self.restored)

    def _data(self) -> tuple[Batches | DispatchedBatches, Dispatch | None]:
        """Return this rank's batches and, on a server that hands them out, the account of them."""
        spec, size = self.spec, self.objective.train_size
        if spec.sharding != "dispatched":
            return Batches(size, spec.batch, spec.seed, self.rank, spec.workers, spec.sharding), None
        asks = self.algorithm.coordination == "parameter-server"
        parts = [self.algorithm.batches_of(worker, spec.workers) for worker in range(spec.workers)]
        own = parts[self.rank] if self.rank < spec.workers else 1
        part = Part(own, sum(parts[: self.rank]), sum(parts))
        batches = DispatchedBatches(size, spec.batch, spec.seed, part, asks)
        return batches, Dispatch(spec.workers, self.schedule.accumulation) if asks and self.is_server else None

    @cached_property
    def group(self) -> DeviceGroup | None:
        """The group of this worker, if workers have kinds."""
        return self.spec.group(self.rank)

    @cached_property
    def governor(self) -> Governor | None:
        """What slows this worker down, if anything; only a real one."""
        group, now = None if self.spec.virtual else self.group, self.ledger.wall
        return Governor.of(group, now, self.compute_time.straggles, self.cancel_requested.is_set, self.limited)

    @property
    @override
    def layout(self) -> tuple[Slice, ...]:
        return self.objective.layout

    @property
    @override
    def budget_steps(self) -> int:
        return math.ceil(self.schedule.scheduled_steps / self.workers)

    @override
    def state(self, name: str, like: Vector | None = None) -> Vector:
        vector = self.objective.allocate()
        if name in self.restored:
            vector.copy_(self.restored[name])
        elif like is not None:
            vector.copy_(like)
        self.states[name] = vector
        self.comm.label(vector, name)
        return vector

    @override
    def buffer(self, like: Vector) -> Vector:
        del like  # all vectors of an objective have the same size
        vector = self.objective.allocate()
        self.comm.label(vector, f"buffer {self._buffers}")
        self._buffers += 1
        return vector

    @override
    def gradient(
        self, at: Vector | None = None, joined: bool = False, batches: Literal[1] | None = None, of: int = 1
    ) -> Vector:
        self._joined, self.joined = joined, joined if self._counted[0] != self.t else self.joined
        if self.passes.covers(joined):
            return self._gradient.zero_()  # type: ignore[no-any-return]
        total = None if batches == 1 else self._sum
        more = self._counted[1] if self._counted[0] == self.t else 0
        if at is not None:
            self.objective.bind(at, self._gradient)
        self.objective.synchronize()  # what a method has begun is not charged to the gradient
        before = self.ledger.enter(Phase.DATA)
        loss = self._next_gradient(of) if total is None else self._accumulated(total)
        self.loss = loss if not more else self.loss + (loss - self.loss) / (more + 1)
        self._counted = self.t, more + 1
        self.ledger.enter(before)
        if at is not None:
            self.objective.bind(self.params, self._gradient)
        known = None if total is not None else getattr(self.objective, "total", None)
        version = getattr(self._gradient, "_version", None)
        self._touched = self.objective.touched if total is None else None, version
        if known is None or not math.isfinite(known):
            self.check(self._gradient, "the gradient")
        return self._gradient

    @override
    def touched(self, g: Vector) -> Touched | None:
        found, version = self._touched
        same = g is self._gradient and found is not None and getattr(g, "_version", None) == version
        return found if same else None

    def _learn(self, x: Vector, touched: Touched) -> None:
        """Take note of the rows of a sum of gradients."""
        if x is self._gradient:
            self._touched = touched, getattr(x, "_version", None)

    def _next_gradient(self, of: int = 1) -> float:
        """Write the gradient of the next batch, or the sum of a pass, to the bound vector; return the loss."""
        batch, count = self.passes.take(self.objective, self.batches, of)
        with nullcontext() if self.governor is None else self.governor.pace():
            rebuild(self)
            self.ledger.enter(Phase.COMPUTE)
            if self.spec.virtual is not None:
                now, sent = self.ledger.wall(), self.comm.traffic.payload
                draw = partial(self.compute_time.seconds, now, sent, self._joined)
                self.comm.charge(virtual_seconds(self.objective, self.group, batch, draw))
            if self.objective.independent:
                loss = self.comm.alongside(lambda: self.objective.gradient(batch))
            else:
                loss = self.objective.gradient(batch)
        if count > 1:
            self._gradient.mul_(count)
        return loss

    def _accumulated(self, total: Vector) -> float:
        """Write the mean gradient of the next batches to the bound vector; return the mean of their losses."""
        count, loss = self.schedule.accumulation, 0.0
        total.zero_()
        for _ in range(count):
            self.ledger.enter(Phase.DATA)
            loss += self._next_gradient()
            total.add_(self._gradient)
        self._gradient.copy_(total).mul_(1 / count)
        return loss / count

    def charge_update(self) -> None:
        """Charge the vector arithmetic of a step to this step: wait for the device; in virtual time its bytes."""
        self.objective.synchronize()
        if (virtual := self.spec.virtual) is not None:
            each = virtual.update_seconds_per_byte or 1 / virtual.memory_bandwidth
            self.comm.charge(each * update_bytes(self))

    @override
    def stepped(self, elements: int) -> None:
        self.elements = elements

    def check(self, vector: Vector, what: str, rank: int | None = None, step: int | None = None) -> None:
        """Raise NumericalError if the vector holds a NaN or Inf."""
        if not finite(vector, self.touched(vector)):
            who, when = self.rank if rank is None else rank, self.t if step is None else step
            raise NumericalError(
                f"{what} of rank {who} holds NaN or Inf at its step {when}: the run diverged; "
                "a smaller learning rate or elasticity may help"
            )

    @override
    def note(self, key: str, text: str) -> None:
        self.notes[key] = text

    def decide(self) -> Decision:
        """Return the decision of this rank, by budget and signals; CHECKPOINT on the deciding one, once."""
        asked = self.asked()
        return asked if asked is Decision.CANCEL else self.limited() or asked

    def limited(self) -> Decision:
        """Return TIME_OUT once the budget's time is over by the clock of the run, else GO_ON."""
        limit = self.spec.budget.max_seconds
        return Decision.TIME_OUT if limit is not None and self.ledger.wall() > limit else Decision.GO_ON

    def asked(self) -> Decision:
        """Return what signals ask of this rank: CANCEL, CHECKPOINT or GO_ON; see `decide`."""
        if self.cancel_requested.is_set():
            return Decision.CANCEL
        if self.deciding and self.checkpoint_requested.is_set():
            self.checkpoint_requested.clear()
            return Decision.CHECKPOINT
        return Decision.GO_ON

    def refresh(self) -> None:
        """Take a snapshot of all shared vectors, at a meeting of all ranks."""
        for window in self.windows:
            window.refresh()
