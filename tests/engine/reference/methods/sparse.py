"""SparseLoCo (arXiv 2508.15706) and DeMo (arXiv 2411.19870): largest elements of chunks, with error feedback."""

from __future__ import annotations

import numpy as np
from scipy.fft import dct, idct

from tests.engine.reference.descent import Array, clipped
from tests.engine.reference.observed import End, Observed


def chunks(x: Array, size: int) -> list[Array]:
    """Successive elements; the last chunk may be shorter."""
    return [x[start : start + size] for start in range(0, x.size, size)]


def sent(x: Array, kept: int, bits: int) -> Array:
    """Of one chunk: its largest elements (the first of equal ones), with 2 bits rounded to two levels."""
    chosen = np.argsort(-np.abs(x), kind="stable")[:kept]
    found = np.zeros_like(x)
    found[chosen] = x[chosen]
    if bits == 2:
        size = np.abs(x[chosen])
        high = size > size.mean()
        for group in (chosen[high], chosen[~high]):
            if group.size:
                found[group] = np.where(x[group] < 0, -1, 1) * np.abs(x[group]).mean()
    return found


def message(run: Observed, x: Array) -> Array:
    v = run.values
    return np.concatenate([sent(chunk, v["kept"], v["bits"]) for chunk in chunks(x, v["chunk"])])


def sparseloco(run: Observed) -> End:
    """After H inner steps the center moves by the mean of what is sent."""
    v, c, own = run.values, run.start.copy(), run.own()
    x, left = [c.copy() for _ in own], [np.zeros_like(c) for _ in own]
    for t in range(run.steps[0]):
        x = [s.apply(w, run.gradient(i, t, s.at(w))) for i, (w, s) in enumerate(zip(x, own, strict=True))]
        if (t + 1) % run.period == 0:
            wanted = [v["feedback"] * e + (c - w) for e, w in zip(left, x, strict=True)]
            messages = [message(run, y) for y in wanted]
            left = [y - q for y, q in zip(wanted, messages, strict=True)]
            c = c - v["outer_lr"] * np.mean(messages, axis=0)
            x = [c.copy() for _ in own]
    return x, c


def demo(run: Observed) -> End:
    """Every worker has the same x; its momentum is held in the domain of time."""
    v, x = run.values, run.start.copy()
    m = [np.zeros_like(x) for _ in range(run.workers)]

    def transformed(y: Array, transform) -> Array:
        return np.concatenate([transform(chunk, norm="ortho") for chunk in chunks(y, v["chunk"])])

    for t in range(run.steps[0]):
        eta = v["lr"] * run.factor(t)
        m = [v["decay"] * own + clipped(run.gradient(i, t, x), v["clip_norm"]) for i, own in enumerate(m)]
        messages = [message(run, transformed(own, dct)) for own in m]
        m = [own - transformed(q, idct) for own, q in zip(m, messages, strict=True)]
        x = (1 - eta * v["weight_decay"]) * x - eta * np.sign(transformed(np.sum(messages, axis=0), idct))
    return [x] * run.workers, x
