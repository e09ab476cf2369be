"""Pipe-SGD (arXiv 1811.03619): one step along the mean gradient of some steps ago."""

from __future__ import annotations

import numpy as np

from tests.engine.reference.observed import End, Observed


def pipe_sgd(run: Observed) -> End:
    """The means wait in a line of `delay` zeros; every step takes the oldest."""
    x, step = run.start.copy(), run.own()[0]
    line = [np.zeros_like(x)] * run.values["delay"]
    for t in range(run.steps[0]):
        at = step.at(x)
        line.append(np.mean([run.gradient(i, t, at) for i in range(run.workers)], axis=0))
        x = step.apply(x, line.pop(0))
    return [x] * run.workers, x
