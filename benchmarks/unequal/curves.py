"""Figures: loss against time of all entries, a panel for each condition."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FormatStrFormatter, LogLocator

from benchmarks.common.records import Record
from benchmarks.evidence.drawing import PALETTE, STYLE, svg
from benchmarks.unequal.conditions import CONDITIONS, SEEDS
from benchmarks.unequal.entries import ENTRIES, entries
from benchmarks.unequal.panels import REAL, epochs, figures, over_epochs
from benchmarks.unequal.runs import Run, results
from benchmarks.unequal.tasks import TASKS

LINES = {name: (PALETTE[i % len(PALETTE)], ("-", "--", ":")[i // len(PALETTE)]) for i, name in enumerate(ENTRIES)}


def draw(records: Mapping[Run, Record], folder: Path) -> list[Path]:
    """Write the figures of every task with a complete condition, instead of earlier ones; return the files."""
    for earlier in [*folder.glob("loss-*.svg"), *folder.glob("epochs-*.svg")]:
        earlier.unlink()
    paths = []
    for task in TASKS:
        for name, conditions in figures(records, task).items():
            paths.append(folder / name)
            paths[-1].write_text(_figure(records, task, conditions))
        for name, conditions in over_epochs(records, task).items():
            paths.append(folder / name)
            paths[-1].write_text(_figure(records, task, conditions, by_epochs=True))
    return paths


def _figure(records: Mapping[Run, Record], task: str, conditions: list[str], by_epochs: bool = False) -> str:
    real = CONDITIONS[conditions[0]].kind in REAL
    over = "epochs" if by_epochs else "time"
    title = f"Loss against {over}: {TASKS[task].title}{'' if real else ' (simulated)'}"
    with matplotlib.rc_context(STYLE):
        drawn = Figure(figsize=(5.4 * len(conditions), 4.8), layout="constrained")
        grid = drawn.subplots(1, len(conditions), squeeze=False)
        for axes, condition in zip(grid.flat, conditions, strict=True):
            _panel(axes, records, (task, condition), by_epochs)
        drawn.suptitle(title, fontsize=12, fontweight="bold", x=0.012, ha="left")
        named = {
            label: line
            for axes in grid.flat
            for line, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        drawn.legend(named.values(), named.keys(), loc="outside lower center", ncols=4, fontsize=8)
        return svg(drawn, title)


def _panel(axes: Axes, records: Mapping[Run, Record], where: tuple[str, str], by_epochs: bool) -> None:
    task, condition = where
    for entry in entries(condition):
        found = results(records, task, condition, entry)
        first = next((each for each in found or () if each["seed"] == SEEDS[0] and not each["diverged"]), None)
        if first is not None:
            colour, dashes = LINES[entry]
            clock, y = zip(*first["curve"], strict=True)
            x = epochs(first, task, TASKS[task].every) if by_epochs else list(clock)
            axes.plot(x, y, color=colour, linestyle=dashes, linewidth=1.2, label=entry)
    axes.set_title(CONDITIONS[condition].title, fontsize=9, loc="left")
    axes.set_xlabel(
        "epochs" if by_epochs else "s" if CONDITIONS[condition].kind in REAL else "virtual s", fontsize=8
    )
    axes.set_ylabel("validation loss", fontsize=8)
    axes.set_yscale("log")
    axes.minorticks_off()
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))
    axes.tick_params(labelsize=8)
    axes.grid(visible=True, alpha=0.5)
