"""Simulations of synchronous methods, from their equations; each returns the center and every worker's weights.

All right-hand sides are old values. Sources: arXiv 1708.02983 (Sync SGD, Sync EASGD, chips), 1901.02244 (SMA),
1805.09767 and 1808.07217 (Local SGD), 1910.00643 (SlowMo), 2002.09539 (Overlap Local SGD), 2401.16265 (CO2),
2311.08105 (DiLoCo), 2501.18512 (Streaming DiLoCo), 1905.13727 (PowerSGD), 2102.02888 (1-bit Adam), 1811.03619
(Pipe-SGD); OpenReview stFPf3gzq1 (SPARTA).
"""

from __future__ import annotations

import numpy as np

from audit import problem
from audit.problem import Array
from audit.simulate import AdamW, Parameters, Seen, Step, rate
from audit.torchlike import normal

Finals = tuple[Array, list[Array]]


def sync_sgd(seen: Seen, p: Parameters) -> Finals:
    """x' = x - lr mean_i g_i(x), or the sum; with momentum v' = mu v - lr mean_i g_i, x' = x + v'."""
    x, step = seen.start, Step(p)
    for _ in range(seen.rounds):
        g = np.sum([seen.gradient(i, step.at(x)) for i in range(seen.workers)], axis=0)
        x = x + step.move(g / (seen.workers if p["reduction"] == "mean" else 1))
    return x, [x] * seen.workers


def pipe_sgd(seen: Seen, p: Parameters) -> Finals:
    """x_t+1 = x_t - lr mean_i g_i(x_t-d), where the first d means are 0; momentum as in Sync SGD.

    With a prediction the point of a gradient is where momentum alone leads in d steps more.
    """
    x, step, late = seen.start, Step(p), [np.zeros_like(seen.start)] * p["delay"]
    for _ in range(seen.rounds):
        at, v = step.at(x), step.v * (step.ahead or 1.0)
        for _ in range(p["delay"] if p["predict"] == "momentum" else 0):
            v = step.mu * v
            at = at + v
        late = [*late, np.mean([seen.gradient(i, at) for i in range(seen.workers)], axis=0)]
        x, late = x + step.move(late[0]), late[1:]
    return x, [x] * seen.workers


def delayed_gradient_averaging(seen: Seen, p: Parameters) -> Finals:
    """u_i = -lr g_i,  v_i = mu v_i + s u_i,  x_i = x_i + v_i;  d steps later the mean of u in place of s u_i."""
    workers, mu, d, s = range(seen.workers), p["momentum"], p["delay"], p["share"]
    xs, vs, sent = [seen.start for _ in workers], [np.zeros_like(seen.start) for _ in workers], []
    ahead = mu if p["momentum_kind"] == "nesterov" else 0.0
    for t in range(seen.rounds):
        sent.append([-p["lr"] * seen.gradient(i, xs[i] + ahead * vs[i]) for i in workers])
        vs = [mu * v + s * u for v, u in zip(vs, sent[t], strict=True)]
        xs = [x + v for x, v in zip(xs, vs, strict=True)]
        if t >= d:
            missing = [np.mean(sent[t - d], axis=0) - s * u for u in sent[t - d]]
            xs = [x + sum(mu**k for k in range(d + 1)) * e for x, e in zip(xs, missing, strict=True)]
            vs = [v + mu**d * e for v, e in zip(vs, missing, strict=True)]
    return np.mean(xs, axis=0), xs


def sync_easgd(seen: Seen, p: Parameters, mu: float = 0.0) -> Finals:
    """x_i' = x_i - lr g_i - a (x_i - c),  c' = c + a sum_i (x_i - c) + mu (c - c_before), every tau steps."""
    workers, a = range(seen.workers), rate(p, seen.workers)
    c, xs, steps = seen.start, [seen.start for _ in workers], [Step(p) for _ in workers]
    moved = np.zeros_like(c)
    for t in range(seen.rounds):
        moves = [step.move(seen.gradient(i, step.at(xs[i]))) for i, step in enumerate(steps)]
        pulls = [a * (x - c) * (t % p["period"] == 0) for x in xs]
        if t % p["period"] == 0:
            moved = np.sum(pulls, axis=0) + mu * moved
            c = c + moved
        xs = [x + move - pull for x, move, pull in zip(xs, moves, pulls, strict=True)]
    return c, xs


def sma(seen: Seen, p: Parameters) -> Finals:
    """Sync EASGD with momentum mu of the center."""
    return sync_easgd(seen, p, p["center_momentum"])


def chip_easgd(seen: Seen, p: Parameters) -> Finals:
    """x_k' = x_k - lr (mean_j g_kj + rho (x_k - c)) on chip k of G parts,  c' = c + a sum_k (x_k - c)."""
    parts = p["parts"]
    chips = range(seen.workers // parts)
    a, c = rate(p, len(chips)), seen.start
    xs, steps = [seen.start for _ in chips], [Step(p) for _ in chips]
    for t in range(seen.rounds):
        old, sum_of_pulls = c, np.zeros_like(c)
        for k in chips:
            g = [seen.gradient(k * parts + j, steps[k].at(xs[k])) for j in range(parts)]
            pull = a * (xs[k] - old) * (t % p["period"] == 0)
            xs[k], sum_of_pulls = xs[k] + steps[k].move(np.mean(g, axis=0)) - pull, sum_of_pulls + pull
        c = old + sum_of_pulls
    return c, [xs[i // parts] for i in range(seen.workers)]


def local_sgd(seen: Seen, p: Parameters, switch: int = 0) -> Finals:
    """x_i' = x_i - lr g_i(x_i), and x_i = mean_j x_j after every H-th step; before step `switch`, Sync SGD."""
    workers = range(seen.workers)
    c, xs, steps = seen.start, [seen.start for _ in workers], [Step(p) for _ in workers]
    for t in range(seen.rounds):
        g = [seen.gradient(i, steps[i].at(xs[i])) for i in workers]
        if t < switch:
            g = [np.mean(g, axis=0)] * seen.workers
        xs = [xs[i] + steps[i].move(g[i]) for i in workers]
        if t < switch or (t + 1 - switch) % p["period"] == 0:
            c = np.mean(xs, axis=0)
            xs = [c] * seen.workers
    return c, xs


def overlap_local_sgd(seen: Seen, p: Parameters) -> Finals:
    """H times x_i' = x_i - lr g_i;  x_i' = x_i + a (z - x_i);  v' = beta v + mean_i x_i - z,  z' = z + v'."""
    workers = range(seen.workers)
    z, xs, steps = seen.start, [seen.start for _ in workers], [Step(p) for _ in workers]
    v = np.zeros_like(z)
    for t in range(1, seen.rounds + 1):
        xs = [xs[i] + steps[i].move(seen.gradient(i, steps[i].at(xs[i]))) for i in workers]
        if t % p["period"] == 0:
            xs = [x + p["pull"] * (z - x) for x in xs]
            v = p["anchor_momentum"] * v + np.mean(xs, axis=0) - z
            z = z + v
    return z, xs


def co2(seen: Seen, p: Parameters) -> Finals:
    """Round n: x_i = c_n, tau steps, D_n = c_n - mean x_i;  m = clip(beta m + D_n-1 / gap),  c_n+1 = c_n - a m."""
    workers, limit = range(seen.workers), np.inf if p["clip"] is None else p["clip"]
    c, steps = seen.start, [Step(p) for _ in workers]
    m, late, xs = np.zeros_like(c), None, [c for _ in workers]
    rounds = seen.rounds // p["period"]
    for n in range(rounds + 1):
        ahead = c
        if late is not None:
            m = np.clip(p["outer_momentum"] * m + late / p["gap"], -limit, limit)
            ahead = c - p["outer_lr"] * m
        xs = [c for _ in workers]
        for _ in range(p["period"] if n < rounds else seen.rounds % p["period"]):
            xs = [xs[i] + steps[i].move(seen.gradient(i, steps[i].at(xs[i]))) for i in workers]
        late, c = c - np.mean(xs, axis=0), ahead
    return c, xs


def post_local_sgd(seen: Seen, p: Parameters) -> Finals:
    """Sync SGD for t < t0, then Local SGD."""
    return local_sgd(seen, p, p["switch"])


def slowmo(seen: Seen, p: Parameters) -> Finals:
    """H times x_i' = x_i - lr g_i;  u' = beta u + (c - mean_i x_i) / lr,  c' = c - slow_lr lr u',  x_i = c'."""
    workers = range(seen.workers)
    c, xs, steps = seen.start, [seen.start for _ in workers], [Step(p) for _ in workers]
    u = np.zeros_like(c)
    for t in range(seen.rounds):
        xs = [xs[i] + steps[i].move(seen.gradient(i, steps[i].at(xs[i]))) for i in workers]
        if (t + 1) % p["period"] == 0:
            u = p["slow_momentum"] * u + (c - np.mean(xs, axis=0)) / p["lr"]
            c = c - p["slow_lr"] * p["lr"] * u
            xs = [c] * seen.workers
    return c, xs


def elastic_slowmo(seen: Seen, p: Parameters) -> Finals:
    """H steps, s_i = x_i, d steps;  u' = beta u + mean s_i - c, c' = c + slow_lr u', x_i' = x_i + a (c' - s_i)."""
    workers, period = range(seen.workers), p["period"]
    c, xs, steps = seen.start, [seen.start for _ in workers], [Step(p) for _ in workers]
    u, sent = np.zeros_like(c), xs
    for n in range(1, seen.rounds + 1):
        xs = [xs[i] + steps[i].move(seen.gradient(i, steps[i].at(xs[i]))) for i in workers]
        sent = xs if n % period == 0 else sent
        if n > p["delay"] and (n - p["delay"]) % period == 0:
            u = p["slow_momentum"] * u + np.mean(sent, axis=0) - c
            c = c + p["slow_lr"] * u
            xs = [x + p["pull"] * (c - s) for x, s in zip(xs, sent, strict=True)]
    return c, xs


def diloco(seen: Seen, p: Parameters) -> Finals:
    """H inner steps;  D = c - mean_i x_i,  m' = mu m + D,  c' = c - outer_lr (D + mu m'),  x_i = c'."""
    workers, mu = range(seen.workers), p["outer_momentum"]
    c, xs = seen.start, [seen.start for _ in workers]
    steps = [AdamW(p) if p["optimizer"] == "adamw" else Step(p) for _ in workers]
    m = np.zeros_like(c)
    for t in range(seen.rounds):
        for i, step in enumerate(steps):
            g = seen.gradient(i, step.at(xs[i]))
            xs[i] = step.stepped(xs[i], g) if isinstance(step, AdamW) else xs[i] + step.move(g)
        if (t + 1) % p["period"] == 0:
            outward = c - np.mean(xs, axis=0)
            m = mu * m + outward
            c = c - p["outer_lr"] * (outward + mu * m)
            xs = [c] * seen.workers
    return c, xs


def streaming_diloco(seen: Seen, p: Parameters) -> Finals:
    """Sent after s steps: D = c - mean x;  after s + d steps: the outer step of DiLoCo, x_i = a x_i + (1 - a) c.

    `phase` says of every element how many steps into a period its fragment is sent.
    """
    workers, mu, period = range(seen.workers), p["outer_momentum"], p["period"]
    ends = np.cumsum([0, *(np.prod(shape) for shape in problem.SHAPES)])
    nearest = [ends[np.abs(ends - k * problem.SIZE / p["fragments"]).argmin()] for k in range(p["fragments"])]
    fragment = np.searchsorted(nearest, np.arange(problem.SIZE), side="right") - 1
    phase = fragment * period // p["fragments"]
    c, xs, m, sent = seen.start, [seen.start for _ in workers], np.zeros(problem.SIZE), np.zeros(problem.SIZE)
    steps = [AdamW(p) if p["optimizer"] == "adamw" else Step(p) for _ in workers]
    for n in range(1, seen.rounds + 1):
        for i, step in enumerate(steps):
            g = seen.gradient(i, step.at(xs[i]))
            xs[i] = step.stepped(xs[i], g) if isinstance(step, AdamW) else xs[i] + step.move(g)
        sent = np.where(n % period == phase, c - np.mean(xs, axis=0), sent)
        arrived = ((n - p["delay"]) % period == phase) & (n > p["delay"])
        m = np.where(arrived, mu * m + sent, m)
        c = np.where(arrived, c - p["outer_lr"] * (sent + mu * m), c)
        xs = [np.where(arrived, p["mixing"] * x + (1 - p["mixing"]) * c, x) for x in xs]
    return c, xs


def sparta(seen: Seen, p: Parameters) -> Finals:
    """x_i' = x_i - lr g_i;  after every H-th step x_i[S] = mean_j x_j[S];  S: p |W| elements, drawn."""
    workers, size = range(seen.workers), max(1, round(p["fraction"] * problem.SIZE))
    xs, steps = [seen.start for _ in workers], [Step(p) for _ in workers]
    for t in range(seen.rounds):
        xs = [xs[i] + steps[i].move(seen.gradient(i, steps[i].at(xs[i]))) for i in workers]
        if (t + 1) % p["period"] == 0:
            generator = np.random.default_rng([seen.seed, t])
            drawn = generator.choice(problem.SIZE, size, replace=False, shuffle=False)
            xs = [np.where(np.isin(np.arange(problem.SIZE), drawn), np.mean(xs, axis=0), x) for x in xs]
    return np.mean(xs, axis=0), xs


def powersgd(seen: Seen, p: Parameters) -> Finals:
    """M_i = G_i + e_i,  L = orth(mean M_i Q),  Q' = mean M_i^T L,  M^ = L Q'^T,  e_i' = M_i - M^,  x' = x - lr M^.

    Vectors (biases) are not compressed. The initial Q is a seeded normal draw of PyTorch's generator.
    """
    x, step = seen.start, Step(p)
    errors = [np.zeros_like(x) for _ in range(seen.workers)]
    widths = [min(p["rank"], *shape) if len(shape) > 1 else 0 for shape in problem.SHAPES]
    sizes = [width * shape[-1] for width, shape in zip(widths, problem.SHAPES, strict=True)]
    draws = np.split(normal(sum(sizes), seen.seed), np.cumsum(sizes)[:-1])
    bases = [d.reshape(-1, w) if w else d for d, w in zip(draws, widths, strict=True)]
    for _ in range(seen.rounds):
        errors = [e + seen.gradient(i, step.at(x)) for i, e in enumerate(errors)]
        mean, approximation = problem.matrices(np.mean(errors, axis=0)), []
        for k, matrix in enumerate(mean):
            if not widths[k]:
                approximation.append(matrix)
                continue
            left = np.linalg.qr(matrix @ bases[k])[0]
            bases[k] = matrix.T @ left
            approximation.append((left @ bases[k].T).ravel())
        whole = np.concatenate(approximation)
        errors = [e - whole for e in errors]
        for k, bias in enumerate(problem.SHAPES):
            if len(bias) == 1:
                for e in errors:
                    problem.matrices(e)[k][:] = 0.0
        x = x + step.move(whole)
    return x, [x] * seen.workers


def onebit_adam(seen: Seen, p: Parameters) -> Finals:
    """Adam on mean g for T steps; then v stays, and m' = mean of C(m_i + e_i), m_i = b1 m + (1 - b1) g_i.

    C(y) has the signs of y and, in each block of 512 elements, the mean of |y|; e_i' is what C takes.
    """
    x, b1, b2 = seen.start, p["b1"], p["b2"]
    m, v = np.zeros_like(x), np.zeros_like(x)
    errors = [np.zeros_like(x) for _ in range(seen.workers)]
    blocks = np.arange(x.size) // 512
    for t in range(seen.rounds):
        g = [seen.gradient(i, x) for i in range(seen.workers)]
        if t < p["switch"]:
            mean = np.mean(g, axis=0)
            m, v = b1 * m + (1 - b1) * mean, b2 * v + (1 - b2) * mean * mean
        else:
            whole = [b1 * m + (1 - b1) * gradient + e for gradient, e in zip(g, errors, strict=True)]
            scales = [(np.bincount(blocks, np.abs(y)) / np.bincount(blocks))[blocks] for y in whole]
            sent = [np.copysign(s, y) for s, y in zip(scales, whole, strict=True)]
            errors = [y - q for y, q in zip(whole, sent, strict=True)]
            m = np.mean(sent, axis=0) * (v > 0)
        x = x - p["lr"] * m / (np.sqrt(v) + 1e-8)
    return x, [x] * seen.workers
