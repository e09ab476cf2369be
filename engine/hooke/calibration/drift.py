"""Differences between two calibrations, in words; the threshold follows from their uncertainties."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass

from hooke.calibration.documents import ROUNDS, Calibration, Curve, Duration
from hooke.comparison.intervals import t_quantile

FALSE_ALARMS = 0.05
"""Probability that two calibrations of an unchanged machine differ in any of their figures."""
_LEAST = 0.03
"""Relative standard error that every figure has at least: repeated calibrations differ by as much."""
_FACTS = ("host", "cpu", "cpu_generation", "kernel")
"""Facts of the hardware that are compared."""


@dataclass(frozen=True)
class Change:
    """A figure that differs by more than the uncertainties explain."""

    what: str
    before: float
    now: float
    threshold: float
    """Logarithm of the factor that the uncertainties explain."""

    @property
    def ratio(self) -> float:
        """Return now / before."""
        return self.now / self.before

    def told(self) -> str:
        """Return the change as a sentence."""
        explained = math.exp(self.threshold)
        return (
            f"{self.what} takes {self.ratio:.2f} times as long as before "
            f"(the uncertainties explain factors from {1 / explained:.2f} to {explained:.2f})"
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
            found[_name(curve, point.bytes)] = point
    for rate in calibration.compute:
        for each in rate.points:
            found[f"a gradient of {rate.workload} ({rate.precision}, batch {each.batch})"] = each
    return found


def _name(curve: Curve, size: int) -> str:
    return f"{curve.name} of {size:,} bytes"


def comparable(before: Calibration, now: Calibration) -> bool:
    """Return whether times of two calibrations mean the same: as many ranks and hosts, and cores shared or not."""
    return (before.workers, before.hosts, before.oversubscribed) == (now.workers, now.hosts, now.oversubscribed)


def drift(before: Calibration, now: Calibration) -> list[Change]:
    """Return the figures that differ, the largest change first; none if the two are not comparable.

    The logarithm of the ratio of two times has the standard error hypot(e1 / t1, e2 / t2). Each error is estimated
    from few rounds, so the threshold is a quantile of Student's t with the degrees of freedom of Welch and
    Satterthwaite; at least the normal quantile times that of the least errors. Bonferroni's correction keeps the
    probability that two calibrations of an unchanged machine show any difference below FALSE_ALARMS.
    """
    earlier, later = figures(before), figures(now)
    both = [name for name in later if name in earlier and earlier[name].seconds > 0 and later[name].seconds > 0]
    if not both or not comparable(before, now):
        return []
    found = []
    for name in both:
        old, new = earlier[name], later[name]
        threshold = _threshold(old.error / old.seconds, new.error / new.seconds, FALSE_ALARMS / len(both))
        if abs(math.log(new.seconds / old.seconds)) > threshold:
            found.append(Change(name, old.seconds, new.seconds, threshold))
    return sorted(found, key=lambda change: -abs(math.log(change.ratio)))


def _threshold(one: float, other: float, alarms: float) -> float:
    """Return the log-ratio that two relative standard errors explain but with probability `alarms`."""
    least = statistics.NormalDist().inv_cdf(1 - alarms / 2) * math.hypot(_LEAST, _LEAST)
    error = math.hypot(one, other)
    if error <= 0:
        return least
    degrees = (ROUNDS - 1) * error**4 / (one**4 + other**4)
    return max(least, t_quantile(degrees, 1 - alarms) * error)


def told(before: Calibration, now: Calibration) -> list[str]:
    """Return the drift in sentences, the first one about what cannot be compared."""
    return [*_unlike(before, now), *_changes(before, now)]


def _unlike(before: Calibration, now: Calibration) -> Iterator[str]:
    for what in ("workers", "hosts"):
        old, new = getattr(before, what), getattr(now, what)
        if old != new:
            yield f"the number of {what} was {old} and is {new}: times are not compared"
    if before.oversubscribed != now.oversubscribed:
        which = "the earlier" if before.oversubscribed else "this"
        yield f"ranks shared cores in {which} calibration only: times are not compared"
    if before.cores != now.cores:
        yield f"the number of cores was {before.cores} and is {now.cores}"
    for fact in _FACTS:
        yield from _differs(fact.replace("_", " "), before.hardware.get(fact), now.hardware.get(fact))
    for name in sorted({*before.versions, *now.versions}):
        yield from _differs(name, before.versions.get(name), now.versions.get(name))
    for when, each in (("the earlier", before), ("this", now)):
        if each.shared:
            yield f"during {when} calibration other processes were running (load {each.load:.1f})"


def _differs(name: str, old: object, new: object) -> Iterator[str]:
    if old != new:
        yield f"{name} was {old or 'not there'} and is {new or 'not there'}"


def _changes(before: Calibration, now: Calibration) -> Iterator[str]:
    if not comparable(before, now):
        return
    changes = drift(before, now)
    if not changes:
        yield f"no difference to the calibration of {before.at:%Y-%m-%d %H:%M} UTC beyond the uncertainties"
    for change in changes:
        yield change.told()
