"""The figure of precisions over samples: a line for each output layer on the real records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes

from benchmarks.evidence.drawing import INK, PALETTE, figure
from benchmarks.slide.conditions import FULL, PROBLEMS, REAL
from benchmarks.slide.curve_page import Record, last, title

NAME = "curves.svg"
LEAST = 0.046
"""Distance of two names right of the drawing, as a share of its height."""


def draw(found: Sequence[Record], path: Path) -> None:
    """Draw P@1 of the validation part against the samples trained with; the full layer dashed, in ink."""
    own = sorted(found, key=lambda record: -last(record))
    subtitle = f"{PROBLEMS[REAL].title}: validation part, one learning rate, one seed each"
    described = "; ".join(
        f"{title(record)} {last(record):.1%} after {record['points'][-1]['samples']:,.0f} samples"
        for record in own
    )
    with figure(path, "P@1 over samples, by output layer", subtitle, (8.2, 4.4), described) as (_, axes):
        colors = iter(PALETTE)
        ends: list[tuple[float, str, str]] = []
        for record in own:
            full = record["layer"] == FULL
            color = INK if full else next(colors)
            x = [point["samples"] / 1000 for point in record["points"]]
            y = [100 * point["p_at_1"] for point in record["points"]]
            axes.plot(x, y, color=color, linewidth=1.6, linestyle="--" if full else "-")
            axes.plot(x[-1:], y[-1:], "o", color=color, markersize=4)
            ends.append((y[-1], title(record), color))
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("samples, thousands")
        axes.set_ylabel("P@1, %")
        axes.grid(visible=True)
        _name(axes, ends)


def _name(axes: Axes, ends: Sequence[tuple[float, str, str]]) -> None:
    """Write the names right of the drawing, the highest first, none over another one."""
    low, high = axes.get_ylim()
    at = 2.0
    for value, name, color in ends:
        at = min((value - low) / (high - low), at - LEAST)
        axes.annotate(
            f"{name}, {value:.1f}%", (1.01, at), xycoords="axes fraction", va="center", fontsize=8, color=color
        )
