"""Overlap Local SGD (arXiv 2002.09539): the anchor of a round is made of the averages of the round before."""

from __future__ import annotations

import numpy as np

from tests.engine.reference.observed import End, Observed


def overlap_local_sgd(run: Observed) -> End:
    """Local steps; then x_i = (1 - a) x_i + a z, and z moves by v = beta v + mean x_i - z for the next round."""
    a, beta = run.values["pull"], run.values["anchor_momentum"]
    x = [run.start.copy() for _ in range(run.workers)]
    own = run.own()
    z, v = run.start.copy(), np.zeros_like(run.start)
    for t in range(run.steps[0]):
        x = [s.apply(w, run.gradient(i, t, s.at(w))) for i, (w, s) in enumerate(zip(x, own, strict=True))]
        if (t + 1) % run.period == 0:
            x = [(1 - a) * w + a * z for w in x]
            v = beta * v + np.mean(x, axis=0) - z
            z = z + v
    return x, z
