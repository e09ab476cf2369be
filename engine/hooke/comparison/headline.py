"""The answer of a comparison in a line for each place: who is fastest, and from whom that is not told apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hooke.comparison.fastest import FREE, Fastest
from hooke.comparison.report import Report, Row
from hooke.comparison.verdict import LEAST_PAIRS
from hooke.comparison.wording import count, estimate, figure

MOST_UNCLAIMED = 2
"""Variants without a claim that are named."""


def headlines(found: Report, baseline: str, targeted: bool, ended: bool) -> list[str]:
    """Return a line for each cluster and number of workers.

    `targeted`: there is a target; `ended`: no run will follow, also of places where runs were cancelled.
    """
    places: dict[tuple[str, int], list[Row]] = {}
    for row in found.rows:
        places.setdefault((row.first.cluster, row.first.workers), []).append(row)
    named = Counter(cluster for cluster, _ in places)
    lines = []
    for ((cluster, workers), rows), best in zip(places.items(), found.fastest, strict=True):
        place = cluster if named[cluster] == 1 else f"{cluster} ({count(workers, 'worker')})"
        place += ", simulated" if rows[0].first.simulated else ""
        going = not ended and any(row.finished + row.failed < row.runs for row in rows)
        on = f" so far on {place}" if going else f" on {place}"
        lines.append(_line(rows, best, baseline, on, going) if targeted else f"No target: final figures{on}")
    return lines


def _line(rows: Sequence[Row], best: Fastest | None, baseline: str, on: str, going: bool) -> str:
    verdict = next((row.verdict for row in rows if best is not None and row.first.variant == best.variant), None)
    if best is None or verdict is None:
        return _nothing_yet(rows, baseline, on)
    of = f", as the best of {best.among}" if best.among > FREE else ""
    apart = f", not separated from {_listed(best.unseparated)}" if best.unseparated else ""
    apart += "" if going else _unclaimed(rows)
    if best.variant == baseline:
        return f"Fastest{on}: {baseline}, the baseline{apart}"
    if verdict.claim == "faster" and verdict.ratio is not None:
        return f"Fastest{on}: {best.variant}, {figure(verdict.ratio)}× ({_ends(best)}{of}){apart}"
    if verdict.claim == "at least" and best.low is not None:
        return f"Fastest{on}: {best.variant}, at least {figure(best.low)}×{f' ({of[2:]})' if of else ''}{apart}"
    ratio = "" if verdict.ratio is None else f" {estimate(verdict.ratio)}×"
    return f"Inconclusive{on}: {best.variant}{ratio} ({_ends(best)}{of}, {count(verdict.pairs, 'seed')})"


def _unclaimed(rows: Sequence[Row]) -> str:
    """Return of which variants nothing is claimed, as where their tuning was not that of the others."""
    names = [row.first.variant for row in rows if row.verdict.claim == "no claim"]
    if len(names) > MOST_UNCLAIMED:
        return f", no claim on {len(names)} others"
    return f", no claim on {_listed(names)}" if names else ""


def _nothing_yet(rows: Sequence[Row], baseline: str, on: str) -> str:
    others = [row for row in rows if row.verdict.claim != "baseline"]
    if len(others) == len(rows):
        return f"No verdict{on}: {baseline}, the baseline, did not run here"
    if not others:
        return f"No verdict{on}: nothing to compare with {baseline}"
    pairs = max(row.verdict.pairs for row in others)
    if pairs < LEAST_PAIRS:
        return f"No verdict{on}: needs {LEAST_PAIRS} finished seed pairs, has {pairs}"
    return f"No verdict{on}: see each variant"


def _ends(best: Fastest) -> str:
    low, high = best.low, best.high
    if low is None and high is None:
        return "no interval"
    if high is None or low is None:
        return f"from {figure(low)}" if low is not None else f"up to {figure(high or 0.0)}"
    return f"{figure(low)} to {figure(high)}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
