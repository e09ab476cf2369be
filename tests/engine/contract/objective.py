"""A problem whose solution is known: f(x) = SUM h/2 (x - b)^2, with everything that happens recorded."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hooke.catalogue.workload import Objective, Score
from hooke.comm.base import Comm, Slice, Vector
from hooke.loop.flag import Flag
from hooke.spec.specification import Part

from tests.waiting import wait_for

TRAIN, VALIDATION, TEST = 97, 30, 21
LAYERS = (5, 20, 1, 11)
"""Sizes of the named slices: odd numbers, so that halves and packings are uneven."""


@dataclass(frozen=True)
class Quadratics:
    """What all ranks of a case agree on; every rank gets its own objective from it.

    The gradient of worker i at its step t is h_i (x - b_i) - mean of `force` over the batch, plus a kick at
    t = 0 that moves workers apart, for all of them start at the same point.
    """

    curvature: float = 1.0
    spread: float = 0.0
    """0: the same h and b for all workers; else how far they differ."""
    noise: float = 1.0
    """Size of `force`: what a batch adds."""
    kick: float = 0.0
    origin: bool = False
    """b = 0."""
    uniform: bool = False
    """All elements of every vector are equal: a torn vector shows."""
    same_batches: bool = False
    """Every worker sees the first items in turn, whatever its stream says."""
    layers: tuple[int, ...] = LAYERS

    @property
    def size(self) -> int:
        """Return the number of weights."""
        return sum(self.layers)

    def _normal(self, *key: int) -> np.ndarray:
        return _drawn(self.size, self.uniform, key)

    def h(self, worker: int) -> np.ndarray:
        """Return the curvature of a worker's objective."""
        factor = np.exp(self.spread * self._normal(1, worker)) if self.spread else 1.0
        return np.float32(self.curvature) * np.ones(self.size, np.float32) * np.asarray(factor, np.float32)

    def b(self, worker: int) -> np.ndarray:
        """Return where a worker's objective is least."""
        if self.origin:
            return np.zeros(self.size, np.float32)
        return self._normal(2) + np.float32(self.spread) * self._normal(3, worker)

    def kicks(self, worker: int) -> np.ndarray:
        """Return what is added to a worker's first gradient."""
        return np.float32(self.kick) * self._normal(4, worker)

    def forces(self) -> np.ndarray:
        """Return the training set: (TRAIN, size)."""
        return np.float32(self.noise) * _drawn_rows(self.size, self.uniform)

    def start(self, seed: int) -> np.ndarray:
        """Return the initial weights."""
        return self._normal(6, seed)


@functools.cache
def _drawn(size: int, uniform: bool, key: tuple[int, ...]) -> np.ndarray:
    """Return normal numbers, the same for a key in every process; not to be changed, for others get them, too."""
    numbers = np.random.default_rng([17, *key]).normal(size=1 if uniform else size)
    return np.broadcast_to(numbers, size).astype(np.float32)


@functools.cache
def _drawn_rows(size: int, uniform: bool) -> np.ndarray:
    """Return the training set, a third of what a case takes if every rank draws it anew; not to be changed."""
    return np.stack([_drawn(size, uniform, (5, i)) for i in range(TRAIN)])


@dataclass
class Behaviour:
    """What one rank does beside computing."""

    sleeps: int | None = None
    """Seed of random real sleeps in every gradient: results must not move a bit."""
    slow: float = 0.0
    """Extra seconds per gradient, virtual or real."""
    held: tuple[Path, int] | None = None
    """(file, gradients): under MPI all but a slow worker leave a byte there for each gradient, and the slow one is
    in its second until there are so many; the others are in their first until it is. So the order is the test's,
    not the machine's."""
    scoring: float = 0.0
    """Seconds of an evaluation, virtual or real; around a server an evaluation takes no virtual time."""
    served: bool = False
    """Whether the method has a server that grants steps."""
    poison: tuple[int, float] | None = None
    """(step, value): the gradient of this step holds this value."""
    cancel_at: int | None = None
    """Cancel the run in this evaluation, counted from 1 (each rank notices its own flag only)."""


@dataclass
class Quadratic(Objective):
    """One rank's objective (implements `hooke.catalogue.workload.Objective`)."""

    family: Quadratics
    comm: Comm
    behaviour: Behaviour
    cancel_requested: Flag
    virtual: bool
    first_step: int = 0
    picked: list[list[int]] = field(default_factory=list)
    served: list[int] = field(default_factory=list)
    """Server: the worker of each exchange, in order (noted by `cases.Watched`)."""
    last_words: bool = False
    seen_by: Any = None
    """The rank that trains it."""
    torn: int = 0
    evaluations: int = 0
    tests: int = 0
    """How often the test part was scored."""

    def __post_init__(self) -> None:
        rank = self.comm.rank
        self.layout = self.layout_of(self.family)
        self.train_size, self.validation_size, self.test_size = TRAIN, VALIDATION, TEST
        self._h, self._b = torch.from_numpy(self.family.h(rank)), torch.from_numpy(self.family.b(rank))
        self._forces = torch.from_numpy(self.family.forces())
        self._kick = torch.from_numpy(self.family.kicks(rank))
        self.spent = np.zeros(self.family.size)
        """Sum of all gradients returned, float64."""
        self._random = np.random.default_rng([self.behaviour.sleeps or 0, rank])

    @staticmethod
    def layout_of(family: Quadratics) -> tuple[Slice, ...]:
        """Return the named slices of every vector; the one of 20 elements is a matrix."""
        sizes, stops = family.layers, np.cumsum(family.layers).tolist()
        return tuple(
            Slice(f"layer{k}", stop - size, stop, (4, 5) if size == 20 else (size,))
            for k, (size, stop) in enumerate(zip(sizes, stops, strict=True))
        )

    def allocate(self) -> torch.Tensor:
        return torch.zeros(self.family.size)

    def initial(self, seed: int) -> torch.Tensor:
        return torch.from_numpy(self.family.start(seed).copy())

    def bind(self, weights: Any, gradient: Any) -> None:
        self._weights, self._gradient = weights, gradient

    def pick(self, indices: Any) -> torch.Tensor:
        if self.family.same_batches:
            indices = (np.arange(len(indices)) + 7 * len(self.picked)) % TRAIN
        self.picked.append([int(i) for i in indices])
        return self._forces[torch.as_tensor(self.picked[-1])]

    def gradient(self, batch: torch.Tensor) -> float:
        step = self.first_step + len(self.picked) - 1
        self._dawdle()
        w = self._weights
        self.torn += self.family.uniform and not bool(w.min() == w.max())
        self._gradient.copy_(self._h * (w - self._b) - batch.mean(dim=0))
        if step == 0:
            self._gradient.add_(self._kick)
        if self.behaviour.poison and self.behaviour.poison[0] == step:
            self._gradient[3] = self.behaviour.poison[1]
        self.spent += self._gradient.double().numpy()
        return self._loss(w)

    def _dawdle(self) -> None:
        doing = self.behaviour
        if doing.sleeps is not None:
            time.sleep(self._random.choice([0.0, 0.0, 0.0005, 0.002]))
        if doing.held and not self.virtual:
            self._keep_the_order(*doing.held)
        elif doing.slow:
            self.comm.charge(doing.slow)  # virtual seconds; nothing under MPI
            if not self.virtual:
                time.sleep(doing.slow)

    def _keep_the_order(self, note: Path, held: int) -> None:
        started = note.with_suffix(".started")
        if not self.behaviour.slow:
            if len(self.picked) == 1:  # a rank that gets no core for a while would find all of the steps taken
                wait_for(started.exists, "the slow worker's second gradient")
            with note.open("ab", buffering=0) as file:
                file.write(b".")
        elif len(self.picked) == 2:
            started.touch()
            wait_for(lambda: note.exists() and note.stat().st_size >= held, f"{held} gradients of the others")

    def _loss(self, weights: Any) -> float:
        return float((0.5 * self._h * (weights - self._b) ** 2).sum())

    def evaluate(self, weights: Vector, start: int, stop: int, part: Part = "validation") -> Score:
        if part == "test":
            self.tests += 1
            return Score(2 * self._loss(weights) * (stop - start), stop - start, stop - start)
        self.evaluations += 1
        if self.evaluations == self.behaviour.cancel_at:
            self.cancel_requested.set()
        if not self.virtual:
            time.sleep(self.behaviour.scoring)
        elif not self.behaviour.served:
            self.comm.charge(self.behaviour.scoring)
        count = stop - start
        return Score(self._loss(weights) * count, count // 2, count)
