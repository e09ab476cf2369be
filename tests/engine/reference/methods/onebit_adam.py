"""1-bit Adam (arXiv 2102.02888): Adam, then its momentum as signs with error feedback; v is kept."""

from __future__ import annotations

import numpy as np

from tests.engine.reference.descent import Array, clipped
from tests.engine.reference.observed import End, Observed


def signs(y: Array) -> Array:
    """The sign of each element (0 counts as positive) times the mean magnitude of its block of 512."""
    blocks = [y[start : start + 512] for start in range(0, y.size, 512)]
    return np.concatenate([np.where(b < 0, -1.0, 1.0) * np.mean(np.abs(b)) for b in blocks])


def onebit_adam(run: Observed) -> End:
    """Every worker has the same x, m and v."""
    p, x = run.values, run.start.copy()
    m, v = np.zeros_like(x), np.zeros_like(x)
    left = [np.zeros_like(x) for _ in range(run.workers)]
    for t in range(run.steps[0]):
        g = [run.gradient(i, t, x) for i in range(run.workers)]
        if t < p["switch"]:
            mean = clipped(np.mean(g, axis=0), p["clip_norm"])
            m = p["b1"] * m + (1 - p["b1"]) * mean
            v = p["b2"] * v + (1 - p["b2"]) * mean**2
        else:
            own = [clipped(g_i, p["clip_norm"]) for g_i in g]
            wanted = [p["b1"] * m + (1 - p["b1"]) * g_i + e for g_i, e in zip(own, left, strict=True)]
            sent = [signs(w) for w in wanted]
            left = [w - s for w, s in zip(wanted, sent, strict=True)]
            m = np.where(v > 0, np.mean(sent, axis=0), 0)
        eta = p["lr"] * run.factor(t)
        x = x - eta * p["weight_decay"] * x - eta * m / (np.sqrt(v) + 1e-8)
    return [x] * run.workers, x
