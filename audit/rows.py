"""Simulations of exchanges in which only rows travel that steps have moved since the exchange before.

The rows are those of W1, b1, W2 and b2 in which a gradient is not zero; only these does lazy Adam move. Elastic
methods pull the rows that any worker has moved where all exchange together, else those of the worker that
exchanges; before the first exchange all rows count as moved. Methods that send updates lose nothing: where no step
has moved a row, its update is zero, and the equations are those of whole vectors. Source: docs/wide-outputs.md.
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
        self.whole = p.get("whole", False)
        """Whether exchanges are those of whole vectors, although steps leave rows alone."""
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
        return ALL if self.whole else found


def sync_easgd(seen: Seen, p: Parameters, mu: float = 0.0, parts: int = 1) -> Finals:
    """x_k' = x_k - d_k + move_k,  c' = c + sum_k d_k + mu (c - c_before),  d_k = a (x_k - c) in some rows.

    Those that some k has moved. k: chips of `parts` workers, which step along the mean of their gradients.
    """
    chips = range(seen.workers // parts)
    a, c = rate(p, len(chips)), seen.start
    xs, steps, change = [c for _ in chips], [LazyAdam(p) for _ in chips], np.zeros(SIZE)
    for t in range(seen.rounds):
        of_all = [[seen.gradient(k * parts + j, xs[k]) for j in range(parts)] for k in chips]
        if t % p["period"] == 0:
            here = np.max([step.taken() for step in steps], axis=0)
            pulls = [a * here * (x - c) for x in xs]
            change = np.sum(pulls, axis=0) + mu * change
            c = c + change
            xs = [x - pull for x, pull in zip(xs, pulls, strict=True)]
        xs = [xs[k] + steps[k].move(np.mean(of_all[k], axis=0)) for k in chips]
    return c, [xs[i // parts] for i in range(seen.workers)]


def sma(seen: Seen, p: Parameters) -> Finals:
    """Sync EASGD with momentum of the center, which moves all rows of it."""
    return sync_easgd(seen, p, p["center_momentum"])


def chip_easgd(seen: Seen, p: Parameters) -> Finals:
    """Sync EASGD between chips."""
    return sync_easgd(seen, p, parts=p["parts"])


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


def async_sgd(seen: Seen, p: Parameters) -> Finals:
    """Pull x = c, tau steps, push the sum of the moves; c' = c + that."""
    c, pushed = seen.start, dict[int, Array]()
    xs, steps = [c for _ in seen.items], [LazyAdam(p) for _ in seen.items]
    for i in seen.order:
        c = c + pushed.pop(i, np.zeros(SIZE))
        if not seen.left(i):
            continue
        xs[i] = at = c
        for _ in range(min(p["period"], seen.left(i))):
            at = at + steps[i].move(seen.gradient(i, at))
        pushed[i] = at - c
        xs[i] = at if p["period"] > 1 else c  # with one step it stays where it was pulled
    return c, xs


def noloco(seen: Seen, p: Parameters) -> Finals:
    """D_i = c_i - x_i;  m_i' = mu m_i - outer_lr mean D - b (c_i - mean c),  c_i' = c_i + m_i'; means of pairs."""
    workers = range(seen.workers)
    cs, ms = [seen.start for _ in workers], [np.zeros(SIZE) for _ in workers]
    xs, steps = list(cs), [LazyAdam(p) for _ in workers]
    for t in range(1, seen.rounds + 1):
        xs = [xs[i] + steps[i].move(seen.gradient(i, xs[i])) for i in workers]
        if t % p["period"]:
            continue
        order = np.random.default_rng([seen.seed, t - 1]).permutation(seen.workers)
        pairs = [order[k : k + 2] for k in range(0, seen.workers, 2)]
        before, outward = list(cs), [c - x for c, x in zip(cs, xs, strict=True)]
        for pair in pairs:
            middle, mean = (np.mean([vectors[i] for i in pair], axis=0) for vectors in (before, outward))
            for i in pair:
                ms[i] = p["outer_momentum"] * ms[i] - p["outer_lr"] * mean - p["pull"] * (before[i] - middle)
                cs[i] = xs[i] = before[i] + ms[i]
    return np.mean(cs, axis=0), xs


METHODS: dict[str, Callable[[Seen, Parameters], Finals]] = {
    "async-easgd": async_easgd,
    "async-sgd": async_sgd,
    "chip-easgd": chip_easgd,
    "hogwild-easgd": hogwild_easgd,
    "noloco": noloco,
    "original-easgd": async_easgd,
    "sma": sma,
    "sync-easgd": sync_easgd,
    "sync-easgd1": sync_easgd,
    "sync-easgd3": sync_easgd,
}
"""Method of the catalogue -> its rule for touched rows."""
PULLED = {name for name in METHODS if name not in ("async-sgd", "noloco")}
"""Those that pull other rows than exchanges of whole vectors would."""
