"""The page of runs with a fixed number of steps: one worker, weak scaling, and the limit of the wire."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from benchmarks.evidence import spread
from benchmarks.evidence.conditions import BATCH, PLACES, SCALING
from benchmarks.evidence.network_table import network
from benchmarks.evidence.paces import ALONE, OFF, PACES
from benchmarks.evidence.records import Run
from benchmarks.evidence.view import View
from benchmarks.evidence.wire import LIMITED, of_limit, wire_limit
from benchmarks.evidence.wording import COMMANDS, beside, incomplete, machines, table

PAIRS = (("Hooke, bf16", "plain PyTorch, bf16"), ("Hooke, fp32", "plain PyTorch, fp32"))


def page(view: View, make: str) -> Iterable[str]:
    """Yield the lines of the page."""
    runs = [run for run in view.runs if run.kind == "pace"]
    yield "# Pace: one worker, weak scaling, and the limit of the wire"
    yield ""
    yield from incomplete(view)
    yield (
        f"Runs of a fixed number of steps without a target: MNIST-LeNet, batch {BATCH} per worker. Median [least, "
        "most] of the repeats, which have different seeds. Compared runs follow each other, repeat by repeat, and "
        "quotients are formed within a repeat. Seconds are those of the train clock, without evaluations."
    )
    yield ""
    yield "## One worker"
    yield ""
    yield "No network, one core: Hooke's `sgd` and a plain PyTorch loop, with the same batches and model."
    yield ""
    yield from _one_worker(view)
    yield ""
    yield "## Weak scaling"
    yield ""
    yield (
        f"*{OFF}*: the same ranks compute at the same time and never exchange, which is the limit of the cores. "
        "Efficiency is throughput over this limit, with the same momentum. The paper's 91.5% are time on one node "
        "over time on N nodes, each with its own processors."
    )
    yield ""
    yield from _scaling(view)
    yield ""
    yield "## The limit of the wire"
    yield ""
    yield (
        "A step with an exchange of all fp32 weights takes at least the longer time of computing (communication "
        "off) and an all-reduce on links that are full in both directions: 2 (P - 1) / P |W| per link and "
        "direction, with TCP headers, without latency. *Own schedule*: the same for the collective used; a tree "
        "sends more."
    )
    yield ""
    yield from _limits(view)
    yield ""
    for place in SCALING:
        if any(network(view, place)):
            yield f"## The network: {PLACES[place].title}{beside(view.note(place))}"
            yield ""
            yield from network(view, place)
    yield "## How"
    yield ""
    yield from machines(view, runs)
    yield COMMANDS.format(make=make)


def _one_worker(view: View) -> Iterable[str]:
    lines = []
    for pair in PAIRS:
        first, second = (view.repeats("here", label) for label in pair)
        both = spread.quotient(first, second)
        for label, runs in zip(pair, (first, second), strict=True):
            if label not in view.matrix.paces:
                continue
            found = spread.of(run.throughput for run in runs.values())
            told = both.text(".3f", "x") if both and label == pair[0] else ""
            lines.append((label, found.text(",.0f") if found else "not measured", told, str(len(runs))))
    yield from table(("loop", "samples/s", "over plain PyTorch", "repeats"), lines)


def _scaling(view: View) -> Iterable[str]:
    lines = []
    for label in view.matrix.paces:
        for place in PACES[label].places:
            if place not in SCALING or not view.matrix.repeats(place, label):
                continue
            runs = view.repeats(place, label)
            found = spread.of(run.throughput for run in runs.values())
            share = spread.quotient(runs, view.repeats(place, PACES[label].off))
            lines.append(
                (
                    label,
                    str(PLACES[place].hosts),
                    found.text(",.0f") if found else "not measured",
                    share.text(".1%") if share and label not in ALONE else "",
                    str(len(runs)),
                    view.note(place),
                )
            )
    yield from table(("method", "hosts", "samples/s, all hosts", "efficiency", "repeats", ""), lines)


def _limits(view: View) -> Iterable[str]:
    lines = []
    for label in LIMITED:
        for place in PACES[label].places if label in view.matrix.paces else ():
            runs, alone = view.repeats(place, label), view.repeats(place, OFF)
            if not view.matrix.repeats(place, label) or PLACES[place].hosts == 1:
                continue
            took = spread.of(1e3 * run.seconds_per_step for run in runs.values() if run.seconds_per_step)
            compute = spread.of(1e3 * run.seconds_per_step for run in alone.values() if run.seconds_per_step)
            share = of_limit(view, place, label)
            collective = PACES[label].method.communication.get("collective", "tree")
            lines.append(
                (
                    label,
                    str(PLACES[place].hosts),
                    took.text(".1f") if took else "not measured",
                    compute.text(".1f") if compute else "",
                    _wire(view, runs, "any"),
                    _wire(view, runs, collective),
                    share.text(".0%") if share else "",
                    view.note(place),
                )
            )
    header = (
        "method",
        "hosts",
        "step, ms",
        "computing alone, ms",
        "wire, ms",
        "own schedule on the wire, ms",
        "of the limit",
        "",
    )
    yield from table(header, lines)


def _wire(view: View, runs: Mapping[int, Run], collective: str) -> str:
    limits = [wire_limit(view, run, collective) for run in runs.values()]
    return f"{1e3 * limits[0]:.1f}" if limits and limits[0] is not None else ""
