"""Streaming DiLoCo (arXiv 2501.18512): DiLoCo on fragments of the weights, with late outer steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.engine.reference.observed import End, Observed


def borders(sizes: Sequence[int], count: int) -> list[int]:
    """Return where the fragments begin and end: at the ends of layers nearest to k / count of all weights."""
    ends = np.array([0, *np.cumsum(sizes)])
    return [int(ends[np.argmin(np.abs(ends - k * ends[-1] / count))]) for k in range(count + 1)]


def streaming_diloco(run: Observed) -> End:
    """Per fragment: D = c - mean x when it is sent, and an outer Nesterov step when it arrives."""
    v, mu = run.values, run.values["outer_momentum"]
    x = [run.start.copy() for _ in range(run.workers)]
    own = run.own()
    c, m = run.start.copy(), np.zeros_like(run.start)
    cuts = borders([int(np.prod(shape)) for shape in run.shapes], v["fragments"])
    first = [k * run.period // v["fragments"] or run.period for k in range(v["fragments"])]
    sent = {}
    for t in range(run.steps[0]):
        for i, s in enumerate(own):
            x[i] = s.apply(x[i], run.gradient(i, t, s.at(x[i])))
        for k, (start, stop) in enumerate(zip(cuts, cuts[1:], strict=False)):
            if t + 1 >= first[k] and (t + 1 - first[k]) % run.period == 0:
                sent[k, t + v["delay"]] = c[start:stop] - np.mean([w[start:stop] for w in x], axis=0)
            if (k, t) in sent:
                outward = sent.pop((k, t))
                m[start:stop] = mu * m[start:stop] + outward
                c[start:stop] -= v["outer_lr"] * (outward + mu * m[start:stop])
                for w in x:
                    w[start:stop] = v["mixing"] * w[start:stop] + (1 - v["mixing"]) * c[start:stop]
    return x, c
