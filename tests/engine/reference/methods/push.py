"""Stochastic Gradient Push (arXiv 1811.10792): push-sum on the directed exponential graph, by its matrices."""

from __future__ import annotations

from math import floor, log2

import numpy as np

from tests.engine.reference.descent import Array
from tests.engine.reference.observed import End, Observed


def pushed(p: int, t: int) -> Array:
    """Return the (P, P) matrix of what is sent at step t: column i has 1/2 in the row of its receiver."""
    far = 2 ** (t % (floor(log2(p - 1)) + 1))
    sent = np.zeros((p, p))
    for i in range(p):
        sent[(i + far) % p, i] = 0.5
    return sent


def stochastic_gradient_push(run: Observed) -> End:
    """Weights x (P, |W|) and push-sum weights w (P,), of which each worker keeps half and sends half."""
    p = run.workers
    x, w = np.array([run.start] * p), np.ones(p)
    own = run.own()
    flying, heavy = np.zeros_like(x), np.zeros_like(w)
    for t in range(run.steps[0]):
        for i, s in enumerate(own):
            s.point = s.at(x[i]) / w[i]
            x[i] = s.apply(x[i], run.gradient(i, t, s.point))
        if p > 1:
            sent = pushed(p, t)
            arrived = (flying, heavy) if run.values["delay"] else (sent @ x, sent @ w)
            flying, heavy = sent @ x, sent @ w
            x, w = x / 2 + arrived[0], w / 2 + arrived[1]
    return list(x), (x / w[:, None]).mean(axis=0)
