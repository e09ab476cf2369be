"""Simulations of methods in which workers exchange with one other worker, without a center.

Each returns the evaluated mean and every worker's weights; all right-hand sides are old values. Sources: arXiv
2506.10911 (NoLoCo).
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
    steps = [AdamW(p) if p["inner"] == "adamw" else Step(p) for _ in workers]
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
