"""Hogbatch in float64, from the order in which the server was observed to serve its workers."""

import math

import numpy as np

from tests.engine.reference.observed import End, Observed


def adaptive(run: Observed) -> End:
    """Return the center; a worker's last request is its farewell, and its last grant what is left of its steps."""
    v, workers = run.values, run.workers
    low, high = v["smallest_of"] or [v["smallest"]], v["largest_of"] or [v["largest"]]
    center = run.start.astype(np.float64).copy()
    at = [center] * workers
    size = [v["sizes"][i % len(v["sizes"])] for i in range(workers)]
    count, done, granted = [0] * workers, [0] * workers, [0] * workers
    for i in run.served:
        if granted[i]:
            update = sum(run.gradient(i, done[i] + k, at[i]) for k in range(granted[i]))
            update = update / granted[i] * granted[i] ** v["rate_exponent"]  # of the mean gradient
            done[i] += granted[i]
            center = (at[i] if v["merging"] == "overwrite" else center) - v["lr"] * update
            count[i] += 1
            others = [count[j] for j in range(workers) if j != i]
            if others and count[i] < min(others):
                size[i] = max(low[i % len(low)], math.floor(size[i] / v["alpha"]))
            elif others and count[i] > max(others):
                size[i] = min(high[i % len(high)], math.ceil(size[i] * v["alpha"]))
        at[i] = center
        granted[i] = min(size[i], run.steps[i] - done[i])
    return [], center
