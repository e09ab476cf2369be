"""The methods of this repository in float64 NumPy, written from the published equations alone.

An independent truth: nothing here imports the product. Notation of the papers (arXiv 1708.02983, 1412.6651):
x_i weights of worker i, c center, g_i its stochastic gradient, eta learning rate, rho elasticity,
a = eta * rho, P workers, tau period.

(1) x_i' = x_i - eta * (g_i + rho * (x_i - c))        worker
(2) c'   = c + eta * rho * SUM_i (x_i - c)            center; one worker at a time: without the sum
(5) v_i' = mu * v_i - eta * g_i                       with momentum
(6) x_i' = x_i + v_i' - eta * rho * (x_i - c)

All right-hand sides use OLD values (Jacobi): the gradient is at the pre-exchange x_i, the pull uses the
pre-update c. A worker whose step is not due for an exchange does the same without the pull.

`gradient(i, t, x)` is the gradient of worker i at its own step t (from 0), at x: it carries the recorded
sequence of batches or noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tests.engine.reference.descent import Step

Array = NDArray[np.float64]
Gradient = Callable[[int, int, Array], Array]


def due(t: int, period: int) -> bool:
    """Return whether step t (from 0) exchanges: tau | t, so the very first step does (Alg 1 of 1412.6651)."""
    return t % period == 0


@dataclass
class Spring:
    """Workers tied to a center: the state of every elastic method, and the history of the center."""

    x: list[Array]
    c: Array
    v: list[Array] = field(default_factory=list)
    t: list[int] = field(default_factory=list)
    centers: list[Array] = field(default_factory=list)
    own: Sequence[Step] = ()
    """The workers' own steps, in place of (5)."""

    @classmethod
    def at(cls, start: Array, workers: int, own: Sequence[Step] = ()) -> Spring:
        """Return workers and center that all start at the same point."""
        x = [np.array(start, dtype=np.float64) for _ in range(workers)]
        return cls(x, x[0].copy(), [np.zeros_like(w) for w in x], [0] * workers, [x[0].copy()], own)

    def total(self) -> Array:
        """Return SUM x_i + c, which every symmetric exchange keeps (I1)."""
        return np.sum(self.x, axis=0) + self.c


@dataclass(frozen=True)
class Constants:
    """Hyper-parameters of an elastic method."""

    eta: float
    rho: float
    period: int = 1
    momentum: float = 0.0
    nesterov: bool = False
    center_momentum: float = 0.0

    @property
    def a(self) -> float:
        """Return the moving rate eta * rho."""
        return self.eta * self.rho


def _one_worker(s: Spring, i: int, gradient: Gradient, k: Constants) -> Array:
    """Advance worker i by (5)(6), which is (1) without momentum; return d = x_i - c, or 0 if not due.

    With Nesterov (Algorithm 2 of 1412.6651) the gradient is at y + mu v, where y is x_i before the pull.
    """
    t, y = s.t[i], s.x[i]
    d = y - s.c if due(t, k.period) else np.zeros_like(y)
    if s.own:
        g = gradient(i, t, s.own[i].at(y))
        s.x[i], s.t[i] = s.own[i].apply(y - k.a * d, g), t + 1
        return d
    at = y + k.momentum * s.v[i] if k.nesterov else y
    s.v[i] = k.momentum * s.v[i] - k.eta * gradient(i, t, at)
    s.x[i] = y + s.v[i] - k.a * d
    s.t[i] = t + 1
    return d


def in_turn(s: Spring, gradient: Gradient, k: Constants, order: Iterable[int]) -> Spring:
    """Apply (1) and (2) for one worker after the other: round robin, or any observed order of exchanges."""
    for i in order:
        s.c = s.c + k.a * _one_worker(s, i, gradient, k)
        s.centers.append(s.c.copy())
    return s


def original_easgd(s: Spring, gradient: Gradient, k: Constants, iterations: int) -> Spring:
    """Original EASGD, the literal listing: iteration t trains and exchanges with worker j = t mod P.

    The ordered mode lets workers compute concurrently; a gradient depends on its own x_i alone, so a sweep
    gives the same numbers.
    """
    return in_turn(s, gradient, k, (t % len(s.x) for t in range(iterations)))


def async_easgd(s: Spring, gradient: Gradient, k: Constants, order: Sequence[int], steps: Sequence[int]) -> Spring:
    """Async EASGD under an observed order of exchanges: `order[n]` is the worker of exchange n.

    Between two of its exchanges a worker takes the local steps of its period, and after its last one those
    that remain until it has done `steps[i]`. Each exchange is one swap at the server: both sides use the same
    d = x_i - c.
    """
    for i in order:
        while not due(s.t[i], k.period):
            _one_worker(s, i, gradient, k)
        in_turn(s, gradient, k, [i])
    for i, until in enumerate(steps):
        while s.t[i] < until:
            if due(s.t[i], k.period):
                raise ValueError(f"worker {i} exchanges at step {s.t[i]}, but the order does not say when")
            _one_worker(s, i, gradient, k)
    return s


def sync_easgd(s: Spring, gradient: Gradient, k: Constants, rounds: int) -> Spring:
    """Sync EASGD: in each round all workers apply (1), and the center (2), from the same old values."""
    for _ in range(rounds):
        d = [_one_worker(s, i, gradient, k) for i in range(len(s.x))]
        s.c = s.c + k.a * np.sum(d, axis=0)
        s.centers.append(s.c.copy())
    return s


def unequal_rates(
    start: Array, gradient: Gradient, eta: float, worker_rate: float, center_rate: float, rounds: int
) -> tuple[Array, Array]:
    """One worker and a center that move by rates of their own: x' = x - eta g - a_w (x - c), c' = c + a_c (x - c).

    What P identical workers are (a_w = a, a_c = P a), and what keeps a_c x + a_w c but for the gradients (I2).
    """
    x, c = np.array(start, dtype=np.float64), np.array(start, dtype=np.float64)
    for t in range(rounds):
        d = x - c
        x = x - eta * gradient(0, t, x) - worker_rate * d
        c = c + center_rate * d
    return x, c


def sma(s: Spring, gradient: Gradient, k: Constants, rounds: int) -> Spring:
    """SMA (CrossBow): Sync EASGD with c' = c + a SUM (x_i - c) + mu (c - c_before), at every exchange."""
    before = s.c
    for t in range(rounds):
        exchange = due(t, k.period)
        d = [_one_worker(s, i, gradient, k) for i in range(len(s.x))]
        if exchange:
            s.c, before = s.c + k.a * np.sum(d, axis=0) + k.center_momentum * (s.c - before), s.c
    return s


def chip_easgd(
    start: Array,
    gradient: Gradient,
    k: Constants,
    rounds: int,
    workers: int,
    parts: int,
    inside: Literal["mean", "sum"] = "mean",
    own: Sequence[Step] = (),
) -> Spring:
    """Sync EASGD between chips, whose gradient is the mean or the sum over their parts; `s.x`: one per chip."""

    def of_chip(chip: int, t: int, x: Array) -> Array:
        members = range(chip * parts, (chip + 1) * parts)
        total = np.sum([gradient(i, t, x) for i in members], axis=0)
        return np.asarray(total / parts if inside == "mean" else total)

    return sync_easgd(Spring.at(start, workers // parts, own), of_chip, k, rounds)


def gauss_seidel_easgd(s: Spring, gradient: Gradient, k: Constants, rounds: int) -> Spring:
    """A WRONG variant, to prove that the checks can fail: workers are pulled to the new center."""
    for _ in range(rounds):
        old = s.c
        s.c = old + k.a * np.sum([x - old for x in s.x], axis=0)
        for i in range(len(s.x)):
            _one_worker(s, i, gradient, k)
        s.centers.append(s.c.copy())
    return s


def sgd(start: Array, gradient: Gradient, eta: float, steps: int, worker: int = 0, momentum: float = 0.0) -> Array:
    """Sequential SGD on the batches of one worker: (3)(4) v' = mu v - eta g, x' = x + v'."""
    x, v = np.array(start, dtype=np.float64), np.zeros_like(start, dtype=np.float64)
    for t in range(steps):
        v = momentum * v - eta * gradient(worker, t, x)
        x = x + v
    return x


def sync_sgd(
    start: Array,
    gradient: Gradient,
    eta: float,
    rounds: int,
    workers: int,
    reduction: Literal["mean", "sum"] = "mean",
    momentum: float = 0.0,
) -> Array:
    """Sync SGD: x' = x - (eta / P) SUM_i g_i(x), the same x everywhere; `sum` drops the division."""
    x, v = np.array(start, dtype=np.float64), np.zeros_like(start, dtype=np.float64)
    scale = 1.0 / workers if reduction == "mean" else 1.0
    for t in range(rounds):
        v = momentum * v - eta * scale * np.sum([gradient(i, t, x) for i in range(workers)], axis=0)
        x = x + v
    return x
