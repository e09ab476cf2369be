"""The page of one place: each method's time to the target, and the parts of this time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from benchmarks.evidence import spread
from benchmarks.evidence.conditions import BATCH, EVERY, MAX_SECONDS, PLACES, SPRING
from benchmarks.evidence.matrix import Matrix
from benchmarks.evidence.network_table import network
from benchmarks.evidence.records import SIMULATED, Run
from benchmarks.evidence.run_tables import categories, every_rate, shares
from benchmarks.evidence.search import FIRST, HIGHEST, LOWEST, Search, rate_of
from benchmarks.evidence.settings import MEANING, settings_of
from benchmarks.evidence.view import STAR, View
from benchmarks.evidence.wording import COMMANDS, beside, incomplete, machines, seconds, table, title_of

TABLE_COLUMNS = (
    "method",
    "simulated",
    "rate",
    "seeds",
    "reached",
    "time_median",
    "time_least",
    "time_most",
    "exposed_median",
    "exposed_least",
    "exposed_most",
    "milliseconds_per_step",
    "keys",
)


def page(view: View, place: str, make: str) -> Iterable[str]:
    """Yield the lines of a page."""
    matrix, note = view.matrix, view.note(place)
    runs = [run for run in view.runs if run.place == place and run.kind != "pace"]
    goal = f"{matrix.target:.0%}"
    yield f"# MNIST-LeNet to {goal}: {title_of(place)}"
    yield ""
    yield from incomplete(view)
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
    yield MEANING
    yield ""
    yield from _times(view, place, goal)
    yield ""
    yield f"## Parts of the time{beside(note)}"
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
    for label in view.matrix.at(place):
        best, runs = view.search(place, label).best, _runs(view, place, label)
        if best is None or not runs:
            continue
        times, exposed = spread.times(runs), spread.of(run.communication_fraction for run in runs)
        took = [run.seconds_per_step for run in runs if run.seconds_per_step]
        yield {
            "method": label,
            SIMULATED: PLACES[place].world == "virtual",
            "rate": rate_of(best),
            "seeds": len(runs),
            "reached": sum(run.time_to_target is not None for run in runs),
            **{f"time_{name}": _plain(times, name) for name in ("median", "least", "most")},
            **{f"exposed_{name}": _plain(exposed, name) for name in ("median", "least", "most")},
            "milliseconds_per_step": f"{1e3 * median(took):.5g}" if took else "",
            "keys": " ".join(run.key for run in runs),
        }


def _runs(view: View, place: str, label: str) -> list[Run]:
    runs = view.reported(place, label)
    return [runs[seed] for seed in sorted(runs)]


def _plain(found: spread.Spread | None, name: str) -> str:
    if found is None:
        return ""
    figure: spread.Figure = getattr(found, name)
    return f"{figure.side.replace('=', '')}{figure.value:.5g}"


def _meaning(place: str, note: str) -> str:
    if PLACES[place].world == "virtual":
        return "Weights and accuracies are computed; times are those of a model of network and processor."
    if note.startswith("oversubscribed"):
        return (
            "Computation is equally slower for every method, and a rank may wait for a core as well as for the "
            "network: compare methods with each other, not with a real cluster."
        )
    return f"{STAR} oversubscribed: with its server it has one rank more than there are cores."


def _conditions(matrix: Matrix, place: str) -> Iterable[str]:
    limit = f", or {MAX_SECONDS:.0f} s of wall time" if PLACES[place].world == "lab" else ""
    yield (
        f"Batch {BATCH} per worker; a run ends at the target or after {matrix.samples:,} samples{limit}; scored "
        f"on the validation part every {EVERY:,} samples, while the train clock stands. Learning rates are "
        f"{FIRST:g} times 2 to the power of k, k from {LOWEST} to {HIGHEST}, times (1 - mu) with momentum mu, "
        "times 1 / (P tau) if P workers push the sums of tau steps into one model without averaging. The search "
        "continues until both neighbours of the best rate have been tried, with a seed that is in no result; the "
        "reported seeds run at the best rate. Median [least, most] of the seeds; ≥ marks the time of a run that "
        "did not meet the target, *never* a run that diverged: the rate at which the tuning seed did not diverge "
        "was too large for it, and a smaller one was not tried with it. Elastic methods: beta = "
        f"{SPRING['beta']}. All conditions: `benchmarks/evidence/conditions.py`."
    )
    if PLACES[place].world == "lab":
        yield ""
        yield (
            f"Methods and peers compute in {matrix.precision} unless a label says otherwise. A server runs on the "
            "host of worker 0, so that their messages do not cross a link. This is an advantage of methods with a "
            "server."
        )


def _times(view: View, place: str, goal: str) -> Iterable[str]:
    header = (
        "method",
        f"time to {goal}, {seconds(place)}",
        "reached",
        "samples to the target",
        "test accuracy at the end",
        "rate",
        "settings",
    )
    lines = []
    for label in view.matrix.at(place):
        runs, state = _runs(view, place, label), view.search(place, label)
        if not runs:
            lines.append((label, "not measured", "", "", "", _rate(state), ""))
            continue
        times = spread.times(runs)
        reached = [run for run in runs if run.time_to_target is not None]
        samples = spread.of(run.samples_to_target for run in reached)
        accuracy = spread.of(run.test_accuracy for run in runs)
        lines.append(
            (
                view.marked(place, label),
                _diverged(runs) or (times.text(".1f") if times else ""),
                f"{len(reached)} of {len(runs)}",
                samples.text(",.0f") if samples else "",
                accuracy.text(".2%") if accuracy else "",
                _rate(state),
                settings_of(view, place, label),
            )
        )
    yield from table(header, lines)


def _diverged(runs: Sequence[Run]) -> str:
    return "failed" if all(run.diverged == "yes" for run in runs) else ""


def _rate(state: Search) -> str:
    if state.best is None:
        return ""
    told = [f"{rate_of(state.best):g}"]
    if not state.over:
        told.append(f"of {len(state.tried)} tried so far")
    elif state.at_edge:
        told.append("edge of the grid")
    return ", ".join(told)
