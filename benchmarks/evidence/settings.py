"""Where the settings of a method come from: searched, as published, or one value that was not searched."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.evidence.claim import Claim
from benchmarks.evidence.methods import BEST, METHODS, Method
from benchmarks.evidence.view import View

SEARCHED = 40
"""Settings of BEST other than its rate that were tried by hand on this workload (docs/decisions/0019)."""
PUBLISHED = "as published"
DEFAULT = "default, not searched"
MEANING = (
    f"*Settings*: *{PUBLISHED}*: schedule, period and wire of the paper; *default* or *one value, not searched*: "
    "taken as it is; *rate: best of N*: N learning rates tried, by the same search for every method, on seeds "
    "that are in no result. All elastic methods have beta = 0.9, not searched."
)


def settings_of(view: View, place: str, label: str) -> str:
    """Return the origin of a method's settings at a place: `rate: best of 3; as published`."""
    return f"{_rate(view, place, label)}; {others(METHODS[label])}"


def others(method: Method) -> str:
    """Return the origin of a method's settings other than its rate."""
    if method.label.startswith(BEST.label):
        return f"{SEARCHED} settings searched" + ("" if method.label == BEST.label else ", less one means")
    if method.published:
        return PUBLISHED
    if replace(method, parameters={n: v for n, v in method.parameters.items() if n != "period"}).published:
        return f"period {method.period}, not searched; else {PUBLISHED}"
    plain = not method.momentum and method.parameters.keys() <= {"buckets"}
    return DEFAULT if method.peer and plain else "one value, not searched"


def of_claim(view: View, place: str, claim: Claim) -> str:
    """Return the origin of the settings of both sides of a claim: `rate: best of 4 | 3; as published`."""
    sides = (claim.variant, claim.baseline)
    tried = " | ".join("+".join(str(len(view.search(place, label).tried)) for label in side) for side in sides)
    told = [others(METHODS[side[0]]) for side in sides]
    both = told[0] if told[0] == told[1] else " | ".join(told)
    if len(claim.variant) > 1:
        both = f"better of {len(claim.variant)} periods"
    return f"Rate: best of {tried}; {both}"


def _rate(view: View, place: str, label: str) -> str:
    if view.matrix.fixed_rate:
        return "one rate, not searched"
    count, lender = len(view.search(place, label).tried), METHODS[label].tuned_as
    return f"rate: best of {count}{f' for {lender}' if lender else ''}"
