"""CO2 (arXiv 2401.16265): outer steps along the change of the round before."""

from __future__ import annotations

import numpy as np

from tests.engine.reference.descent import Array
from tests.engine.reference.observed import End, Observed


def co2(run: Observed) -> End:
    """Rounds that all begin at c; after each of them one outer step along the change of the round before."""
    v, phi = run.values, run.values["clip"]
    x = [run.start.copy() for _ in range(run.workers)]
    own = run.own()
    centers, m, changes = [run.start.copy()], np.zeros_like(run.start), []

    def outer_step(change: Array) -> None:
        nonlocal m
        m = v["outer_momentum"] * m + change / v["gap"]
        m = m if phi is None else np.minimum(np.maximum(m, -phi), phi)
        centers.append(centers[-1] - v["outer_lr"] * m)

    begun = run.start.copy()
    for t in range(run.steps[0]):
        x = [s.apply(w, run.gradient(i, t, s.at(w))) for i, (w, s) in enumerate(zip(x, own, strict=True))]
        if (t + 1) % run.period == 0:
            if changes:
                outer_step(changes[-1])
            changes.append(begun - np.mean(x, axis=0))
            begun = centers[-1]
            x = [begun.copy() for _ in x]
    if changes:
        outer_step(changes[-1])  # the last average arrives before the end
    return x, centers[-1]
