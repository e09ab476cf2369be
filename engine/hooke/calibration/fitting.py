"""Robust estimates of durations, weighted least squares with non-negative coefficients, parts of a variance."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np

from hooke.calibration.documents import Duration, Jitter, Line

_LEAST_ERROR = 0.02
"""Relative standard error that every point has at least in a fit: no line describes an operation more closely."""
_Z = 1.96
BLOCK = 16
"""Gradients over which slow jitter is assumed to stay the same."""


def estimate(rounds: Sequence[Sequence[float]]) -> Duration:
    """Return the median of the samples of all rounds with its standard error.

    The error is the larger one of two: within rounds, a quarter of the width of the 95% interval that order
    statistics give for a median, and between rounds, the standard error of the mean of their medians, which sees
    changes that are slower than a round.
    """
    samples = sorted(value for each in rounds for value in each)
    count = len(samples)
    reach = _Z * math.sqrt(count) / 2
    low = samples[max(0, math.floor((count - 1) / 2 - reach))]
    high = samples[min(count - 1, math.ceil((count - 1) / 2 + reach))]
    within = (high - low) / (2 * _Z)
    medians = [statistics.median(each) for each in rounds if each]
    between = statistics.stdev(medians) / math.sqrt(len(medians)) if len(medians) > 1 else 0.0
    return Duration(seconds=statistics.median(samples), error=max(within, between), samples=count)


def line(messages: Sequence[float], size: Sequence[float], points: Sequence[Duration]) -> Line | None:
    """Fit seconds = alpha x messages + beta x size to the points; None for fewer than two.

    Weighted least squares with the points' standard errors, at least 2% of their times. Where a coefficient would
    be negative it is 0 and the other one is fitted alone. The standard errors are widened by the square root of
    chi square per degree of freedom, if that is above 1: a line that fits badly is uncertain.
    """
    if len(points) < 2:
        return None
    measured = np.array([p.seconds for p in points])
    shortest = min((p.seconds for p in points if p.seconds > 0), default=1.0)  # the error of one that is 0
    errors = np.array([math.hypot(p.error, _LEAST_ERROR * p.seconds) or shortest for p in points])
    basis = np.column_stack([np.asarray(messages, float), np.asarray(size, float)])
    scale = np.maximum(np.abs(basis).max(axis=0), 1e-300)  # bytes and messages differ by orders of magnitude
    weighted, target = basis / scale / errors[:, None], measured / errors
    used = [0, 1]
    found, *_ = np.linalg.lstsq(weighted, target, rcond=None)
    if found.min() < 0:
        used = [int(np.argmax(found))]
        found, *_ = np.linalg.lstsq(weighted[:, used], target, rcond=None)
    fitted = weighted[:, used] @ found
    freedom = len(points) - len(used)
    chi = float(((target - fitted) ** 2).sum()) / freedom if freedom > 0 else 1.0
    # of both also where one is 0: that its estimate was negative does not make it known
    covariance = np.linalg.pinv(weighted.T @ weighted) * max(1.0, chi)
    values, deviations = np.zeros(2), np.sqrt(np.diag(covariance)) / scale
    values[used] = np.maximum(found, 0.0) / scale[used]
    misfit = np.median(np.abs(measured - fitted * errors) / np.maximum(measured, 1e-12))
    return Line(
        alpha=float(values[0]),
        alpha_error=float(deviations[0]),
        beta=float(values[1]),
        beta_error=float(deviations[1]),
        misfit=float(misfit),
    )


def jitter(times: Any, block: int = BLOCK) -> Jitter:
    """Return the parts of the jitter in `times`: seconds of gradients, shape (ranks, steps), steps side by side.

    An analysis of variance of the logarithms with two random effects, rank and block of `block` steps, and their
    interaction; negative estimates are 0. Logarithms further from the median of their rank than six median
    absolute deviations are moved there: a gradient during which the machine was asleep is not jitter. Raises
    ValueError with fewer than two blocks.
    """
    seconds = np.asarray(times, float)
    ranks, blocks = seconds.shape[0], seconds.shape[1] // block
    if blocks < 2:
        raise ValueError(f"{seconds.shape[1]} steps are fewer than two blocks of {block}")
    logs = _tamed(np.log(seconds[:, : blocks * block]))
    cells = logs.reshape(ranks, blocks, block)
    means = cells.mean(axis=2)
    whole = means.mean()
    within = ((cells - means[:, :, None]) ** 2).sum() / (ranks * blocks * (block - 1))
    by_rank, by_block = means.mean(axis=1), means.mean(axis=0)
    of_ranks = block * blocks * ((by_rank - whole) ** 2).sum() / max(1, ranks - 1)
    if ranks == 1:
        of_blocks = block * ((by_block - whole) ** 2).sum() / (blocks - 1)
        parts = (within, (of_blocks - within) / block, 0.0, 0.0)
    else:
        of_blocks = block * ranks * ((by_block - whole) ** 2).sum() / (blocks - 1)
        rest = means - by_rank[:, None] - by_block[None, :] + whole
        mixed = block * (rest**2).sum() / ((ranks - 1) * (blocks - 1))
        parts = (
            within,
            (mixed - within) / block,
            (of_blocks - mixed) / (block * ranks),
            (of_ranks - mixed) / (block * blocks),
        )
    independent, slow, common, between = (math.sqrt(max(0.0, float(part))) for part in parts)
    return Jitter(independent=independent, slow=slow, common=common, between_ranks=between, steps=block)


def _tamed(logs: Any) -> Any:
    middle = np.median(logs, axis=1, keepdims=True)
    reach = 6 * np.median(np.abs(logs - middle), axis=1, keepdims=True) + 1e-9
    return np.clip(logs, middle - reach, middle + reach)


def block_mean(times: Any, block: int = BLOCK) -> list[list[float]]:
    """Return the mean of each block of steps, in one list per rank: what `estimate` takes for a usual step."""
    seconds = np.asarray(times, float)
    blocks = max(1, seconds.shape[1] // block)
    cut = seconds[:, : blocks * (seconds.shape[1] // blocks)]
    found: list[list[float]] = cut.reshape(seconds.shape[0], blocks, -1).mean(axis=2).tolist()
    return found


def occupied(work: float, added: float, ranks: int) -> float:
    """Return the seconds p of an access; a read and an addition make a step of `work` seconds longer by `added`.

    Of `ranks` ranks each computes, reads and adds. In virtual time reads follow one another, and so do additions:
    a step takes work + 2 p as long as there is a gap between them, else ranks x p.
    """
    return min(added / 2, (work + added) / ranks)
