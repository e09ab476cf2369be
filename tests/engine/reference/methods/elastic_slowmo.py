"""Elastic SlowMo (docs/decisions/0036): a pull to a center that moves with momentum, some steps late."""

from __future__ import annotations

import numpy as np

from tests.engine.reference.observed import End, Observed


def elastic_slowmo(run: Observed) -> End:
    """Weights are kept when they are sent; what a worker does until the average arrives is added."""
    v = run.values
    x = [run.start.copy() for _ in range(run.workers)]
    own = run.own()
    c, last, sent = run.start.copy(), np.zeros_like(run.start), {}
    for done in range(1, run.steps[0] + 1):
        x = [s.apply(w, run.gradient(i, done - 1, s.at(w))) for i, (w, s) in enumerate(zip(x, own, strict=True))]
        if done % run.period == 0:
            sent[done + v["delay"]] = [w.copy() for w in x]
        if done in sent:
            then = sent.pop(done)
            last = v["slow_momentum"] * last + np.mean(then, axis=0) - c
            c = c + v["slow_lr"] * last
            x = [w - s + (1 - v["pull"]) * s + v["pull"] * c for w, s in zip(x, then, strict=True)]
    return x, c
