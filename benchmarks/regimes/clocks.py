"""When the evaluations of a synchronous run are, in closed form, for all links and spreads of a map at once.

Simulated gradients cost what is drawn, and an all-reduce by halving or along a tree consists of meetings of two
workers, each of which begins when both are there and takes A + bytes B. The clocks of a run are therefore maxima
and sums, which NumPy computes for all cells of a map together, without vectors. Tests compare them with complete
runs of the engine, for every method of the map.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hooke.catalogue.algorithm import algorithm
from hooke.catalogue.validation import validate_run
from hooke.comm.collectives import allreduce
from hooke.comm.schedule import Schedule
from hooke.loop.compute_time import ComputeTime
from hooke.spec.specification import RunSpec
from numpy.typing import NDArray

Times = NDArray[np.float64]
"""Seconds, (cells, workers)."""
ITEM = {"fp32": 4, "bf16": 2}
"""Bytes of an element on the wire."""


@dataclass(frozen=True)
class Link:
    """Seconds per message and per byte, one direction."""

    latency: float
    seconds_per_byte: float


class Clock:
    """The clocks of all workers in all cells: cell l + s L has link l and the gradients of spread s."""

    def __init__(self, spec: RunSpec, elements: int, links: Sequence[Link], gradients: Sequence[Times]) -> None:
        """`gradients`: seconds of each step by spread, (steps, workers)."""
        assert spec.virtual is not None  # noqa: S101 - documents of a virtual place
        self.gradients = np.repeat(np.stack(gradients, 1), len(links), 1)
        self.now: Times = np.zeros(self.gradients.shape[1:])
        self.latest = np.zeros(len(self.now))
        """Clock of the latest evaluation, by cell."""
        self._under_way: list[Times] = []
        self._owed = self._queue = self.now.copy()
        latency, per_byte = (
            np.tile([getattr(link, name) for link in links], len(gradients))[:, None]
            for name in ("latency", "seconds_per_byte")
        )
        seconds = ITEM[spec.communication.wire] * per_byte
        self._meetings = [
            (first, second, latency + seconds * longest)
            for first, second, longest in meetings(
                allreduce(spec.workers, elements, spec.communication.collective)
            )
        ]
        chosen = algorithm(spec.algorithm.name).model_validate(spec.algorithm.parameters)
        self._update = 4 * chosen.vector_accesses(False) * elements / spec.virtual.memory_bandwidth

    def compute(self, t: int) -> None:
        """Compute the gradient of step t."""
        self.now = self.now + self.gradients[t]

    def update(self) -> None:
        """Do the vector arithmetic of a step."""
        self.now += self._update

    def exchange(self) -> None:
        """All-reduce a vector, and wait for it."""
        self.now = self._summed(self.now)

    def begin(self) -> None:
        """Begin to all-reduce a vector; what an evaluation has left is waited for before."""
        self.now = np.maximum(self.now, self._owed)
        self._queue = self._summed(np.maximum(self.now, self._queue))
        self._under_way.append(self._queue)

    def wait(self, but: int = 0) -> None:
        """Wait for the all-reduces that were begun, except the latest `but`."""
        while len(self._under_way) > but:
            self.now = np.maximum(self.now, self._under_way.pop(0))

    def evaluate(self, takes: bool) -> None:
        """Let all workers stop, and score what includes all that is under way (decision 96).

        `takes`: the method does not wait for that again, but before its next all-reduce.
        """
        self.now[:] = self.now.max(1, keepdims=True)
        ends = [self.now, *self._under_way]
        self.latest = np.maximum(self.latest, np.max([each[:, 0] for each in ends], 0))
        if takes and self._under_way:
            self._owed, self._under_way = self._under_way[-1], []

    def _summed(self, entered: Times) -> Times:
        ended = entered.copy()
        for first, second, seconds in self._meetings:
            both = np.maximum(ended[:, first], ended[:, second]) + seconds
            ended[:, first] = ended[:, second] = both
        return ended


Meeting = tuple[list[int], list[int], NDArray[np.int64]]


def meetings(schedule: Schedule) -> list[Meeting]:
    """Return the meetings of a schedule, as many as can be at once: first and second ranks, elements one way."""
    found, rounds = list[Meeting](), [list(own) for own in schedule]
    while any(rounds):
        heads = {rank: own[0] for rank, own in enumerate(rounds) if own}
        pairs = [(r, e.peer) for r, e in heads.items() if r < e.peer and heads[e.peer].peer == r]
        if not pairs or any(each.sender is not None for each in heads.values()):
            raise ValueError("a closed form is known of workers that meet in pairs: of tree and halving")
        longest = [max(len(heads[r].send or ()), len(heads[r].receive or ())) for r, _ in pairs]
        found.append(([r for r, _ in pairs], [peer for _, peer in pairs], np.array(longest)))
        for rank in (rank for pair in pairs for rank in pair):
            del rounds[rank][0]
    return found


def _together(m: Any, c: Clock, t: int) -> None:
    del m
    c.compute(t)
    c.exchange()


def _after_steps(m: Any, c: Clock, t: int) -> None:
    c.compute(t)
    if (t + 1) % m.period == 0:
        c.exchange()


def _late(m: Any, c: Clock, t: int) -> None:
    c.compute(t)
    c.begin()
    c.wait(but=m.delay)


def _post_local(m: Any, c: Clock, t: int) -> None:
    c.compute(t)
    if t < m.switch or (t + 1 - m.switch) % m.period == 0:
        c.exchange()


def _anchored(m: Any, c: Clock, t: int) -> None:
    c.compute(t)
    if (t + 1) % m.period == 0:
        c.wait()
        c.begin()


def _delayed(m: Any, c: Clock, t: int) -> None:
    c.compute(t)
    if (t + 1) % m.period == 0:
        c.begin()
    if t + 1 > m.delay and (t + 1 - m.delay) % m.period == 0:
        c.wait()


def _elastic(m: Any, c: Clock, t: int) -> None:
    due, behind = t % m.period == 0, m.overlap or m.pipelined
    if due and behind:
        c.begin()
    c.compute(t)
    if due and not behind:
        c.exchange()
    elif due:
        c.wait(but=int(m.pipelined))


STEPS: Mapping[str, Callable[[Any, Clock, int], None]] = {
    "sync-sgd": _together,
    "pipe-sgd": _late,
    "delayed-gradient-averaging": _late,
    "local-sgd": _after_steps,
    "slowmo": _after_steps,
    "post-local-sgd": _post_local,
    "overlap-local-sgd": _anchored,
    "elastic-slowmo": _delayed,
    "sync-easgd": _elastic,
}
"""Method -> what one of its steps does to the clocks. Others send parts of vectors, or have servers or changing
partners."""
TAKES = ("overlap-local-sgd", "sync-easgd")
"""Methods that complete what is under way where they are evaluated, and do not wait for it again."""


def clocks(
    document: Mapping[str, Any], elements: int, links: Sequence[Link], spreads: Sequence[Mapping[str, Any]]
) -> Times:
    """Return the clocks of the evaluation at the end of a run's budget and of the one before, (2, spreads, links).

    `document`: a virtual run without a target; its own link and spread do not count. Raises ValueError for a
    method or a schedule without a closed form.
    """
    specs = [validate_run({**document, "virtual": {**document["virtual"], **spread}}) for spread in spreads]
    spec = specs[0]
    if spec.algorithm.name not in STEPS:
        raise ValueError(f"{spec.algorithm.name} has no closed form; there are: {', '.join(STEPS)}")
    method = algorithm(spec.algorithm.name).model_validate(spec.algorithm.parameters)
    of_step = spec.batch * method.gradients_per_step() * spec.workers
    steps, every = -(-spec.budget.samples // of_step), spec.evaluation.every
    clock = Clock(spec, elements, links, [_drawn(each, steps, method.gradients_per_step()) for each in specs])
    step, takes, before = STEPS[spec.algorithm.name], spec.algorithm.name in TAKES, clock.latest
    for t in range(steps):
        step(method, clock, t)
        clock.update()
        if (t + 1) * of_step // every > t * of_step // every or t + 1 == steps:
            before = clock.latest
            clock.evaluate(takes)
    return np.stack([clock.latest, before]).reshape(2, len(spreads), len(links))


_DRAWN: dict[tuple[Any, ...], tuple[list[float], Callable[[], float]]] = {}
"""What determines the gradients of a worker -> its draws so far, and what draws the next one: runs share them."""


def _drawn(spec: RunSpec, steps: int, gradients: int) -> Times:
    """Return the seconds of the gradients of each step, (steps, workers)."""
    assert spec.virtual is not None  # noqa: S101 - a virtual run
    price = spec.virtual.model_dump_json(exclude={"latency", "seconds_per_byte"})
    found = list[list[float]]()
    for rank in range(spec.workers):
        key = spec.seed, rank, spec.batch, price
        draws, draw = _DRAWN.setdefault(key, ([], ComputeTime(spec, rank).seconds))
        draws.extend(draw() for _ in range(steps * gradients - len(draws)))
        found.append(draws[: steps * gradients])
    drawn: Times = np.array(found).T.reshape(steps, gradients, -1).sum(1)
    return drawn
