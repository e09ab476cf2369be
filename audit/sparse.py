"""Simulations of methods that send the largest elements of every chunk of a vector, with error feedback.

Each returns the evaluated weights and every worker's; all right-hand sides are old values. Sources: arXiv
2508.15706 (SparseLoCo), 2411.19870 (DeMo).
"""

from __future__ import annotations

import numpy as np

from audit.problem import Array
from audit.simulate import AdamW, Parameters, Seen, Step
from audit.together import Finals


def rounded(y: Array, p: Parameters) -> Array:
    """Q(y): of every chunk the k largest elements; with 2 bits the mean of |y| above, or not above, their mean."""
    out = np.zeros_like(y)
    for first in range(0, y.size, p["chunk"]):
        last = min(first + p["chunk"], y.size)
        kept = sorted(range(first, last), key=lambda n: (-abs(y[n]), n))[: p["kept"]]
        if p["bits"] == 32:
            out[kept] = y[kept]
            continue
        mean = sum(abs(y[n]) for n in kept) / len(kept)
        for group in ([n for n in kept if abs(y[n]) > mean], [n for n in kept if abs(y[n]) <= mean]):
            for n in group:
                out[n] = np.copysign(sum(abs(y[k]) for k in group) / len(group), y[n])
    return out


def sparseloco(seen: Seen, p: Parameters) -> Finals:
    """H steps on x_i;  y_i = b e_i + c - x_i,  e_i' = y_i - Q(y_i),  c' = c - outer_lr mean Q(y_i),  x_i' = c'."""
    workers, c = range(seen.workers), seen.start
    xs, errors = [c for _ in workers], [np.zeros_like(c) for _ in workers]
    steps = [AdamW(p) if p["optimizer"] == "adamw" else Step(p) for _ in workers]
    for t in range(seen.rounds):
        for i, step in enumerate(steps):
            g = seen.gradient(i, step.at(xs[i]))
            xs[i] = step.stepped(xs[i], g) if isinstance(step, AdamW) else xs[i] + step.move(g)
        if (t + 1) % p["period"] == 0:
            wanted = [p["feedback"] * errors[i] + c - xs[i] for i in workers]
            sent = [rounded(y, p) for y in wanted]
            errors = [y - q for y, q in zip(wanted, sent, strict=True)]
            c = c - p["outer_lr"] * np.mean(sent, axis=0)
            xs = [c for _ in workers]
    return c, xs


def cosines(size: int, chunk: int) -> Array:
    """Return the orthogonal matrix, |W| by |W|, of the cosine transform of every chunk."""
    matrix = np.zeros((size, size))
    for first in range(0, size, chunk):
        n = min(chunk, size - first)
        k, at = np.arange(n)[:, None], np.arange(n)[None] + 0.5
        scale = np.where(k == 0, 1 / n, 2 / n) ** 0.5
        matrix[first : first + n, first : first + n] = scale * np.cos(np.pi * k * at / n)
    return matrix


def demo(seen: Seen, p: Parameters) -> Finals:
    """m_i' = b m_i + g_i(x) - T' q_i,  q_i = Q(T (b m_i + g_i)),  x' = x - lr sign(T' sum_i q_i)."""
    x, transform = seen.start, cosines(seen.start.size, p["chunk"])
    moments = [np.zeros_like(x) for _ in range(seen.workers)]
    for _ in range(seen.rounds):
        moments = [p["decay"] * m + seen.gradient(i, x) for i, m in enumerate(moments)]
        sent = [transform.T @ rounded(transform @ m, p) for m in moments]
        moments = [m - q for m, q in zip(moments, sent, strict=True)]
        x = x - p["lr"] * np.sign(np.sum(sent, axis=0))
    return x, [x] * seen.workers
