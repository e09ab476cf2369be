"""Simulations of asynchronous methods, from their equations, in the order of exchanges of a run's server.

Sources: arXiv 1708.02983 (Original, Async and Hogwild EASGD, Async SGD), 2004.08771 (Hogbatch), 1412.6651 (EASGD,
EAMSGD, DOWNPOUR, MDOWNPOUR). A lock-free method has no order: with one worker the simulation is exact, with
several workers the audit checks that no update was lost.
"""

from __future__ import annotations

import numpy as np

from audit.problem import Array
from audit.simulate import Parameters, Seen, Step, rate

Finals = tuple[Array, list[Array]]


def sgd(seen: Seen, p: Parameters) -> Finals:
    """x' = x - lr g(x)."""
    x, step = seen.start, Step(p)
    while seen.left(0):
        x = x + step.move(seen.gradient(0, step.at(x)))
    return x, [x]


def async_easgd(seen: Seen, p: Parameters) -> Finals:
    """One at a time: d = a (x_i - c),  c' = c + d,  x_i' = x_i + v_i' - d; then tau - 1 steps without exchange."""
    a, c = rate(p, seen.workers), seen.start
    xs, steps = [seen.start for _ in seen.items], [Step(p) for _ in seen.items]
    for i in seen.order:
        pull = a * (xs[i] - c)
        c = c + pull
        for _ in range(min(p["period"], seen.left(i))):
            xs[i] = xs[i] + steps[i].move(seen.gradient(i, steps[i].at(xs[i]))) - pull
            pull = np.zeros_like(c)
    return c, xs


def original_easgd(seen: Seen, p: Parameters) -> Finals:
    """Async EASGD in rank order: worker t mod P has turn t, independently of the log."""
    turns = [t % seen.workers for t in range(sum(map(len, seen.items)))]
    if seen.order != turns:
        raise ValueError("the server did not answer in rank order")
    return async_easgd(seen, {**p, "period": 1})


def async_sgd(seen: Seen, p: Parameters) -> Finals:
    """Pull x = c; tau times x' = x - lr g; push the sum u of the g; at the server v' = mu v - lr u, c' = c + v'.

    With a velocity of its own, a worker pushes the sum of its moves. With one step per exchange x stays as pulled.
    Nesterov's momentum at the server: workers pull c + mu v.
    """
    own = p["momentum_at"] == "worker" and p["momentum"] > 0
    plain = {**p, "momentum": 0.0}
    c, master = seen.start, Step(plain if own else p)
    pushed: dict[int, Array] = {}
    xs, steps = [seen.start for _ in seen.items], [Step(p if own else plain) for _ in seen.items]
    for i in seen.order:
        if i in pushed:
            c = c + (pushed[i] if own else master.move(pushed[i]))
        if not seen.left(i):
            continue
        x, pushed[i] = master.at(c), np.zeros_like(c)
        for _ in range(min(p["period"], seen.left(i))):
            g = seen.gradient(i, steps[i].at(x))
            move = steps[i].move(g)
            pushed[i] = pushed[i] + (move if own else g)
            x = x + move * (p["period"] > 1)
        xs[i] = x
    return c, xs


def hogbatch(seen: Seen, p: Parameters) -> Finals:
    """Pull x = c; u: sum of b_i gradients at x; push u; c' = c - lr b_i^p u / b_i. The b_i follow the counts.

    Where workers overwrite the center it is x that the update is added to.
    """
    least = p.get("smallest_of") or (p["smallest"],)
    most = p.get("largest_of") or (p["largest"],)
    c, count = seen.start, [0] * seen.workers
    size = [p["sizes"][i % len(p["sizes"])] for i in range(seen.workers)]
    pushed: dict[int, Array] = {}
    xs = [seen.start for _ in seen.items]
    for i in seen.order:
        if i in pushed:
            begun = xs[i] if p.get("merging") == "overwrite" else c
            c, count[i] = begun - p["lr"] * pushed[i], count[i] + 1
            ranked = sorted(count[:i] + count[i + 1 :])
            if ranked and count[i] < ranked[0]:
                size[i] = max(least[i % len(least)], int(size[i] / p["alpha"]))
            elif ranked and count[i] > ranked[-1]:
                size[i] = min(most[i % len(most)], int(np.ceil(size[i] * p["alpha"])))
        if not seen.left(i):
            continue
        batches = min(size[i], seen.left(i))
        xs[i], pushed[i] = c, np.zeros_like(c)
        for _ in range(batches):
            pushed[i] = pushed[i] + seen.gradient(i, c) / batches * batches ** p["rate_exponent"]
    return c, xs


def hogwild_sgd(seen: Seen, p: Parameters) -> Finals:
    """x = c; tau moves along x; c' = c + their sum. One worker only."""
    c, x, step = seen.start, seen.start, Step(p)
    while seen.left(0):
        x, moves = c, np.zeros_like(c)
        for _ in range(min(p["period"], seen.left(0))):
            move = step.move(seen.gradient(0, step.at(x)))
            moves, x = moves + move, x + move * (p["period"] > 1)
        c = c + moves
    return c, [x]


def hogwild_easgd(seen: Seen, p: Parameters) -> Finals:
    """d = a (x - c),  c' = c + d,  x' = x + v' - d every tau steps. One worker: Async EASGD without a server."""
    seen.order = [0] * -(-len(seen.items[0]) // p["period"])
    return async_easgd(seen, p)


def missing(method: str, seen: Seen, p: Parameters, center: Array, weights: list[Array]) -> float:
    """Return the missing part of all pushed updates, relative to the largest element expected.

    Hogwild SGD: c = c_0 + all moves. Hogwild EASGD: c + sum_i x_i = (P + 1) x_0 + all moves, because an exchange
    conserves it. Moves follow from the recorded points of the gradients.
    """
    expected = seen.start * (1 if method == "hogwild-sgd" else seen.workers + 1)
    for i in range(seen.workers):
        step = Step(p)
        while seen.left(i):
            expected = expected + step.move(seen.found(i))
    found = center if method == "hogwild-sgd" else center + np.sum(weights, axis=0)
    return float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))
