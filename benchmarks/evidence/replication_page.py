"""The page of the replication: statements of the paper on its methods, and measurements of the same methods."""

from __future__ import annotations

from collections.abc import Iterable

from hooke.comparison.intervals import interval

from benchmarks.evidence import finding_table, spread
from benchmarks.evidence.conditions import COSTS, PARTS, SLOWER, Place
from benchmarks.evidence.finding_table import RULE, ratios
from benchmarks.evidence.paces import RUNGS, chip, rung
from benchmarks.evidence.replication import CHIP_SECONDS, EXPOSED, found
from benchmarks.evidence.view import View
from benchmarks.evidence.wording import COMMANDS, beside, incomplete, machines, table, title_of

SERIAL, ORDERED, FIRST, SECOND, THIRD = (rung(method) for method in RUNGS)


def page(view: View, make: str) -> Iterable[str]:
    """Yield the lines of the page."""
    groups = found(view)
    yield "# Replication: the paper's methods as published"
    yield ""
    yield from incomplete(view)
    yield (
        "*Scaling deep learning on GPU and Knights Landing clusters* (SC17, arXiv 1708.02983), MNIST and LeNet: "
        "plain steps of SGD, an exchange in every step, trees, fp32 on the wire. *Abstract*: according to its "
        "abstract; *account*: according to a detailed account of its text, not checked against the paper. Figures "
        "of the paper are only given for its own methods. "
        f"Target: {view.matrix.target:.0%} validation accuracy. {RULE}"
    )
    yield ""
    yield "## The ladder"
    yield ""
    yield (
        "Time to the target. The weights of Sync EASGD1, 2 and 3 are bitwise equal: they use the same rate and "
        "the same number of samples, so that their ratio is that of the time of a step."
    )
    yield ""
    yield from ratios(view, groups["ladder"], paper=True)
    yield ""
    yield from _steps(view)
    yield ""
    yield "## Exposed communication"
    yield ""
    yield from _exposed(view)
    yield ""
    yield "## Why it differs: the cost of copies to devices"
    yield ""
    yield from _why(view)
    yield ""
    yield "## Asynchronous pairs"
    yield ""
    yield "Time to the target. The paper exchanges in every step (period 1) and does not mention longer periods."
    yield ""
    yield from ratios(view, groups["asynchronous"], paper=True)
    yield ""
    yield "## Packing, and weak scaling"
    yield ""
    yield (
        "Samples per second over a fixed number of steps. The paper's 91.5% are time on one node over time on "
        "N nodes, each with its own processors; 4,253 cores is as printed, 64 nodes of 68 cores are 4,352."
    )
    yield ""
    yield from ratios(view, groups["system"], paper=True)
    yield ""
    yield "## A many-core chip in parts"
    yield ""
    yield from _chip(view)
    yield ""
    yield "## How"
    yield ""
    yield from machines(view, view.runs)
    yield COMMANDS.format(make=make) + " This page's ratios: [CSV](replication.csv)."


def rows(view: View) -> Iterable[dict[str, object]]:
    """Yield every ratio of the page as plain data."""
    return finding_table.plain(view, [finding for group in found(view).values() for finding in group])


def _steps(view: View) -> Iterable[str]:
    """Yield the time of a step of the ladder's methods, in the runs of the times above."""
    labels, lines = [method.label for method in RUNGS[1:]], []
    for place in view.matrix.places:
        for label in labels:
            runs = [run for run in view.reported(place, label).values() if run.seconds_per_step]
            if runs:
                took = spread.of(1e3 * (run.seconds_per_step or 0.0) for run in runs)
                share = spread.of(run.communication_fraction for run in runs)
                samples = spread.of(run.samples_to_target for run in runs)
                where = f"{title_of(place)}{beside(view.note(place))}"
                figures = ((took, ".1f"), (share, ".0%"), (samples, ",.0f"))
                cells = (figure.text(form) if figure else "" for figure, form in figures)
                lines.append((where, view.marked(place, label), *cells, str(len(runs))))
    if lines:
        yield "The same runs, per step: median [least, most] of the seeds."
        yield ""
        yield from table(("where", "method", "step, ms", "exposed", "samples to the target", "seeds"), lines)


def _exposed(view: View) -> Iterable[str]:
    """Yield the share of a worker's time blocked in communication, with that of the abstract."""
    yield "Share of a worker's time blocked in communication, without evaluations; mean and 95% t interval."
    yield ""
    lines = []
    for label, paper in EXPOSED.items():
        for place in view.matrix.places:
            runs = view.reported(place, label).values()
            shares = [run.communication_fraction for run in runs if run.communication_fraction is not None]
            mean = interval(shares)
            told = "not measured" if mean.mean is None else f"{mean.mean:.1%}, n = {mean.n}"
            placed = ""
            if mean.mean is not None and mean.low is not None and mean.high is not None:
                told = f"{mean.mean:.1%} [{max(mean.low, 0):.1%}, {min(mean.high, 1):.1%}], n = {mean.n}"
                side = "above" if mean.low > paper else "below" if mean.high < paper else "includes"
                placed = f"{side} {paper:.0%}" if mean.n >= 3 else ""
            lines.append(
                (label, f"{paper:.0%} (abstract)", title_of(place) + beside(view.note(place)), told, placed)
            )
    yield from table(("method", "paper", "where", "measured", "beside it"), lines)


def _why(view: View) -> Iterable[str]:
    yield (
        "In the paper the center of Original EASGD and Sync EASGD1 is in the host's memory, and every exchange "
        "with it is a copy between a device and the host; for EASGD2 and 3 the center is on a device. Between "
        "our hosts such a copy is a message like any other. Below, two costs are raised one at a time: that of a "
        "link between workers, and that of a byte between a worker and the host with the center. Throughputs "
        "of a fixed number of steps, eight workers in virtual time (**simulated**), and two emulated hosts on "
        "slower links; median [least, most] of the repeats. Original EASGD, serial, is exactly the paper's "
        "listing: one worker computes at a time; the ladder above starts with the ordered variant, in which all "
        "compute at the same time."
    )
    yield ""
    header = (
        "cost",
        "EASGD1 / Original",
        "EASGD2 / 1",
        "EASGD3 / 2",
        "EASGD3 / Original",
        "EASGD3 / Original, serial",
        "exposed, Original",
        "exposed, EASGD3",
    )
    paper = (
        "**paper** (account; EASGD3 / Original and shares: abstract)",
        "3.7",
        "1.3",
        "1.1",
        "5.3",
        "",
        "87%",
        "14%",
    )
    yield from table(header, (paper, *(_cost(view, place) for place in (*COSTS, *SLOWER))))


def _cost(view: View, place: Place) -> tuple[str, ...]:
    pairs = ((FIRST, ORDERED), (SECOND, FIRST), (THIRD, SECOND), (THIRD, ORDERED), (THIRD, SERIAL))
    told = [spread.quotient(view.repeats(place.name, a), view.repeats(place.name, b)) for a, b in pairs]
    shares = [
        spread.of(run.communication_fraction for run in view.repeats(place.name, label).values())
        for label in (ORDERED, THIRD)
    ]
    name = f"{place.title}{beside(view.note(place.name))}"
    if not any(told):
        return (name, *["not measured"] * len(told), "", "")
    ratios_told = (found.text(".2f") if found else "" for found in told)
    return (name, *ratios_told, *(found.text(".0%") if found else "" for found in shares))


def _chip(view: View) -> Iterable[str]:
    yield (
        "AlexNet on CIFAR-10, G ranks on this machine's cores, each with a copy of weights and data; gradients "
        "are averaged in every step (`chip-easgd`). The paper gives the time of one chip of 68 cores to an "
        "accuracy of 0.625 (account). Here only the **throughput** of a few steps is measured: the cores are "
        "the same few for every G, so more parts than cores cannot be faster."
    )
    yield ""
    alone, lines = view.repeats(PARTS[0].name, chip(1)), []
    for place in PARTS:
        runs = view.repeats(place.name, chip(place.hosts))
        rate = spread.of(run.throughput for run in runs.values())
        over = spread.quotient(runs, alone)
        paper = f"{CHIP_SECONDS[place.hosts]:,} s, {CHIP_SECONDS[1] / CHIP_SECONDS[place.hosts]:.2f}x"
        lines.append(
            (
                str(place.hosts),
                paper,
                rate.text(",.0f") if rate else "not measured",
                over.text(".2f", "x") if over else "",
                str(len(runs)),
                view.note(place.name),
            )
        )
    header = ("parts (G)", "paper: time to 0.625, over one part", "samples/s", "over one part", "repeats", "")
    yield from table(header, lines)
