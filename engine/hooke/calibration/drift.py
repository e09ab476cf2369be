"""Differences between two calibrations, in words; the threshold follows from their uncertainties."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass

from hooke.calibration.documents import Calibration, Duration

FALSE_ALARMS = 0.05
"""Probability that two calibrations of an unchanged machine differ in any of their figures."""
_LEAST = 0.03
"""Relative standard error that every figure has at least: repeated calibrations differ by as much."""


@dataclass(frozen=True)
class Change:
    """A figure that differs by more than the uncertainties explain."""

    what: str
    before: float
    now: float
    threshold: float
    """Relative difference that the uncertainties explain."""

    @property
    def ratio(self) -> float:
        """Return now / before."""
        return self.now / self.before

    def told(self) -> str:
        """Return the change as a sentence."""
        return (
            f"{self.what} takes {self.ratio:.2f} times as long as before "
            f"(the uncertainties explain factors up to {math.exp(self.threshold):.2f})"
        )


def figures(calibration: Calibration) -> dict[str, Duration]:
    """Return what is compared, by name: every curve's largest and smallest point, gradients, start-up."""
    found = {}
    if calibration.start.samples > 1:  # a single one, as in a batch job, tells nothing of its spread
        found["start-up"] = calibration.start
    for curve in calibration.curves:
        ranks = max(p.ranks for p in curve.points)
        points = sorted((p for p in curve.points if p.ranks == ranks), key=lambda p: (p.bytes, p.pair or ()))
        for point in dict.fromkeys((points[0], points[-1])) if points else ():
            found[f"{curve.name} of {point.bytes:,} bytes"] = point
    for rate in calibration.compute:
        for each in rate.points:
            found[f"a gradient of {rate.workload} ({rate.precision}, batch {each.batch})"] = each
    return found


def drift(before: Calibration, now: Calibration) -> list[Change]:
    """Return the figures that differ, the largest change first.

    The logarithm of the ratio of two times has the standard error hypot(e1 / t1, e2 / t2). The threshold is its
    normal quantile with Bonferroni's correction, so that two calibrations of an unchanged machine show no
    difference with probability 1 - FALSE_ALARMS.
    """
    earlier, later = figures(before), figures(now)
    both = [name for name in later if name in earlier and earlier[name].seconds > 0 and later[name].seconds > 0]
    if not both:
        return []
    quantile = statistics.NormalDist().inv_cdf(1 - FALSE_ALARMS / (2 * len(both)))
    found = []
    for name in both:
        old, new = earlier[name], later[name]
        threshold = quantile * math.hypot(_relative(old), _relative(new))
        if abs(math.log(new.seconds / old.seconds)) > threshold:
            found.append(Change(name, old.seconds, new.seconds, threshold))
    return sorted(found, key=lambda change: -abs(math.log(change.ratio)))


def _relative(known: Duration) -> float:
    return max(_LEAST, known.error / known.seconds)


def told(before: Calibration, now: Calibration) -> list[str]:
    """Return the drift in sentences, the first one about what cannot be compared."""
    return [*_unlike(before, now), *_changes(before, now)]


def _unlike(before: Calibration, now: Calibration) -> Iterator[str]:
    for what in ("workers", "hosts", "cores"):
        old, new = getattr(before, what), getattr(now, what)
        if old != new:
            yield f"the number of {what} was {old} and is {new}: times need not be comparable"
    for name in sorted({*before.versions, *now.versions} | {"cpu"}):
        old, new = (c.hardware.get("cpu") if name == "cpu" else c.versions.get(name) for c in (before, now))
        if old != new:
            yield f"{name} was {old or 'not there'} and is {new or 'not there'}"
    for when, each in (("the earlier", before), ("this", now)):
        if each.shared:
            yield f"during {when} calibration other processes were running (load {each.load:.1f})"


def _changes(before: Calibration, now: Calibration) -> Iterator[str]:
    changes = drift(before, now)
    if not changes:
        yield f"no difference to the calibration of {before.at:%Y-%m-%d %H:%M} UTC beyond the uncertainties"
    for change in changes:
        yield change.told()
