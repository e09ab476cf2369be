"""SPARTA: a random part of the weights is averaged, with the choices that the run's seed says."""

from __future__ import annotations

import numpy as np

from tests.engine.reference.observed import End, Observed


def sparta(run: Observed) -> End:
    """Local steps; after every H-th, the chosen columns of (P, |W|) become their means."""
    x = np.array([run.start] * run.workers)
    own = run.own()
    size = max(1, round(run.values["fraction"] * run.start.size))
    for t in range(run.steps[0]):
        x = np.array(
            [s.apply(w, run.gradient(i, t, s.at(w))) for i, (w, s) in enumerate(zip(x, own, strict=True))]
        )
        if (t + 1) % run.period == 0:
            draw = np.random.default_rng([run.seed, t])
            chosen = draw.choice(run.start.size, size, replace=False, shuffle=False)
            x[:, chosen] = x[:, chosen].mean(axis=0)
    return list(x), x.mean(axis=0)
