"""Simulations of elastic exchanges in which only rows travel that steps have moved since the exchange before.

The rows are those of W1, b1, W2 and b2 in which a gradient is not zero; only these does lazy Adam move. Where all
exchange together, the rows that any worker has moved are pulled, else those of the worker that exchanges. Before
the first exchange all rows count as moved. Source: docs/wide-outputs.md.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from audit import problem
from audit.problem import SIZE, Array
from audit.simulate import Parameters, Seen, rate
from audit.together import Finals

ALL: Array = np.ones(SIZE)


def moved(g: Array) -> Array:
    """Return 1 for the elements of rows in which a gradient is not zero, else 0."""
    found = []
    for part in problem.matrices(g):
        rows = part.reshape(len(part), -1)
        found.append(np.repeat((rows != 0).any(axis=1), rows.shape[1]))
    return np.concatenate(found).astype(np.float64)


class LazyAdam:
    """AdamW without decay of the rows with a gradient; t counts all steps."""

    def __init__(self, p: Parameters) -> None:
        self.lr, self.t, self.moved = float(p["lr"]), 0, ALL
        self.m: Array = np.zeros(SIZE)
        self.v: Array = np.zeros(SIZE)

    def move(self, g: Array) -> Array:
        """Return the step along a gradient, and note the rows that it moves."""
        self.t += 1
        here = moved(g)
        self.m = np.where(here, 0.9 * self.m + 0.1 * g, self.m)
        self.v = np.where(here, 0.999 * self.v + 0.001 * g * g, self.v)
        self.moved = np.maximum(self.moved, here)
        m, v = self.m / (1 - 0.9**self.t), self.v / (1 - 0.999**self.t)
        return -self.lr * here * m / (np.sqrt(v) + 1e-8)

    def taken(self) -> Array:
        """Return the rows moved since this was called before, all at first."""
        found, self.moved = self.moved, np.zeros(SIZE)
        return found


def sync_easgd(seen: Seen, p: Parameters) -> Finals:
    """x_i' = x_i - d_i + move_i,  c' = c + sum_i d_i,  d_i = a (x_i - c) in rows that some worker has moved."""
    workers, a, c = range(seen.workers), rate(p, seen.workers), seen.start
    xs, steps = [c for _ in workers], [LazyAdam(p) for _ in workers]
    for t in range(seen.rounds):
        gradients = [seen.gradient(i, xs[i]) for i in workers]
        if t % p["period"] == 0:
            here = np.max([step.taken() for step in steps], axis=0)
            pulls = [a * here * (x - c) for x in xs]
            c = c + np.sum(pulls, axis=0)
            xs = [x - pull for x, pull in zip(xs, pulls, strict=True)]
        xs = [x + step.move(g) for x, step, g in zip(xs, steps, gradients, strict=True)]
    return c, xs


def async_easgd(seen: Seen, p: Parameters) -> Finals:
    """One at a time, in the order of the server: d = a (x_i - c) in rows that this worker has moved."""
    a, c = rate(p, seen.workers), seen.start
    xs, steps = [c for _ in seen.items], [LazyAdam(p) for _ in seen.items]
    for i in seen.order:
        pull = a * steps[i].taken() * (xs[i] - c)
        c = c + pull
        for _ in range(min(p["period"], seen.left(i))):
            xs[i] = xs[i] + steps[i].move(seen.gradient(i, xs[i])) - pull
            pull = np.zeros(SIZE)
    return c, xs


def hogwild_easgd(seen: Seen, p: Parameters) -> Finals:
    """One worker: Async EASGD without a server."""
    seen.order = [0] * -(-len(seen.items[0]) // p["period"])
    return async_easgd(seen, p)


METHODS: dict[str, Callable[[Seen, Parameters], Finals]] = {
    "async-easgd": async_easgd,
    "hogwild-easgd": hogwild_easgd,
    "original-easgd": async_easgd,
    "sync-easgd": sync_easgd,
    "sync-easgd1": sync_easgd,
    "sync-easgd3": sync_easgd,
}
"""Method of the catalogue -> its rule for touched rows."""
