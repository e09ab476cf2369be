"""The limit of the wire: the least possible time of a step, and the throughput of methods relative to it."""

from __future__ import annotations

from benchmarks.evidence.conditions import PLACES
from benchmarks.evidence.paces import OFF
from benchmarks.evidence.records import Run
from benchmarks.evidence.spread import Spread, of
from benchmarks.evidence.view import View

LIMITED = ("Sync EASGD3", "Sync EASGD3, halving", "Sync EASGD3, halving, pipelined")


def of_limit(view: View, place: str, label: str) -> Spread | None:
    """Return the throughput over that of max(compute alone, an all-reduce of the weights at wire speed)."""
    runs, alone = view.repeats(place, label), view.repeats(place, OFF)
    found, keys = [], list[str]()
    for repeat in sorted(runs.keys() & alone.keys()):
        limit, took = step_limit(view, alone[repeat]), runs[repeat].seconds_per_step
        if limit and took:
            found.append(limit / took)
            keys += [runs[repeat].key, alone[repeat].key]
    return of(found, keys)


def wire_limit(view: View, run: Run, collective: str = "any") -> float | None:
    """Return seconds of an all-reduce of the weights at wire speed at the run's place; `any`: any schedule."""
    calibration = view.evidence.sessions.get(run.session, {}).get("calibrations", {}).get(run.place)
    return calibration["collectives"]["limits"].get(collective) if calibration else None


def step_limit(view: View, alone: Run) -> float | None:
    """Return the least possible seconds of a step: the longer of computing and the wire."""
    wire, compute = wire_limit(view, alone), alone.seconds_per_step
    if compute is None or (wire is None and PLACES[alone.place].hosts > 1):
        return None
    return max(compute, wire or 0.0)
