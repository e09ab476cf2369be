"""A figure of rows: what is compared, its estimates with their intervals, and the figures themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from benchmarks.evidence.drawing import INK, figure

WIDTH = 8.6
SOLID = "od"
"""Shapes of what was measured; others are hollow."""


@dataclass(frozen=True)
class Mark:
    """One estimate on a row: an interval with an open end has an arrow there."""

    value: float
    low: float | None
    high: float | None
    color: str
    shape: str = "o"


@dataclass(frozen=True)
class Row:
    """A row of a figure: what is compared, a remark in small letters, the marks, and the ratio in figures."""

    name: str
    remark: str
    marks: list[Mark] = field(default_factory=list)
    told: str = ""


def forest(
    path: Path,
    titles: tuple[str, str],
    axis: str,
    rows: Sequence[Row],
    legend: list[Line2D],
    ratio: bool = True,
) -> None:
    """Draw rows to `path`; `titles`: title and subtitle; `ratio`: a logarithmic axis around 1, else 0 to 100."""
    pitch = 0.42 if any(row.remark for row in rows) else 0.28
    with figure(path, *titles, (WIDTH, 1.7 + pitch * len(rows))) as (drawn, axes):
        low, high = _limits(rows) if ratio else (0.0, 100.0)
        for y, row in enumerate(rows):
            solid = [mark for mark in row.marks if mark.shape in SOLID]
            for number, mark in enumerate(row.marks):
                lower = 0.5 * number / max(1, len(solid)) if mark in solid else 0.28 if mark.shape == "s" else 0
                _mark(axes, mark, y + lower - (0.12 if len(solid) > 1 else 0), low, high)
        _words(axes, rows)
        if ratio:
            _log_axis(axes, low, high)
        axes.set_xlim(low, high)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlabel(axis)
        axes.grid(axis="x", visible=True)
        axes.spines["left"].set_visible(False)
        drawn.legend(handles=legend, loc="outside lower center", ncols=min(4, len(legend)), fontsize=8.5)


def _limits(rows: Sequence[Row]) -> tuple[float, float]:
    ends = [end for row in rows for mark in row.marks for end in (mark.low, mark.high, mark.value) if end]
    return min(min(ends) / 1.15, 0.9), max(max(ends) * 1.15, 1.1)


def _log_axis(axes: Axes, low: float, high: float) -> None:
    axes.set_xscale("log", base=2)
    ticks = [t for t in (2.0**n for n in range(-6, 7)) if low <= t <= high]
    axes.set_xticks(ticks, [f"{t:g}x" for t in ticks])
    axes.set_xticks([], minor=True)
    axes.axvline(1, color=INK, linewidth=1)


def _words(axes: Axes, rows: Sequence[Row]) -> None:
    """Write the names of the rows and their remarks on the left, and the ratios on the right."""
    axes.set_yticks(range(len(rows)), [""] * len(rows))
    there = axes.get_yaxis_transform()
    for y, row in enumerate(rows):
        side = "bottom" if row.remark else "center"
        axes.text(-0.01, y - 0.02, row.name, transform=there, ha="right", va=side, fontsize=8.5)
        axes.text(-0.01, y + 0.04, row.remark, transform=there, ha="right", va="top", fontsize=7, alpha=0.8)
        axes.text(1.03, y, row.told, transform=there, va="center", fontsize=8.5)


def _mark(axes: Axes, mark: Mark, y: float, left: float, right: float) -> None:
    low, high = left if mark.low is None else mark.low, right if mark.high is None else mark.high
    style: dict[str, Any] = {"color": mark.color, "markersize": 5}
    axes.plot([low, high], [y, y], color=mark.color, linewidth=1.6 if mark.shape in SOLID else 1)
    if mark.shape == "s":
        axes.plot([low, high], [y, y], "s", markerfacecolor="none", **style)
    elif mark.low is not None and mark.high is not None:
        face = {} if mark.shape in SOLID else {"markerfacecolor": "none"}
        axes.plot(mark.value, y, mark.shape, **style, **face)
    for end, at, shape in ((mark.low, left, "<"), (mark.high, right, ">")):
        if end is None:
            axes.plot(at, y, shape, **style, clip_on=False)


def key(shape: str, color: str, label: str) -> Line2D:
    """Return an entry of the legend."""
    face, line = (color, "-") if shape in SOLID else ("none", "-" if shape == "s" else "")
    return Line2D(
        [], [], color=color, marker=shape, linestyle=line, markerfacecolor=face, markersize=5, label=label
    )
