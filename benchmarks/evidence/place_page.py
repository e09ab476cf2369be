"""The page of one place: how soon each method met the target, and where its time went."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from benchmarks.evidence import spread
from benchmarks.evidence.conditions import (
    BATCH,
    EVERY,
    MAX_SECONDS,
    ORIGINAL,
    PLACES,
    SPRING,
    Matrix,
)
from benchmarks.evidence.network_table import network
from benchmarks.evidence.run_tables import categories, every_rate, shares
from benchmarks.evidence.view import STAR, Best, View
from benchmarks.evidence.wording import (
    COMMANDS,
    beside,
    count_at,
    incomplete,
    machines,
    seconds,
    table,
    title_of,
)

TABLE_COLUMNS = (
    "method",
    "rate",
    "seeds",
    "reached",
    "time_median",
    "time_least",
    "time_most",
    "times_sooner_than_original",
    "exposed_median",
    "exposed_least",
    "exposed_most",
    "milliseconds_per_step",
    "keys",
)


def page(view: View, place: str, make: str) -> Iterable[str]:
    """Yield the lines of a page."""
    matrix, note = view.matrix, view.note(place)
    runs = [run for run in view.runs if run.place == place and run.kind == "target"]
    goal = f"{matrix.target:.1%}"
    yield f"# MNIST-LeNet to {goal}: {title_of(place)}"
    yield ""
    yield from incomplete(*count_at(view, place))
    if note:
        yield f"**{note[0].upper()}{note[1:]}.** {_meaning(place, note)}"
        yield ""
    yield from _conditions(matrix, place)
    yield ""
    figures = (("accuracy", "Accuracy over time"), ("time", f"Time to {goal}"), ("steps", "Time of a step"))
    for name, alt in figures if runs else ():
        yield f"![{alt}{beside(note)}](figures/{place}-{name}.svg)"
        yield ""
    yield f"## Time to {goal}{beside(note)}"
    yield ""
    yield from _times(view, place, goal)
    yield ""
    yield f"## Where the time goes{beside(note)}"
    yield ""
    yield from shares(view, place)
    yield ""
    if runs:
        yield f"## The same in the paper's categories{beside(note)}"
        yield ""
        yield from categories(view, place)
        yield ""
    yield f"## Every learning rate{beside(note)}"
    yield ""
    yield from every_rate(view, place, goal)
    yield ""
    if any(network(view, place)):
        yield "## The network"
        yield ""
        yield from network(view, place)
    yield "## How"
    yield ""
    yield from machines(view, runs)
    yield COMMANDS.format(make=make) + f" This page's first table: [CSV]({place}.csv)."


def rows(view: View, place: str) -> Iterable[dict[str, object]]:
    """Yield the lines of the page's first table as plain data; bounds begin with > or <."""
    original = view.at_best(place, ORIGINAL.label)
    for label in view.matrix.at(place):
        best = view.best(place, label)
        if best is None:
            continue
        times, sooner = spread.times(best.seeds), spread.times_faster(original, best.runs)
        exposed = spread.of(run.communication_fraction for run in best.seeds)
        took = [run.seconds_per_step for run in best.seeds if run.seconds_per_step]
        yield {
            "method": label,
            "rate": best.rate,
            "seeds": len(best.runs),
            "reached": sum(run.time_to_target is not None for run in best.seeds),
            **{f"time_{name}": _plain(times, name) for name in ("median", "least", "most")},
            "times_sooner_than_original": _plain(sooner, "median"),
            **{f"exposed_{name}": _plain(exposed, name) for name in ("median", "least", "most")},
            "milliseconds_per_step": f"{1e3 * median(took):.5g}" if took else "",
            "keys": " ".join(run.key for run in best.seeds),
        }


def _plain(found: spread.Spread | None, name: str) -> str:
    if found is None:
        return ""
    figure: spread.Figure = getattr(found, name)
    return f"{figure.side.replace('=', '')}{figure.value:.5g}"


def _meaning(place: str, note: str) -> str:
    if PLACES[place].world == "virtual":
        return "Weights and accuracies are computed for real, times are those of a model of network and processor."
    if note.startswith("oversubscribed"):
        return (
            "Computation is slower for every method alike, and what is waited for may be a core as well as the "
            "network: compare methods with each other, not with a real cluster."
        )
    return f"{STAR} with its server one rank more than there are cores: oversubscribed."


def _conditions(matrix: Matrix, place: str) -> Iterable[str]:
    limit = f", Hooke's after {MAX_SECONDS:.0f} s at the latest" if PLACES[place].world == "lab" else ""
    rates = ", ".join(f"{rate:g}" for rate in matrix.rates)
    yield (
        f"Batch {BATCH} per worker; a run ends at the target or after {matrix.samples:,} samples"
        f"{limit}; evaluated every {EVERY:,} samples, off the clock, so that a time to target "
        f"is known to that grain. Learning rates {rates} for every method, times (1 - mu) with momentum mu, times "
        "2 / P (at most 1) where workers push into one model without averaging. The best rate is that of the "
        "first seed; all are shown below. Median [least, most] of the seeds; ≥ marks a run that did not meet the "
        "target, and how long it had not, ∞ one that diverged. "
        f"Elastic methods: beta = {SPRING['beta']}. Exactly: `benchmarks/evidence/conditions.py`."
    )
    if PLACES[place].world == "lab":
        yield ""
        yield (
            f"Methods and peers compute in {matrix.precision} unless a label says otherwise. A server has no host "
            "of its own: it shares that of worker 0, whose messages then do not cross a link, which is to the "
            "advantage of the methods that have one."
        )


def _times(view: View, place: str, goal: str) -> Iterable[str]:
    original = view.at_best(place, ORIGINAL.label)
    header = (
        "method",
        f"time to {goal}, {seconds(place)}",
        "reached",
        "samples to it",
        "best accuracy",
        "rate",
        f"times sooner than {ORIGINAL.label}",
    )
    lines = []
    for label in view.matrix.at(place):
        best = view.best(place, label)
        if best is None:
            lines.append((label, "not measured", "", "", "", "", ""))
            continue
        times, sooner = spread.times(best.seeds), spread.times_faster(original, best.runs)
        reached = [run for run in best.seeds if run.time_to_target is not None]
        samples = spread.of(run.samples_to_target for run in reached)
        accuracy = spread.of(run.best_accuracy for run in best.seeds)
        lines.append(
            (
                view.marked(place, label),
                _diverged(best) or (times.text(".1f") if times else ""),
                f"{len(reached)} of {len(best.runs)}",
                samples.text(",.0f") if samples else "",
                accuracy.text(".2%") if accuracy else "",
                _rate(best, view.matrix),
                sooner.text(".2f") if sooner and label != ORIGINAL.label else "",
            )
        )
    yield from table(header, lines)


def _diverged(best: Best) -> str:
    return "failed" if all(run.state == spread.DIVERGED for run in best.seeds) else ""


def _rate(best: Best, matrix: Matrix) -> str:
    told = [f"{best.rate:g}"]
    if best.grid < len(matrix.rates):
        told.append(f"{best.grid} of {len(matrix.rates)} tried")
    elif best.edge:
        told.append("edge of the grid")
    return ", ".join(told)
