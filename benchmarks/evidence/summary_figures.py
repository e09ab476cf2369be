"""The figures of the summary: one for each question. Ratios have logarithmic axes; intervals are those of 95%."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from benchmarks.evidence import spread
from benchmarks.evidence.conditions import COSTS, PLACES, TARGET
from benchmarks.evidence.drawing import PALETTE, figure
from benchmarks.evidence.forest import WIDTH, Mark, Row, forest, key
from benchmarks.evidence.methods import EASGD1, EASGD2, EASGD3, ORIGINAL
from benchmarks.evidence.paces import rung
from benchmarks.evidence.pools import PooledFinding
from benchmarks.evidence.replication import EXPOSED, LADDER, SCALING
from benchmarks.evidence.settings import of_claim
from benchmarks.evidence.summary import Share, Summary
from benchmarks.evidence.wording import processor

MEASURED, PAPER, SIMULATED, POOLED = PALETTE[1], PALETTE[0], PALETTE[4], PALETTE[2]
COLORS = (PALETTE[1], PALETTE[3], PALETTE[4], PALETTE[5])
"""Of several machines, or places."""
SERIES = (*COLORS, PALETTE[2], PALETTE[7])
WHICH, COMMUNICATION, SCALE, PAPERS = "which-method", "communication", "scaling", "replication"
LADDER_OF = {
    claim.what: (upper, lower)
    for claim, (upper, lower) in zip(
        LADDER, ((EASGD1, ORIGINAL), (EASGD2, EASGD1), (EASGD3, EASGD2), (EASGD3, ORIGINAL)), strict=True
    )
}


def draw(summary: Summary, folder: Path) -> list[Path]:
    """Draw the figures that have data; return their files."""
    made: dict[str, Callable[[Summary, Path], bool]] = {
        WHICH: which, COMMUNICATION: communication, SCALE: scaling, PAPERS: papers,
    }  # fmt: skip
    return [path for name, one in made.items() if one(summary, path := folder / f"{name}.svg")]


def which(summary: Summary, path: Path) -> bool:
    """Draw the ratios behind "which method", with the origin of their settings; return whether there are any."""
    rows = [_ratio(summary, f, _settings(summary, f)) for f in summary.which if f.measured]
    title = f"Time to {TARGET:.0%} validation accuracy: the second method's over the first one's"
    axis = "ratio of times; above 1: the first method needs less time"
    return _drawn(path, (title, _machines(summary)), axis, rows, _legend(summary))


def papers(summary: Summary, path: Path) -> bool:
    """Draw the paper's figures on its own methods, what was measured here, and what simulated costs give."""
    found = [f for f in summary.stated if f.measured and (f.claim.paper and f.claim.judged)]
    rows = []
    for finding in found:
        paper, told = finding.claim.paper, _ratio(summary, finding, "")
        marks = [*told.marks, *_simulated(summary, finding)]
        if paper and paper.figure:
            marks.append(Mark(paper.figure, paper.figure, paper.figure, PAPER, "D"))
        remark = f"paper: {paper}; {_short(summary, finding)}"
        rows.append(Row(told.name, remark, marks, told.told))
    legend = [
        *_legend(summary),
        key("D", PAPER, "paper, on its machines"),
        key("s", SIMULATED, "simulated, range over five costs"),
    ]
    title, axis = "The paper's statements on its methods as published", "ratio; above 1: the first one is faster"
    return _drawn(path, (title, _machines(summary)), axis, rows, legend)


def communication(summary: Summary, path: Path) -> bool:
    """Draw the share of time that workers are blocked in communication; return whether it was measured."""
    places = list(dict.fromkeys(share.place for share in summary.shares))
    rows = []
    for label in dict.fromkeys(share.label for share in summary.shares):
        shares = [share for share in summary.shares if share.label == label]
        marks = [Mark(100 * s.mean, *_percent(s), COLORS[places.index(s.place) % len(COLORS)]) for s in shares]
        if paper := EXPOSED.get(label):
            marks.append(Mark(100 * paper, 100 * paper, 100 * paper, PAPER, "D"))
        rows.append(Row(label, "", marks, ", ".join(_range(shares, place) for place in places).strip(", ")))
    legend = [key("o", COLORS[n % len(COLORS)], f"{summary.place(p)}, 95%") for n, p in enumerate(places)]
    legend.append(key("D", PAPER, "paper (abstract), its machines"))
    axis = "% of a worker's time, without evaluations; mean of the seeds"
    return _drawn(path, ("Blocked in communication", _machines(summary)), axis, rows, legend, False)


def scaling(summary: Summary, path: Path) -> bool:
    """Draw throughput over that of the same ranks without communication; return whether it was measured."""
    found = summary.efficiencies
    if not found:
        return False
    title = "Throughput over that of the same ranks without communication"
    with figure(path, title, _machines(summary), (WIDTH, 3.9)) as (_, axes):
        series = list(dict.fromkeys((e.machine, e.label) for e in found))
        for number, (name, label) in enumerate(series):
            those = [e for e in found if (e.machine, e.label) == (name, label)]
            x, y = [PLACES[e.place].hosts for e in those], [100 * e.mean for e in those]
            ends = [[100 * (e.mean - e.low) for e in those], [100 * (e.high - e.mean) for e in those]]
            several = f", {summary.letter(name)}" if summary.letter(name) else ""
            axes.errorbar(
                x, y, ends, color=SERIES[number % len(SERIES)], marker="osv^DPX"[number % 7], capsize=3,
                linewidth=1.4, label=f"{label}{several}",
            )  # fmt: skip
        told = SCALING.paper.figure if SCALING.paper else None
        paper = 100 * (told or 0.0)
        axes.axhline(paper, color=PAPER, linestyle=(0, (4, 3)), linewidth=1.2)
        text = f"paper: {SCALING.paper}, on its machines"
        axes.annotate(text, (1, paper), xytext=(4, -12), textcoords="offset points", fontsize=9)
        _hosts(summary, axes, [e.place for e in found])
        axes.set_ylim(0, 100)
        axes.set_ylabel("% of samples/s without communication")
        axes.grid(axis="y", visible=True)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return True


def _hosts(summary: Summary, axes: Axes, places: Sequence[str]) -> None:
    """Label a logarithmic axis of numbers of hosts."""
    names = {
        PLACES[place].hosts: summary.place(place).replace(" hosts, ", "\n").removesuffix(" hosts")
        for place in places
    }
    names.setdefault(1, "1")
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(names), list(names.values()))
    axes.set_xticks([], minor=True)
    axes.set_xlabel("emulated hosts, one worker each; mean and 95% interval of the repeats")


def _drawn(
    path: Path, titles: tuple[str, str], axis: str, rows: Sequence[Row], legend: list[Line2D], ratio: bool = True
) -> bool:
    if rows:
        forest(path, titles, axis, rows, legend, ratio)
    return bool(rows)


def _ratio(summary: Summary, finding: PooledFinding, remark: str) -> Row:
    names, marks = list(summary.views), []
    for name, one in finding.findings.items():
        v = one.verdict
        if v and (v.low is not None or v.high is not None):
            marks.append(Mark(v.ratio or v.low or v.high or 1, v.low, v.high, _color(names, name)))
    if finding.pooled.machines > 1:
        p = finding.pooled
        marks.append(Mark(p.ratio or p.low or p.high or 1, p.low, p.high, POOLED, "d"))
    return Row(
        finding.claim.what.partition(", samples/s")[0], remark or _short(summary, finding), marks, finding.text
    )


def _settings(summary: Summary, finding: PooledFinding) -> str:
    view = summary.views[next(iter(finding.findings))]
    return f"{_short(summary, finding)}. {of_claim(view, finding.place, finding.claim)}"


def _short(summary: Summary, finding: PooledFinding) -> str:
    return f"{summary.place(finding.place)}{', open' if finding.open else ''}"


def _simulated(summary: Summary, finding: PooledFinding) -> list[Mark]:
    """Return the range of the throughput ratios of eight workers at several simulated costs, of one machine."""
    pair = LADDER_OF.get(finding.claim.what)
    if pair is None or PLACES[finding.place].hosts != COSTS[0].hosts:
        return []
    upper, lower = (rung(method) for method in pair)
    for view in summary.views.values():
        found = [spread.quotient(view.repeats(c.name, upper), view.repeats(c.name, lower)) for c in COSTS]
        values = [quotient.median.value for quotient in found if quotient]
        if values:
            return [Mark(min(values), min(values), max(values), SIMULATED, "s")]
    return []


def _range(shares: Sequence[Share], place: str) -> str:
    """Return the mean share at a place, or its range over machines."""
    found = sorted(
        {f"{share.mean:.0%}" for share in shares if share.place == place}, key=lambda text: int(text[:-1])
    )
    return " to ".join(found[:: max(1, len(found) - 1)])


def _percent(share: Share) -> tuple[float, float]:
    low, high = share.found.low, share.found.high
    return 100 * max(share.mean if low is None else low, 0.0), 100 * min(share.mean if high is None else high, 1.0)


def _color(names: Sequence[str], name: str) -> str:
    return COLORS[names.index(name) % len(COLORS)]


def _legend(summary: Summary) -> list[Line2D]:
    names = list(summary.views)
    if len(names) == 1:
        return [key("o", MEASURED, "measured, 95% interval")]
    told = [key("o", _color(names, name), f"machine {summary.letter(name)}") for name in names]
    return [*told, key("d", POOLED, "pooled over machines")]


def _machines(summary: Summary) -> str:
    if len(summary.views) == 1:
        return f"One kind of machine: {processor(next(iter(summary.views.values())))}"
    told = "; ".join(f"{summary.letter(name)}: {view.matrix.precision}" for name, view in summary.views.items())
    return f"{len(summary.views)} kinds of machines ({told}); every ratio is formed on one of them"
