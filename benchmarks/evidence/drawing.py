"""Drawing of figures: the same data give the same bytes; figures are readable on light and on dark pages.

A figure is drawn with the text and background colours of the light page; a style sheet in the file replaces both
if the reader's page is dark. Colours of data have enough contrast on both. Text stays text.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK, PAPER, LINES = "#1f2329", "#fefefe", "#d9dce1"
DARK = {INK: "#e6e9ee", PAPER: "#0e1116", LINES: "#333a44"}
"""Colour of the light page -> colour of the dark page."""
PALETTE = ("#d1495b", "#2f81c4", "#2a9d6f", "#b5791a", "#8e6bbf", "#0e8f9c", "#7c8794", "#b8578f")
STYLE = {
    "svg.hashsalt": "hooke",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": LINES,
    "axes.facecolor": PAPER,
    "figure.facecolor": PAPER,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "axes.prop_cycle": matplotlib.cycler(color=PALETTE),
    "grid.color": LINES,
    "grid.linewidth": 0.8,
    "legend.frameon": False,
}
FONTS = "system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"


@contextlib.contextmanager
def figure(
    path: Path, title: str, subtitle: str, size: tuple[float, float], described: str = ""
) -> Iterator[tuple[Figure, Axes]]:
    """Yield a figure and its axes; write the figure to `path` (SVG) at the end of the body."""
    with matplotlib.rc_context(STYLE):
        drawn = Figure(figsize=size)
        axes = drawn.add_subplot()
        height = size[1]
        drawn.set_layout_engine("constrained", rect=(0, 0, 1, 1 - 0.55 / height))
        drawn.text(0.012, 1 - 0.06 / height, title, va="top", fontsize=12, fontweight="bold")
        drawn.text(0.012, 1 - 0.3 / height, subtitle, va="top", fontsize=9, alpha=0.75)
        yield drawn, axes
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(svg(drawn, f"{title}. {subtitle}. {described}".strip()))


def svg(drawn: Figure, title: str) -> str:
    """Return a figure as SVG text without date or version, with both pages' colours."""
    buffer = io.StringIO()
    drawn.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Title": title})
    rules = "".join(
        f'[style*="{part}: {light}"]{{{part}:{dark} !important}}'
        for light, dark in DARK.items()
        for part in ("fill", "stroke")
    )
    sheet = f"<style>text{{font-family:{FONTS}}} @media (prefers-color-scheme: dark){{{rules}}}</style>"
    text = buffer.getvalue().replace("<defs>", f"{sheet}\n <defs>", 1)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def seconds_grid(axes: Axes, axis: str = "x") -> None:
    """Draw the grid of one axis, and no border along the other."""
    axes.grid(axis=axis, visible=True)
    axes.spines["left" if axis == "x" else "bottom"].set_visible(axis != "x")
