"""Constants from all-reduces that were measured among gradients, which correct those of single operations."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from typing import Any

import numpy as np

from hooke.calibration.documents import Calibration, ComputeRate, Curve, Exchanging
from hooke.calibration.fitting import occupied
from hooke.calibration.paths import critical
from hooke.spec.measured import Operation, OperationCost

_SUMS: tuple[Operation, ...] = ("tree", "halving", "ring", "gather")
_MOST_SIGMA = 2.0


def among_gradients(
    calibration: Calibration, rate: ComputeRate, operations: Mapping[Operation, OperationCost]
) -> dict[str, Any]:
    """Return constants that replace those of single operations; none if nothing was measured among gradients.

    All collectives are scaled so that the one by halving of all weights takes what was measured, and those in the
    background likewise; accesses to a window so that a lock-free step does. A message of all weights takes what
    messages of about its size were measured to take; where ranks share cores, what one among
    gradients does.
    """
    found = rate.exchanging
    halving, behind = operations.get("halving"), operations.get("background")
    if found is None or halving is None:
        return {}
    constants: dict[str, Any] = {}
    scaled: dict[Operation, OperationCost] = {}
    if calibration.oversubscribed:
        spread = drift(found, calibration.workers)
        wait = spread * greatest(calibration.workers)
        seconds = max(0.0, found.added.seconds - wait)
        relative = spread / found.alone.seconds if found.alone.seconds else 0.0
        constants["compute_jitter"] = min(_MOST_SIGMA, math.sqrt(math.log1p(relative**2)))
    else:
        wait, seconds = found.wait, found.last.seconds
        constants["compute_seconds_after_exchange"] = max(0.0, found.after.seconds - found.alone.seconds)
    size = 4 * rate.elements
    factors = dict.fromkeys(_SUMS, seconds / _priced(halving, calibration.workers, size))
    if behind is not None:
        own = _priced(behind, calibration.workers, size)
        taken, later = _behind(found, seconds, wait, constants.get("compute_seconds_after_exchange", 0.0))
        factors["background"] = taken / own
        scaled["behind"] = _scaled(behind, later / own)
    if (window := operations.get("window")) is not None:
        access = occupied(found.alone.seconds, found.accessed.seconds, calibration.workers)
        usual = window.seconds_per_message + size * window.seconds_per_byte
        factors["window"] = access / max(1e-9, usual + window.seconds_per_message / 2)  # half of the counter's
    constants |= _message(calibration.curve("message"), size)
    if calibration.oversubscribed and found.shifted is not None:
        waiting = drift(found, calibration.workers) * among_neighbours(calibration.workers)
        constants |= _shifted(calibration, found.shifted.seconds - waiting, size)
    scaled |= {name: _scaled(cost, factors.get(name, 1.0)) for name, cost in operations.items()}
    constants["operations"] = scaled
    return constants


def _behind(found: Exchanging, seconds: float, wait: float, after: float) -> tuple[float, float]:
    """Return what an all-reduce in the background takes from the computation, and what it ends later, in s.

    What it adds to several gradients, which hide all of it, it takes from them. What it adds to one gradient is
    more if it ends after that; virtual time waits for it, but at most for `seconds`, the time of a blocking one.
    `after`: what a gradient takes longer after an exchange in any case.
    """
    alone = found.alone.seconds
    if found.hidden is None:  # an earlier version's: all that is longer than the gradient was waited for
        return max(0.0, found.behind.seconds - wait - max(0.0, seconds - alone)), 0.0
    taken = max(0.0, found.hidden.seconds - after)
    more = found.behind.seconds - max(after + taken, seconds - alone)
    return taken, max(0.0, alone + found.behind.seconds - seconds) if more > 0 else 0.0


def _message(curve: Curve | None, size: int) -> dict[str, float]:
    """Return the seconds per byte with which a message of all weights takes what was measured, between two sizes.

    One line through all sizes may be far from it: links and their buffers treat short and long ones differently.
    """
    points = sorted({p.bytes: p.seconds for p in curve.points if p.seconds > 0}.items()) if curve else []
    if curve is None or curve.line is None or not points or not points[0][0] < size <= points[-1][0]:
        return {}
    sizes, seconds = np.log(np.array(points)).T
    measured = math.exp(float(np.interp(math.log(size), sizes, seconds)))
    return {"seconds_per_byte": max(0.0, (measured - curve.line.alpha) / size)}


def _shifted(calibration: Calibration, seconds: float, size: int) -> dict[str, float]:
    """Return the seconds per byte with which a message of all weights takes `seconds`."""
    message = calibration.curve("message")
    if message is None or message.line is None:
        return {}
    return {"seconds_per_byte": max(0.0, (seconds - message.line.alpha) / size)}


def drift(found: Exchanging, ranks: int) -> float:
    """Return the standard deviation of a rank's gradient, s, that explains why late all-reduces take longer.

    Differences of gradients add up: after n of them the last rank is behind the mean by sqrt(n) times as much as
    after one, greatest(ranks) standard deviations of one.
    """
    behind = max(0.0, found.late.seconds - found.added.seconds) / (math.sqrt(found.period) - 1)
    return min(behind, found.added.seconds) / greatest(ranks)


def greatest(ranks: int) -> float:
    """Return the expectation of the greatest of independent standard normal numbers."""
    normal = statistics.NormalDist()
    levels = (np.arange(4096) + 0.5) / 4096
    return float(np.mean([normal.inv_cdf(level ** (1 / ranks)) for level in levels]))


def among_neighbours(ranks: int, steps: int = 4000) -> float:
    """Return by how much a step exceeds its mean where ranks of a ring wait for both neighbours after each.

    In standard deviations of a step, whose durations are normal and independent. Simulated: the end of a step,
    max(x_i-1, x_i, x_i+1) where x_i is the time at which rank i is ready, has no closed form beyond 3 ranks, for
    which the result is `greatest(ranks)`.
    """
    random = np.random.Generator(np.random.PCG64(1))
    times = np.zeros(ranks)
    for more in random.standard_normal((steps, ranks)):
        times += more
        times = np.maximum(times, np.maximum(np.roll(times, 1), np.roll(times, -1)))
    return float(times.mean()) / steps


def _priced(cost: OperationCost, ranks: int, size: int) -> float:
    """Return the seconds of an all-reduce by halving."""
    messages, path = critical("all-reduce", "halving", ranks, size)
    return max(1e-9, messages * cost.seconds_per_message + path * cost.seconds_per_byte)


def _scaled(cost: OperationCost, factor: float) -> OperationCost:
    return OperationCost(
        seconds_per_message=min(10.0, factor * cost.seconds_per_message),
        seconds_per_byte=min(1.0, factor * cost.seconds_per_byte),
    )
