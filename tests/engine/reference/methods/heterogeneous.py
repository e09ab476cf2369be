"""Heterogeneous EASGD in float64, from the order in which the server was observed to serve its workers."""

import math

import numpy as np

from tests.engine.reference.observed import End, Observed


def easgd(run: Observed) -> End:
    """Return weights and center: one exchange, then the local steps of the period that it begins."""
    v, workers, a = run.values, run.workers, run.rate(run.workers)
    longest = max(run.period, v["longest"] if v["factor"] > 1 else 1)
    center = run.start.astype(np.float64).copy()
    x = [center.copy() for _ in range(workers)]
    own = run.own()
    period, count, done = [run.period] * workers, [0] * workers, [0] * workers
    for i in run.served:
        pull = min(a * workers * period[i] / sum(period), max(a, 1.0))
        count[i] += 1
        others = count[:i] + count[i + 1 :]
        if others and count[i] + 1 < min(others):
            period[i] = max(1, math.floor(period[i] / v["factor"]))
        if others and count[i] - 1 > max(others):
            period[i] = min(longest, math.ceil(period[i] * v["factor"]))
        move = pull * (x[i] - center)
        for k in range(min(period[i], run.steps[i] - done[i])):
            g = run.gradient(i, done[i], own[i].at(x[i]))
            x[i] = own[i].apply(x[i] - move if k == 0 else x[i], g)
            done[i] += 1
        center = center + move
    return x, center
