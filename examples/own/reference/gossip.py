"""Elastic gossip (arXiv 1812.02407), with the choices of peers that the run's seed says."""

from __future__ import annotations

import numpy as np

from tests.engine.reference.observed import End, Observed


def elastic_gossip(run: Observed) -> End:
    """x_i' = x_i + v_i' - a sum (x_i - x_k) over the worker that i chose and those that chose i, old values."""
    p, a = run.workers, run.values["rate"]
    x = [run.start.copy() for _ in range(p)]
    own = run.own()
    for t in range(run.steps[0]):
        chosen = np.zeros((p, p))
        if t % run.period == 0 and p > 1:
            for i, ahead in enumerate(np.random.default_rng([run.seed, t]).integers(1, p, size=p)):
                chosen[i, (i + ahead) % p] = chosen[(i + ahead) % p, i] = 1
        laplacian = np.diag(chosen.sum(axis=1)) - chosen
        pulled = laplacian @ np.array(x)
        x = [
            s.apply(w - a * d, run.gradient(i, t, s.at(w)))
            for i, (w, s, d) in enumerate(zip(x, own, pulled, strict=True))
        ]
    return x, np.mean(x, axis=0)
