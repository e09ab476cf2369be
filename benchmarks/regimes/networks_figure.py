"""The figure of the map over networks: ratios of the two fastest entries by link, a line for each comparison."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.evidence.drawing import INK, PALETTE, PAPER, figure, seconds_grid
from benchmarks.regimes.networks import EQUAL, LINKS, Cell, Record, cells, sources
from benchmarks.regimes.networks_page import title

TITLE = "Fastest elastic entry over the fastest other one, by network (simulated)"
SUBTITLE = "equal speeds; above 1: elastic averaging is ahead; hollow: of the tuning seed"


def draw(records: Sequence[Record], path: Path) -> None:
    """Draw the figure to `path`, as SVG."""
    of = [[cell for cell in cells(source, records) if cell.spread == EQUAL] for source in sources(records)]
    if not of:
        return
    with figure(path, TITLE, SUBTITLE, (8.6, 4.6)) as (_, axes):
        axes.axhline(1, color=INK, linewidth=0.8)
        for number, own in enumerate(of):
            color = PALETTE[number % len(PALETTE)]
            places = [(k, cell.ratio, cell) for k, cell in enumerate(own) if cell.ratio is not None]
            axes.plot([k for k, _, _ in places], [r for _, r, _ in places], color=color, label=title(own[0]))
            for k, ratio, cell in places:
                axes.plot(k, ratio, "o", color=color, markerfacecolor=color if _several(cell) else PAPER)
        axes.set_yscale("log")
        ticks = (0.25, 0.35, 0.5, 0.7, 1, 1.4, 2, 2.8)
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
        axes.set_yticks([], minor=True)
        axes.set_xticks(range(len(LINKS)), [*LINKS])
        axes.set_ylabel("ratio of times to the target")
        seconds_grid(axes, "y")
        axes.legend(fontsize=8, loc="upper right")


def _several(cell: Cell) -> bool:
    """Return whether the ratio is that of reported seeds."""
    mine, other = cell.elastic, cell.other
    return mine is not None and other is not None and mine.mean is not None and other.mean is not None
