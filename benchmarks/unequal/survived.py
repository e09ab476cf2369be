"""The figures of survival: Sync SGD's time to the target over each method's, a panel for each cluster."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import matplotlib
from hooke.comparison.verdict import Verdict
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from benchmarks.common.records import Record
from benchmarks.evidence.drawing import INK, LINES, PALETTE, STYLE, svg
from benchmarks.unequal import claims
from benchmarks.unequal.conditions import CONDITIONS
from benchmarks.unequal.entries import SYNC, entries
from benchmarks.unequal.panels import CHANGED, SURVIVED, changing, survival
from benchmarks.unequal.runs import Run
from benchmarks.unequal.tasks import TASKS

TITLES = {
    SURVIVED: "Which method survives an unequal cluster (simulated)",
    CHANGED: "Which method survives speeds that change during a run (simulated)",
}
COLORS = {1: PALETTE[2], -1: PALETTE[0], 0: INK}
"""Of what is faster than Sync SGD, what is slower, and what is not told apart from it."""
LABELS = {1: "told apart from Sync SGD: less time", -1: "told apart: more time", 0: "not told apart"}
LEFT, RIGHT = 1 / 6, 24.0
"""Ends of the axis: an interval that goes on is cut there; a bound has its arrow there."""
TICKS = {0.25: "¼x", 1.0: "1x", 4.0: "4x", 16.0: "16x"}
Panel = Mapping[str, Verdict]


def draw(records: Mapping[Run, Record], folder: Path) -> list[str]:
    """Write the figures whose clusters are complete; return their names."""
    drawn = []
    for name, grid in ((SURVIVED, survival(records)), (CHANGED, changing(records))):
        if grid:
            said = {at: claims.over(records, ("digits", at), SYNC) for row in grid for at in row}
            (folder / name).write_text(_slim(_drawn(TITLES[name], grid, said, claims.noise(records))))
            drawn.append(name)
    return drawn


def _slim(text: str) -> str:
    """Return the file without what does not show: turns by 0 degrees, empty groups, indents, digits."""
    text = re.sub(r' transform="rotate\(-0 [^"]*"|^ *<g id="\w+"/>\n', "", text, flags=re.MULTILINE)
    text = re.sub(r"^ +", "", text, flags=re.MULTILINE)
    return re.sub(r"\d+\.\d{3,}", lambda found: f"{float(found[0]):.2f}", text)


def _drawn(title: str, grid: Sequence[Sequence[str]], said: Mapping[str, Panel], noisy: float) -> str:
    subtitle = (
        f"Digits, to {TASKS['digits'].target}: virtual seconds of Sync SGD over the method's (above 1x: less "
        "time), 95% interval of each by itself; arrow: a missed target"
    )
    heights = [len(said[row[0]]) for row in grid]
    with matplotlib.rc_context(STYLE):
        drawn = Figure(figsize=(11, 1.9 + 0.29 * sum(heights)))
        drawn.set_layout_engine("constrained", rect=(0, 0, 1, 1 - 0.55 / drawn.get_figheight()))
        places = drawn.subplots(len(grid), max(map(len, grid)), squeeze=False, height_ratios=heights)
        for cells, row in zip(places, grid, strict=True):
            for number, axes in enumerate(cells):
                if number < len(row):
                    _panel(axes, row[number], said[row[number]], noisy, number == 0)
                else:
                    axes.set_axis_off()
        top = drawn.get_figheight()
        drawn.text(0.008, 1 - 0.06 / top, title, va="top", fontsize=12, fontweight="bold")
        drawn.text(0.008, 1 - 0.3 / top, subtitle, va="top", fontsize=9)
        _legend(drawn, noisy)
        return svg(drawn, f"{title}. {subtitle}. {' '.join(_told(grid, said, noisy))}")


def _told(grid: Sequence[Sequence[str]], said: Mapping[str, Panel], noisy: float) -> Iterator[str]:
    """Yield, for who does not see the figure, what is told apart in each panel."""
    for at in (at for row in grid for at in row):
        apart = [f"{name} {claims.told(each)}" for name, each in said[at].items() if claims.apart(each, noisy)]
        yield f"{_of(at)}: {'; '.join(apart) or 'none told apart'}."


def _of(condition: str) -> str:
    """Return the cluster in words."""
    where = CONDITIONS[condition]
    return f"{where.workers} {where.title if where.kind == 'cpus' else 'CPUs, ' + where.title}"


def _panel(axes: Axes, condition: str, said: Panel, noisy: float, named: bool) -> None:
    """Draw the methods of a cluster, one below the other."""
    axes.axvspan(1 / noisy, noisy, facecolor=LINES, edgecolor="none", zorder=0)
    axes.axvline(1, color=INK, linewidth=0.9, zorder=1)
    names = [name for name in entries(condition) if name in said]
    for way, color in COLORS.items():
        at = [(y, said[name]) for y, name in enumerate(names) if claims.apart(said[name], noisy) == way]
        _marks(axes, at, color, way != 0)
    axes.set_xscale("log", base=2)
    axes.set_xlim(LEFT, RIGHT)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xticks(list(TICKS), list(TICKS.values()))
    axes.set_xticks([], minor=True)
    axes.set_yticks(*((range(len(names)), names) if named else ([], [])))
    axes.tick_params(labelsize=8.5)
    axes.tick_params(axis="y", pad=7)
    axes.spines["left"].set_visible(False)
    axes.set_title(_of(condition), fontsize=8.5, loc="left")


def _marks(axes: Axes, at: Sequence[tuple[int, Verdict]], color: str, apart: bool) -> None:
    """Draw intervals, estimates that have both ends, and arrows where an end is not known."""
    known = [(y, v) for y, v in at if v.low is not None or v.high is not None]
    lows, highs = [max(v.low or LEFT, LEFT) for _, v in known], [min(v.high or RIGHT, RIGHT) for _, v in known]
    lines = [each for (y, _), *ends in zip(known, lows, highs, strict=True) for each in _line(y, *ends)]
    if lines:
        axes.plot(*zip(*lines, strict=True), color=color, linewidth=2 if apart else 1)
    face = color if apart else "none"
    both = [(v.ratio, y) for y, v in known if v.ratio and v.low is not None and v.high is not None]
    below, above = [(LEFT, y) for y, v in known if v.low is None], [(RIGHT, y) for y, v in known if v.high is None]
    for shape, points in (("D", both), ("<", below), (">", above)):
        if points:
            axes.plot(
                *zip(*points, strict=True), shape, color=color, markersize=4, markerfacecolor=face, clip_on=False
            )
    for place, v in at:
        if v.low is None and v.high is None:
            axes.text(1, place, "open", ha="center", va="center", fontsize=7.5)


def _line(y: float, low: float, high: float) -> list[tuple[float, float]]:
    """Return the points of an interval, and the gap behind it: all of a colour are one path of the file."""
    return [(low, y), (high, y), (math.nan, y)]


def _legend(drawn: Figure, noisy: float) -> None:
    """Write what marks mean."""
    keys: list[Line2D | Patch] = [
        Line2D([], [], color=color, marker="D", markersize=4, markerfacecolor=color if way else "none",
               label=LABELS[way])
        for way, color in COLORS.items()
    ]  # fmt: skip
    keys.append(Patch(facecolor=LINES, label=f"within {noisy:.2f}x: not read as a difference"))
    drawn.legend(handles=keys, loc="outside lower center", ncols=4, fontsize=8.5)
