"""NoLoCo (arXiv 2506.10911), with the pairs that the run's seed says."""

from __future__ import annotations

import numpy as np

from tests.engine.reference.observed import End, Observed


def noloco(run: Observed) -> End:
    """Outer steps of pairs: (P, P) means over a pair, the identity for a worker without a partner."""
    v, p = run.values, run.workers
    x = np.array([run.start] * p)
    own = run.own()
    c, m = x.copy(), np.zeros_like(x)
    for t in range(run.steps[0]):
        for i, s in enumerate(own):
            x[i] = s.apply(x[i], run.gradient(i, t, s.at(x[i])))
        if (t + 1) % run.period == 0:
            mean, order = np.eye(p), np.random.default_rng([run.seed, t]).permutation(p)
            for n in range(0, p - 1, 2):
                mean[np.ix_(order[n : n + 2], order[n : n + 2])] = 0.5
            m = v["outer_momentum"] * m - v["outer_lr"] * mean @ (c - x) - v["pull"] * (c - mean @ c)
            c = c + m
            x = c.copy()
    return list(x), c.mean(axis=0)
