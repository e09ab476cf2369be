"""Simulations of methods in which workers exchange with one other worker, without a center.

Each returns the evaluated mean and every worker's weights; all right-hand sides are old values. Sources: arXiv
2506.10911 (NoLoCo), 1811.10792 (Stochastic Gradient Push).
"""

from __future__ import annotations

import numpy as np

from audit.problem import Array
from audit.simulate import AdamW, Parameters, Seen, Step
from audit.together import Finals


def noloco(seen: Seen, p: Parameters) -> Finals:
    """D_i = c_i - x_i;  m_i' = mu m_i - outer_lr mean D - b (c_i - mean c),  c_i' = c_i + m_i'.

    The means are those of i and its partner.
    """
    workers = range(seen.workers)
    cs, xs, ms = ([vector for _ in workers] for vector in (seen.start, seen.start, np.zeros_like(seen.start)))
    steps = [AdamW(p) if p["optimizer"] == "adamw" else Step(p) for _ in workers]
    for t in range(seen.rounds):
        for i, step in enumerate(steps):
            g = seen.gradient(i, step.at(xs[i]))
            xs[i] = step.stepped(xs[i], g) if isinstance(step, AdamW) else xs[i] + step.move(g)
        if (t + 1) % p["period"] == 0:
            drawn = list(np.random.default_rng([seen.seed, t]).permutation(seen.workers))
            fellows = {i: [drawn[n ^ 1], i] if n ^ 1 < len(drawn) else [i] for n, i in enumerate(drawn)}
            moves: list[Array] = []
            for i in workers:
                outward = np.mean([cs[j] - xs[j] for j in fellows[i]], axis=0)
                apart = cs[i] - np.mean([cs[j] for j in fellows[i]], axis=0)
                moves.append(p["outer_momentum"] * ms[i] - p["outer_lr"] * outward - p["pull"] * apart)
            ms = moves
            cs = [c + m for c, m in zip(cs, ms, strict=True)]
            xs = list(cs)
    return np.mean(cs, axis=0), xs


def stochastic_gradient_push(seen: Seen, p: Parameters) -> Finals:
    """y_i = x_i - lr g_i(x_i / w_i);  i keeps half of (y_i, w_i) and sends half to i + 1, i + 2, i + 4, ...

    They take turns. With a delay it adds what was sent to it one step before.
    """
    hops = [2**k for k in range(seen.workers) if 2**k < seen.workers]
    xs, ws, steps = [seen.start] * seen.workers, [1.0] * seen.workers, [Step(p) for _ in range(seen.workers)]
    post: list[list[tuple[int, Array, float]]] = [[]]
    for t in range(seen.rounds):
        xs = [x + steps[i].move(seen.gradient(i, steps[i].at(x) / ws[i])) for i, x in enumerate(xs)]
        if not hops:
            continue
        ahead = hops[t % len(hops)]
        post.append([((i + ahead) % seen.workers, x / 2, ws[i] / 2) for i, x in enumerate(xs)])
        xs, ws = [x / 2 for x in xs], [w / 2 for w in ws]
        for to, x, w in post[-1 - p["delay"]]:
            xs[to], ws[to] = xs[to] + x, ws[to] + w
    return np.mean([x / w for x, w in zip(xs, ws, strict=True)], axis=0), xs
