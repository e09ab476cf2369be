"""Closed forms on f = SUM h/2 (x - b)^2: what the methods must do, without running any of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def consensus(x: Array, c: Array) -> Array:
    """P4: without gradients, everything goes to (SUM x_i + c) / (P + 1). `x` is (P, n)."""
    return np.asarray((x.sum(axis=0) + c) / (len(x) + 1))


def contraction(a: float, workers: int) -> float:
    """P4: the factor by which a synchronous round shrinks the distance to consensus."""
    return max(abs(1 - a), abs(1 - (workers + 1) * a))


def sync_quadratic(x: Array, c: Array, h: float, eta: float, a: float, rounds: int) -> tuple[Array, Array]:
    """P6: Sync EASGD, tau = 1, on f = h x^2 / 2 after `rounds`: the workers (P, n) and the center.

    Mean and center follow the powers of [[1 - eta h - a, a], [P a, 1 - P a]], deviations from the mean
    shrink by 1 - eta h - a.
    """
    workers = len(x)
    mean = x.mean(axis=0)
    one_round = np.array([[1 - eta * h - a, a], [workers * a, 1 - workers * a]])
    mean_t, c_t = np.linalg.matrix_power(one_round, rounds) @ np.stack([mean, c])
    return mean_t + (1 - eta * h - a) ** rounds * (x - mean), c_t


def sync_quadratic_period(
    x: Array, c: Array, h: float, eta: float, a: float, period: int, periods: int
) -> tuple[Array, Array]:
    """P6 with tau > 1, exchanging at t = 0: each period is one round, then tau - 1 local contractions."""
    for _ in range(periods):
        x, c = sync_quadratic(x, c, h, eta, a, 1)
        x = (1 - eta * h) ** (period - 1) * x
    return x, c


def frozen_round_robin(x: Array, c: Array, a: float) -> Array:
    """P10: the center after one sweep of round-robin exchanges with workers that do not move."""
    workers = len(x)
    weights = np.array([(1 - a) ** (workers - 1 - i) for i in range(workers)])
    return np.asarray((1 - a) ** workers * c + a * weights @ x)


def frozen_sync(x: Array, c: Array, a: float) -> Array:
    """P10: the center after one synchronous exchange with workers that do not move."""
    return np.asarray((1 - len(x) * a) * c + a * x.sum(axis=0))


def fixed_point(h: Array, b: Array, rho: float) -> tuple[Array, Array]:
    """P15: where Sync EASGD rests on worker objectives h_i / 2 (x - b_i)^2; `h`, `b` are (P, n)."""
    weight = h * rho / (h + rho)
    c = (weight * b).sum(axis=0) / weight.sum(axis=0)
    return (h * b + rho * c) / (h + rho), c


def minimum(h: Array, b: Array) -> Array:
    """Return argmin SUM f_i, which the fixed point misses unless all h_i are equal."""
    return np.asarray((h * b).sum(axis=0) / h.sum(axis=0))


def sync_edge(eta_h: float, workers: int) -> float:
    """P16: Sync EASGD on f = h x^2 / 2 is stable for a below this (and |1 - eta h - a| < 1)."""
    return min((4 - 2 * eta_h) / (2 * (workers + 1) - eta_h * workers), 2 - eta_h)


def single_edge(eta_h: float) -> float:
    """P16: the exact edge of any elastic method with one worker, and a sufficient one for round robin."""
    return (4 - 2 * eta_h) / (4 - eta_h)
