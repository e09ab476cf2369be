"""Two tables of a place's page: the parts of a step, and every run at every learning rate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hooke.trace.phases import PHASES, Phase

from benchmarks.breakdown import breakdown, markdown
from benchmarks.evidence import spread
from benchmarks.evidence.conditions import PLACES
from benchmarks.evidence.methods import METHODS, Method
from benchmarks.evidence.records import Run
from benchmarks.evidence.search import LADDER, rate_of
from benchmarks.evidence.view import View
from benchmarks.evidence.wording import seconds, table

SHOWN = tuple(phase for phase in PHASES if phase is not Phase.REBUILD)
"""Phases of the runs of these pages, none of which builds hash tables."""


def shares(view: View, place: str) -> Iterable[str]:
    """Yield the parts of a step of each method, at its best rate."""
    unit = seconds(place, "m")
    header = (
        "method",
        f"step, {unit}",
        "steps/s",
        f"computing, {unit}",
        f"exposed comm., {unit}",
        f"hidden comm., {unit}",
        "exposed share",
        "MB per step, links",
        "MB per step, Hooke's counter",
        "processor, s per 1,000 steps",
    )
    yield (
        "The same runs. Means over workers and steps, without evaluation. Exposed: blocked in communication; the "
        "share refers to the time without evaluation. Peers do not report hidden communication. Links: all hosts, "
        "with the headers of every segment, start and evaluations. Processor: all processes, with evaluations."
    )
    yield ""
    lines = []
    for label in view.matrix.at(place):
        runs = view.reported(place, label)
        seeds = [runs[n] for n in sorted(runs) if runs[n].steps and runs[n].compute is not None]
        if not seeds:
            lines.append((label, "failed" if runs else "not measured", *[""] * (len(header) - 2)))
            continue
        exposed = spread.of(run.communication_fraction for run in seeds)
        lines.append(
            (
                view.marked(place, label),
                _per_step(seeds, "train_seconds", 1e3, ".1f"),
                _told([1 / run.seconds_per_step for run in seeds if run.seconds_per_step], ".1f"),
                _per_step(seeds, "compute", 1e3, ".1f"),
                _per_step(seeds, "communicate", 1e3, ".1f"),
                "" if METHODS[label].peer else _per_step(seeds, "hidden_seconds", 1e3, ".1f"),
                exposed.text(".1%") if exposed else "",
                _per_step(seeds, "link_wire_bytes", 1e-6, ".2f"),
                _per_step(seeds, "wire_bytes", 1e-6, ".2f"),
                _per_step(seeds, "cpu_seconds", 1e3, ".0f"),
            )
        )
    yield from table(header, lines)


def _per_step(runs: Sequence[Run], name: str, factor: float, form: str) -> str:
    values = [(getattr(run, name), run.steps) for run in runs]
    return _told([factor * value / steps for value, steps in values if value is not None and steps], form)


def _told(values: Sequence[float], form: str) -> str:
    found = spread.of(values)
    return found.text(form) if found else ""


def categories(view: View, place: str) -> Iterable[str]:
    """Yield the times of the same runs in the paper's categories."""
    results = [
        {
            "label": label,
            "phases": {} if run.compute is None else {str(phase): getattr(run, str(phase)) for phase in SHOWN},
            "servers": run.servers,
            "server_phases": {"update": run.server_update} if run.server_update is not None else None,
            "hidden_seconds": run.hidden_seconds,
            "simulated": PLACES[place].world == "virtual",
            "oversubscribed": run.oversubscribed == "yes",
        }
        for label in view.matrix.at(place)
        for run in view.reported(place, label).values()
    ]
    yield markdown(breakdown(results, lambda result: str(result["label"])))


def every_rate(view: View, place: str, goal: str) -> Iterable[str]:
    """Yield every run to the target: those for the selection of rates, and the reported ones."""
    yield (
        f"Runs for the selection of rates: seconds to {goal}, or the best validation accuracy and the duration of "
        "the run. None of them is in a result."
    )
    yield ""
    labels = [label for label in view.matrix.at(place) if not METHODS[label].tuned_as]
    tried = sorted({k for label in labels for k in view.tuning(place, label)} & set(LADDER))
    lines = []
    for label in labels:
        runs = view.tuning(place, label)
        told = (_one(runs[k]) if k in runs else "not run" for k in tried)
        lines.append((f"{label}{_factor(METHODS[label], place)}", *told))
    yield from table(("method", *(f"{rate_of(k):g}" for k in tried)), lines)
    yield ""
    yield "Reported runs, by seed."
    yield ""
    lines = []
    for label in view.matrix.at(place):
        found = view.reported(place, label)
        taken = METHODS[label].tuned_as
        best = view.search(place, label).best
        rate = "" if best is None else f"{rate_of(best):g}{f', of {taken}' if taken else ''}"
        lines.append((view.marked(place, label), rate, ", ".join(_one(found[seed]) for seed in sorted(found))))
    yield from table(("method", "rate", "runs"), lines)


def _factor(method: Method, place: str) -> str:
    scale = method.scale(PLACES[place].hosts)
    return "" if scale == 1 else f" (times {scale:g})"


def _one(run: Run) -> str:
    if run.time_to_target is not None:
        return f"{run.time_to_target:.1f} s"
    if run.diverged == "yes":
        return "failed"
    return f"{run.best_accuracy or 0:.2%} in {run.train_seconds or 0:.0f} s"
