"""How the figures of claims are read off the runs."""

from __future__ import annotations

from benchmarks.evidence.claim import Measure
from benchmarks.evidence.conditions import OFF, PLACES, Method, seldom
from benchmarks.evidence.records import Run
from benchmarks.evidence.spread import Spread, of, times_faster
from benchmarks.evidence.view import View


def faster(base: str, other: str) -> Measure:
    """Return how many times sooner `other` meets the target than `base`, both at their best rates."""
    return lambda view, place: times_faster(view.at_best(place, base), view.at_best(place, other))


def faster_at_best_period(base: Method, other: Method) -> Measure:
    """Return how many times sooner `other` meets the target than `base`, both at their best rates and periods.

    Nothing as long as one of the four has not been run: it might be the better one.
    """
    periods = [(method.label, seldom(method).label) for method in (base, other)]

    def measure(view: View, place: str) -> Spread | None:
        if not all(view.at_best(place, label) for labels in periods for label in labels):
            return None
        slow, fast = (view.at_best(place, view.better(place, *labels)) for labels in periods)
        return times_faster(slow, fast)

    return measure


def exposed(label: str) -> Measure:
    """Return the share of a worker's time that it is blocked in communication."""

    def measure(view: View, place: str) -> Spread | None:
        runs = view.at_best(place, label).values()
        return of((run.communication_fraction for run in runs), (run.key for run in runs))

    return measure


def of_limit(label: str) -> Measure:
    """Return the throughput over that of max(compute alone, an all-reduce of the weights at wire speed)."""

    def measure(view: View, place: str) -> Spread | None:
        runs, alone = view.paces.get((place, label), {}), view.paces.get((place, OFF), {})
        found, keys = [], list[str]()
        for repeat in sorted(runs.keys() & alone.keys()):
            limit, took = step_limit(view, alone[repeat]), runs[repeat].seconds_per_step
            if limit and took:
                found.append(limit / took)
                keys += [runs[repeat].key, alone[repeat].key]
        return of(found, keys)

    return measure


def wire_limit(view: View, run: Run, collective: str = "any") -> float | None:
    """Return seconds of an all-reduce of the weights at wire speed, where the run was; `any`: by any schedule."""
    calibration = view.evidence.sessions.get(run.session, {}).get("calibrations", {}).get(run.place)
    return calibration["collectives"]["limits"].get(collective) if calibration else None


def step_limit(view: View, alone: Run) -> float | None:
    """Return seconds of a step that nothing could beat: computing, or the wire, whichever takes longer."""
    wire, compute = wire_limit(view, alone), alone.seconds_per_step
    if compute is None or (wire is None and PLACES[alone.place].hosts > 1):
        return None
    return max(compute, wire or 0.0)


def paces(above: str, below: str) -> Measure:
    """Return the quotient of two throughputs, repeat by repeat."""
    return lambda view, place: view.over(place, above, below)
