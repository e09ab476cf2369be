"""Simulations of methods for unequal workers, from their equations, in the order in which a server was asked.

Sources: arXiv 2110.07029 (Adaptive SGD, as far as its rules are known to us), 1708.02983 (elastic exchange).
"""

from __future__ import annotations

import math

import numpy as np

from audit.problem import Array
from audit.simulate import Parameters, Seen, Step, rate

Finals = tuple[Array, list[Array]]


def adaptive_sgd(seen: Seen, p: Parameters) -> Finals:
    """x_i' = x_i - lr sum of b_i gradients; after M batches c' = sum_i a_i x_i + mu (c - c_before).

    Who asks gets a share, at_once, rounded up, of the updates that it would take of what is left until the merge
    or the end, if all went on as since the merge before the latest; at least one, at most 16. Just after a merge
    at least 3, or all but one of its part of M if all goes on as between the two latest merges.
    """
    everyone = range(seen.workers)
    c, before, xs = seen.start, seen.start, [seen.start for _ in everyone]
    b, u = np.full(seen.workers, float(p["largest"])), np.zeros(seen.workers, int)
    open_updates: list[list[int]] = [[] for _ in everyone]
    spare, asking, finished = p["mega_batch"], [], set()
    earlier, now = np.zeros(seen.workers, int), np.zeros(seen.workers, int)
    """Batches handed out between the two latest merges, and since the latest."""
    unused = sum(seen.left(i) for i in everyone)

    def hand(i: int, most: int) -> None:
        """Let a worker take its next updates, of at most so many batches."""
        nonlocal spare, unused
        whole = int(b[i] + 0.5)
        most = min(most, max(p["largest"], p["mega_batch"] // seen.workers) if p["at_once"] else p["largest"])
        share = (earlier + now)[i] / (earlier + now).sum() if (earlier + now).any() else 0.0
        times = math.ceil(p["at_once"] * min(spare, unused) * share / whole - 1e-9)
        if p["at_once"] and u[i] == 0 and earlier.any():
            part = min(p["mega_batch"], unused) * earlier[i] / earlier.sum() / whole
            times = max(times, min(3, math.ceil(part - 1e-9) - 1))
        times = max(1, min(times, most // whole, 16))
        open_updates[i] = split(min(times * whole, most, seen.left(i)), whole)
        taken = sum(open_updates[i])
        spare, unused, now[i], u[i] = spare - taken, unused - taken, now[i] + taken, u[i] + len(open_updates[i])

    for i in seen.order:
        for batches in open_updates[i]:
            xs[i] = xs[i] - p["lr"] * np.sum([seen.gradient(i, xs[i]) for _ in range(batches)], axis=0)
        open_updates[i] = []
        if not seen.left(i):
            finished.add(i)
        elif spare:
            hand(i, spare)
            continue
        else:
            asking.append(i)
        if len(asking) + len(finished) == seen.workers:
            if u.any():
                a = b / b.sum() if (u == u[0]).all() else u / u.sum()
                merged = np.sum([a[j] * xs[j] for j in everyone if u[j]], axis=0)
                c, before = merged + p["center_momentum"] * (c - before), c
                b = np.minimum(p["largest"], np.maximum(p["smallest"], b + p["scaling"] * (u - u.mean())))
                u[:] = 0
                earlier, now = now, np.zeros(seen.workers, int)
            spare = p["mega_batch"]
            while asking:
                j = asking.pop(0)
                xs[j] = c
                hand(j, spare - len(asking))
    return c, xs


def split(batches: int, size: int) -> list[int]:
    """Return updates of `size` batches; what is no whole one comes first."""
    rest = batches % size
    return [rest] * (rest > 0) + [size] * (batches // size)


def heterogeneous_easgd(seen: Seen, p: Parameters) -> Finals:
    """Exchange by d = a P b_i / sum b (x_i - c), then b_i steps; b_i follows the counts of exchanges."""
    a, c = rate(p, seen.workers), seen.start
    xs, steps = [seen.start for _ in seen.items], [Step(p) for _ in seen.items]
    longest = max(p["period"], p["longest"] if p["factor"] > 1 else 1)
    b, n = [p["period"]] * seen.workers, [0] * seen.workers
    for i in seen.order:
        share = b[i] * seen.workers / sum(b)
        pull = min(a * share, max(1.0, a)) * (xs[i] - c)
        n[i] += 1
        others = sorted(n[:i] + n[i + 1 :])
        if others and others[0] - n[i] > 1:
            b[i] = max(1, int(b[i] // p["factor"]))
        elif others and n[i] - others[-1] > 1:
            b[i] = min(longest, int(np.ceil(b[i] * p["factor"])))
        c = c + pull
        for _ in range(min(b[i], seen.left(i))):
            xs[i] = xs[i] + steps[i].move(seen.gradient(i, steps[i].at(xs[i]))) - pull
            pull = np.zeros_like(c)
    return c, xs


def weighted_sync_sgd(seen: Seen, p: Parameters) -> Finals:
    """x' = x - lr times the mean gradient of all batches of all workers, with momentum; b_i of worker i."""
    x, step = seen.start, Step(p)
    b = [p["sizes"][i % len(p["sizes"])] for i in range(seen.workers)]
    while seen.left(0):
        at = step.at(x)
        g = [seen.gradient(i, at) for i in range(seen.workers) for _ in range(b[i])]
        x = x + step.move(np.mean(g, axis=0))
    return x, [x] * seen.workers
