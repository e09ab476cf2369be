"""Hogwild within a worker: threads that share one vector of weights, which they update without locks.

A batch of b items is split into sub-batches of b_k items. A thread takes the next sub-batch, computes its mean
gradient g_k at the shared weights w as it finds them, and w' = w - eta (b_k / b) g_k by plain loads and stores, so
that an update of an element may overwrite a concurrent one. eta is the method's learning rate. All updates of a
batch together have the length of one step along its mean gradient.

At the beginning of a batch w is the point x at which the method asks for a gradient. The method gets

    u = (x - w') / eta = sum of (b_k / b) g_k, less the updates that were lost,

in place of the gradient, so that x - eta u are the weights that the threads have left. In an element in which
nothing was lost u is that sum, rounded once. With one thread and one sub-batch it is the gradient, and this module
is not used.

Lost updates are measured as those of a shared center (`hooke.comm.shared`): in float64, the L1 norm of
eta sum of (b_k / b) g_k - (x - w') over that of all updates. Differences that rounding w to float32 explains do
not count.

Source: Niu, Recht, Re, Wright 2011 (Hogwild); Ma and Rusu 2020 (arXiv 2004.08771), the CPU worker.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, cast

import numpy as np
import torch
from typing_extensions import override

from hooke.catalogue.workload import Objective, Score
from hooke.comm.base import Vector
from hooke.spec.further import FurtherMetric
from hooke.spec.specification import Part

PIECES, LINE = 16, 16
"""In virtual time: pieces in which a thread goes through the vector, and float32 per cache line, as those of a
window (`hooke.comm.virtual.window`)."""
ADD = 3
"""Passes over memory of an addition: load the vector and the summand, store the sum."""
ROUNDING = 2.0**-22
"""Of a sub-batch: two roundings to float32, relative to the largest number that takes part, and as much again."""
CLOSE = 0.75
"""Share of this limit from which a difference in float32 is looked at in float64; its rounding is an eighth."""
READ, LOAD, STORE = range(3)
Term = tuple[Any, float]  # a vector and its factor


class Hogwild(Objective):
    """The objective of a worker whose threads share its weights; `base` is that of the worker itself.

    `eta`: the rate of the threads' updates, above 0; `parts`: sub-batches of a batch, at most its items.
    """

    def __init__(self, base: Objective, eta: float, parts: int, threads: int) -> None:
        self.base, self.eta, self.parts, self.threads = base, eta, parts, threads
        self.layout, self.device = base.layout, base.device
        self.train_size, self.validation_size, self.test_size = (
            base.train_size,
            base.validation_size,
            base.test_size,
        )
        told = f"{threads} sharing the weights without locks, {parts} sub-batches of a batch"
        self.notes = {**base.notes, "threads": told}
        self.lost = self.pushed = 0.0
        """L1 norms of the updates that were lost, and of all, so far."""
        self._shared = cast("torch.Tensor", base.allocate())
        self._moved, self._scale, self._spare = (torch.empty_like(self._shared) for _ in range(3))
        self._total = torch.empty_like(self._shared, dtype=torch.float64)
        self._gradients = [base.allocate() for _ in range(threads)]

    @property
    @override
    def further_metrics(self) -> tuple[FurtherMetric, ...]:
        return self.base.further_metrics

    @override
    def allocate(self) -> Vector:
        return self.base.allocate()

    @override
    def initial(self, seed: int) -> Vector:
        return self.base.initial(seed)

    @override
    def bind(self, weights: Vector, gradient: Vector) -> None:
        self._x, self._out = cast("torch.Tensor", weights), gradient

    @override
    def pick(self, indices: Any) -> Any:
        """Return the sub-batches, as lists of indices; threads read their items."""
        return np.array_split(np.asarray(indices), self.parts)

    @override
    def prefetch(self, indices: Any) -> None:
        """Do nothing: it does not read ahead."""

    @override
    def synchronize(self) -> None:
        self.base.synchronize()

    @override
    def evaluate(self, weights: Vector, start: int, stop: int, part: Part = "validation") -> Score:
        return self.base.evaluate(weights, start, stop, part)

    @override
    def training_sums(self) -> tuple[float, ...]:
        return self.base.training_sums()

    @override
    def further(self, score: Score, training: tuple[float, ...] = ()) -> dict[str, float]:
        return self.base.further(score, training)

    @override
    def local_state(self) -> dict[str, Any]:
        return self.base.local_state()

    @override
    def restore_local(self, state: dict[str, Any]) -> None:
        self.base.restore_local(state)

    def _collect(self, terms: Sequence[Term], mass: float) -> None:
        """Write what arrived of the updates to the bound vector; the sum of `terms` is that of (b_k / b) g_k."""
        gone = sum(self._each_part(lambda at: self._arrived(terms, at)))
        if math.isfinite(mass + gone):  # else the worker fails, or leaves a run whose account stays
            self.pushed += self.eta * mass
            self.lost += gone

    def _each_part(self, collect: Callable[[slice], float]) -> Iterable[float]:
        """Return `collect` of parts that cover the vector, here of the whole."""
        return [collect(slice(None))]

    def _arrived(self, terms: Sequence[Term], at: slice) -> float:
        """Write these elements of what arrived; return the L1 norm of what did not, times eta."""
        x, out, moved, total = self._x[at], cast("torch.Tensor", self._out)[at], self._moved[at], self._total[at]
        scale, spare = self._scale[at], self._spare[at]
        for k, (vector, factor) in enumerate(terms):
            if k:
                total.add_(vector[at], alpha=factor)
            else:
                total.copy_(vector[at]).mul_(factor)
        torch.sub(x, self._shared[at], out=moved)
        torch.abs(x, out=scale).add_(torch.abs(moved, out=spare), alpha=2).mul_(ROUNDING * (self.parts + 1))
        out.copy_(total)
        torch.mul(out, self.eta, out=spare).sub_(moved).abs_()
        far = spare > scale.mul_(CLOSE)  # false where there is a NaN, which the sum passes on
        if not far.any():
            return 0.0
        where = far.nonzero().squeeze(1)
        missing = total[where].mul_(self.eta).sub_(moved[where]).abs_()
        lost = missing * CLOSE > scale[where]
        out[where[lost]] = moved[where[lost]] / self.eta
        return float(missing[lost].sum())


def mass_of(gradient: Vector) -> float:
    """Return the L1 norm."""
    return float(torch.linalg.vector_norm(cast("torch.Tensor", gradient), 1))


class Threads(Hogwild):
    """Threads of this process, each with one intra-op thread; PyTorch computes without the interpreter's lock.

    `others`: one more objective for every further thread, of the same model and data. A free thread takes the next
    sub-batch. Results depend on the order in which the threads run.
    """

    def __init__(self, base: Objective, others: Sequence[Objective], eta: float, parts: int) -> None:
        super().__init__(base, eta, parts, 1 + len(others))
        self._lanes = [base, *others]
        for lane, gradient in zip(self._lanes, self._gradients, strict=True):
            lane.bind(self._shared, gradient)
        self._sums = [torch.zeros(gradient.numel(), dtype=torch.float64) for gradient in self._gradients]
        self._pool = ThreadPoolExecutor(self.threads, "hooke-hogwild", torch.set_num_threads, (1,))
        ends = [self._shared.numel() * k // self.threads for k in range(self.threads + 1)]
        self._parts_of_vector = [slice(a, b) for a, b in pairwise(ends)]

    @override
    def gradient(self, batch: Any) -> float:
        self._shared.copy_(self._x)
        todo, items = deque(batch), sum(map(len, batch))
        done = list(self._pool.map(lambda lane: self._work(lane, todo, items), range(self.threads)))
        self._collect([term for terms, _, _ in done for term in terms], sum(mass for _, mass, _ in done))
        return sum(loss for _, _, loss in done)

    @override
    def _each_part(self, collect: Callable[[slice], float]) -> Iterable[float]:
        """Return `collect` of a part for every thread: alone it would take longer than all gradients."""
        return self._pool.map(collect, self._parts_of_vector)

    def _work(self, lane: int, todo: deque[Any], items: int) -> tuple[list[Term], float, float]:
        """Compute sub-batches until none is left.

        Return the thread's part of the updates, of their L1 norms, and of the loss; of one sub-batch the gradient
        itself, because a sum in float64 takes as long as a small gradient.
        """
        objective, total = self._lanes[lane], self._sums[lane]
        gradient: Any = self._gradients[lane]
        terms: list[Term] = []
        loss = mass = 0.0
        while True:
            try:
                indices = todo.popleft()
            except IndexError:
                return terms, mass, loss
            if terms:  # before the next gradient is written over the latest one
                share = terms.pop()[1]
                if terms:
                    total.add_(gradient, alpha=share)
                else:
                    total.copy_(gradient).mul_(share)
                    terms.append((total, 1.0))
            share = len(indices) / items
            loss += share * objective.gradient(objective.pick(indices))
            self._shared.add_(gradient, alpha=-self.eta * share)
            terms.append((gradient, share))
            mass += share * mass_of(gradient)

    @override
    def local_state(self) -> dict[str, Any]:
        more = [lane.local_state() for lane in self._lanes[1:]]
        found = {f"thread{k}.{name}": value for k, state in enumerate(more, 1) for name, value in state.items()}
        return self.base.local_state() | found

    @override
    def restore_local(self, state: dict[str, Any]) -> None:
        for k, lane in enumerate(self._lanes[1:], 1):
            mark = f"thread{k}."
            if own := {name.removeprefix(mark): v for name, v in state.items() if name.startswith(mark)}:
                lane.restore_local(own)
        if own := {name: value for name, value in state.items() if not name.startswith("thread")}:
            self.base.restore_local(own)


class Interleaved(Hogwild):
    """Threads in virtual time, as events in the order of time, ties to the lowest thread: deterministic.

    A sub-batch reads the weights when its thread begins it. After its seconds the thread goes through the vector
    piece by piece: it loads a piece, adds, and stores the sum after the time of the memory accesses. What another
    thread has stored to that piece meanwhile is overwritten. A free thread takes the next sub-batch. No thread
    slows another one down.
    """

    def __init__(self, base: Objective, eta: float, parts: int, threads: int, seconds_per_byte: float) -> None:
        """`seconds_per_byte`: of one pass over memory."""
        super().__init__(base, eta, parts, threads)
        size = self._shared.numel()
        step = max(1, -(-size // (PIECES * LINE))) * LINE
        self._pieces = [slice(start, min(start + step, size)) for start in range(0, size, step)]
        self._seconds = [4 * ADD * (piece.stop - piece.start) * seconds_per_byte for piece in self._pieces]
        self._events: list[tuple[float, int, int, int, int, int]] = []

    @property
    @override
    def independent(self) -> bool:
        return self.base.independent

    def plan(self, seconds: Sequence[float]) -> float:
        """Plan the next gradient, whose sub-batches take these seconds; return the seconds until its end."""
        self._events, number = [], 0
        free = [(0.0, thread) for thread in range(self.threads)]
        for part, taken in enumerate(seconds):
            now, thread = heapq.heappop(free)
            self._events.append((now, thread, number, READ, part, 0))
            now += taken
            for piece, passing in enumerate(self._seconds):
                self._events.append((now, thread, number + 1, LOAD, part, piece))
                now += passing
                self._events.append((now, thread, number + 2, STORE, part, piece))
                number += 2
            number += 1
            heapq.heappush(free, (now, thread))
        self._events.sort()
        return max(now for now, _ in free)

    @override
    def gradient(self, batch: Any) -> float:
        w, items = self._shared.copy_(self._x), sum(map(len, batch))
        total, loss, mass = torch.zeros_like(self._total), 0.0, 0.0
        held: dict[int, Any] = {}
        for _, thread, _, what, part, piece in self._events:
            share, at = len(batch[part]) / items, self._pieces[piece]
            gradient: Any = self._gradients[thread]
            if what == READ:
                self.base.bind(w, gradient)
                loss += share * self.base.gradient(self.base.pick(batch[part]))
                total.add_(gradient, alpha=share)
                mass += share * mass_of(gradient)
            elif what == LOAD:
                held[thread] = w[at].clone()
            else:
                w[at].copy_(held[thread].add_(gradient[at], alpha=-self.eta * share))
        self._collect([(total, 1.0)], mass)
        return loss
