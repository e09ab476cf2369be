"""Steps along gradients in float64 NumPy, and the methods that only average: written from the equations alone.

An independent truth: nothing here imports the product. Notation as in `elastic.py`: x_i worker, c center, eta
learning rate, mu momentum, H or tau period, P workers; `gradient(i, t, x)` carries the recorded batches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Gradient = Callable[[int, int, Array], Array]


def constant(t: int) -> float:
    """Return the factor of the learning rate at step t without a schedule."""
    del t
    return 1.0


def clipped(g: Array, largest: float | None) -> Array:
    """Return g, scaled to a norm of at most `largest`."""
    norm = float(np.linalg.norm(g))
    return g if largest is None or norm <= largest else g * (largest / norm)


@dataclass
class Momentum:
    """v' = mu v - eta (g + w x),  x' = x + v': g at x (heavy ball) or at x + mu v (Nesterov), where w x is, too.

    eta is multiplied by `factor(t)` at the t-th step; g is clipped before the weight decay w is added.
    """

    eta: float
    mu: float = 0.0
    nesterov: bool = False
    v: Array | float = 0.0
    decay: float = 0.0
    clip: float | None = None
    factor: Callable[[int], float] = constant
    t: int = 0
    point: Array | float = 0.0

    def at(self, x: Array) -> Array:
        """Return the point at which the gradient is taken."""
        self.point = x + self.mu * self.v if self.nesterov else x
        return self.point

    def move(self, g: Array) -> Array:
        """Return v'."""
        eta = self.eta * self.factor(self.t)
        self.t += 1
        self.v = self.mu * self.v - eta * (clipped(g, self.clip) + self.decay * self.point)
        return self.v

    def apply(self, x: Array, g: Array) -> Array:
        """Return x'."""
        return x + self.move(g)


@dataclass
class Adam:
    """AdamW: x' = (1 - eta w) x - eta m^ / (sqrt(v^) + eps), both moments unbiased."""

    eta: float
    decay: float
    m: Array | float = 0.0
    v: Array | float = 0.0
    t: int = 0
    clip: float | None = None
    factor: Callable[[int], float] = constant
    point: Array | float = 0.0

    def at(self, x: Array) -> Array:
        """Return the point at which the gradient is taken."""
        return x

    def apply(self, x: Array, g: Array) -> Array:
        """Return x'."""
        eta, g = self.eta * self.factor(self.t), clipped(g, self.clip)
        self.t += 1
        self.m = 0.9 * self.m + 0.1 * g
        self.v = 0.999 * self.v + 0.001 * g * g
        m, v = self.m / (1 - 0.9**self.t), self.v / (1 - 0.999**self.t)
        return x - eta * self.decay * x - eta * m / (np.sqrt(v) + 1e-8)


Step = Momentum | Adam


def _start(start: Array, workers: int) -> list[Array]:
    return [np.array(start, dtype=np.float64) for _ in range(workers)]


def sync_sgd(
    start: Array, gradient: Gradient, step: Step, rounds: int, workers: int, reduction: str = "mean"
) -> Array:
    """Sync SGD with any momentum, all of it on the averaged (or summed) gradient."""
    x = np.array(start, dtype=np.float64)
    scale = 1.0 / workers if reduction == "mean" else 1.0
    for t in range(rounds):
        at = step.at(x)
        x = step.apply(x, scale * np.sum([gradient(i, t, at) for i in range(workers)], axis=0))
    return x


def local_sgd(
    start: Array, gradient: Gradient, steps: Sequence[Step], period: int, rounds: int, switch: int = 0
) -> tuple[list[Array], Array]:
    """Local SGD, `steps[i]` being worker i's; before step `switch`, Sync SGD (post-local SGD)."""
    workers = len(steps)
    x = _start(start, workers)
    c = x[0].copy()
    for t in range(rounds):
        g = [gradient(i, t, steps[i].at(x[i])) for i in range(workers)]
        if t < switch:
            g = [np.mean(g, axis=0)] * workers
        x = [steps[i].apply(x[i], g[i]) for i in range(workers)]
        if t < switch:
            c = x[0]
        elif (t + 1 - switch) % period == 0:
            c = np.mean(x, axis=0)
            x = [c.copy() for _ in x]
    return x, c


def outer(
    start: Array,
    gradient: Gradient,
    steps: Sequence[Step],
    period: int,
    rounds: int,
    center: Callable[[Array, Array], Array],
) -> tuple[list[Array], Array]:
    """Rounds of inner steps, each followed by c' = center(c, mean x_i) and x_i = c'."""
    x = _start(start, len(steps))
    c = x[0].copy()
    for t in range(rounds):
        for i, step in enumerate(steps):
            x[i] = step.apply(x[i], gradient(i, t, step.at(x[i])))
        if (t + 1) % period == 0:
            c = center(c, np.mean(x, axis=0))
            x = [c.copy() for _ in x]
    return x, c


def slow_step(beta: float, slow_lr: float, rate: Callable[[], float]) -> Callable[[Array, Array], Array]:
    """SlowMo: u' = beta u + (x0 - mean) / gamma;  x0' = x0 - slow_lr gamma u', gamma the rate of the last step."""
    u: list[Array | float] = [0.0]

    def center(c: Array, mean: Array) -> Array:
        gamma = rate()
        u[0] = beta * u[0] + (c - mean) / gamma
        return np.asarray(c - slow_lr * gamma * u[0])

    return center


def nesterov_step(lr: float, mu: float) -> Callable[[Array, Array], Array]:
    """DiLoCo's outer optimizer: D = c - mean;  b' = mu b + D;  c' = c - lr (D + mu b')."""
    b: list[Array | float] = [0.0]

    def center(c: Array, mean: Array) -> Array:
        b[0] = mu * b[0] + (c - mean)
        return np.asarray(c - lr * ((c - mean) + mu * b[0]))

    return center


@dataclass
class Pusher:
    """What a worker of Async SGD has between two exchanges."""

    own: Step
    t: int = 0
    u: Array | None = None
    x: Array = field(default_factory=lambda: np.zeros(0))


def async_sgd(
    start: Array,
    gradient: Gradient,
    eta: float,
    period: int,
    order: Sequence[int],
    steps: Sequence[int],
    mu: float = 0.0,
    nesterov: bool = False,
    at: Literal["master", "worker"] = "master",
    own: Sequence[Step] = (),
) -> tuple[list[Array], Array]:
    """Async SGD under an observed order of exchanges, the first pull and the last push of each worker included.

    In an exchange the server applies what the worker has collected since its last one, and hands out the
    center (with Nesterov at the server: the look-ahead point). A worker then takes `period` local steps, or
    those that remain until `steps[i]`. `own` are the workers' steps, if they have settings of their own; what is
    pushed to a server with a velocity is the step without eta.
    """
    c = np.array(start, dtype=np.float64)
    master = Momentum(eta, mu, nesterov) if at == "master" else Momentum(eta)
    own = own or [Momentum(eta) if at == "master" else Momentum(eta, mu, nesterov) for _ in steps]
    workers = [Pusher(each) for each in own]
    for i in order:
        w = workers[i]
        if w.u is not None:
            c = c + (master.move(w.u) if at == "master" else w.u)
        if w.t == steps[i]:
            w.u = None
            continue
        w.x, w.u = master.at(c).copy(), np.zeros_like(c)
        for _ in range(min(period, steps[i] - w.t)):
            g = gradient(i, w.t, w.own.at(w.x))
            move = w.own.apply(w.x, g) - w.x
            w.u = w.u + (-move / eta if at == "master" else move)
            w.x = w.x + move if period > 1 else w.x
            w.t += 1
    if any(w.u is not None for w in workers):
        raise ValueError("a worker's last gradients were never pushed")
    return [w.x for w in workers], c


def sum_of(messages: list[list[Array]]) -> list[Array]:
    """Return the sum of the workers' messages, part by part."""
    return [np.asarray(np.sum(parts, axis=0)) for parts in zip(*messages, strict=True)]


def powersgd(
    start: Array,
    gradient: Gradient,
    step: Step,
    rounds: int,
    workers: int,
    shapes: Sequence[tuple[int, ...]],
    basis: Sequence[Array],
    total: Callable[[list[list[Array]]], list[Array]] = sum_of,
) -> Array:
    """PowerSGD: `basis` is the first Q of every matrix among `shapes`, in order; vectors are not compressed.

    `total` adds up the workers' messages, each a list of vectors and matrices, and may round them as a wire does.
    """
    x = np.array(start, dtype=np.float64)
    errors = [np.zeros_like(x) for _ in range(workers)]
    q = [np.array(b, dtype=np.float64) for b in basis]
    for t in range(rounds):
        at = step.at(x)
        m = [e + gradient(i, t, at) for i, e in enumerate(errors)]
        stops = np.cumsum([int(np.prod(shape)) for shape in shapes])
        cuts = [slice(stop - int(np.prod(shape)), stop) for shape, stop in zip(shapes, stops, strict=True)]
        thin = [cut for cut, shape in zip(cuts, shapes, strict=True) if len(shape) > 1]
        whole = [cut for cut, shape in zip(cuts, shapes, strict=True) if len(shape) == 1]
        rows = [shape[0] for shape in shapes if len(shape) > 1]
        views = [[mine[cut].reshape(n, -1) for cut, n in zip(thin, rows, strict=True)] for mine in m]
        sent = total(
            [
                [*(a @ b for a, b in zip(v, q, strict=True)), *(x_[cut] for cut in whole)]
                for v, x_ in zip(views, m, strict=True)
            ]
        )
        p = [np.linalg.qr(left)[0] for left in sent[: len(thin)]]
        back = total([[a.T @ b for a, b in zip(v, p, strict=True)] for v in views])
        q = [each / workers for each in back]
        g = np.zeros_like(x)
        for cut, left, right in zip(thin, p, q, strict=True):
            g[cut] = (left @ right.T).ravel()
        for cut, vector in zip(whole, sent[len(thin) :], strict=True):
            g[cut] = vector / workers
        errors = [mine - g for mine in m]
        for e in errors:
            for cut in whole:
                e[cut] = 0
        x = step.apply(x, g)
    return x
