"""Figures: loss against time of all entries, a panel for each condition."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.common.records import Record
from benchmarks.evidence.drawing import PALETTE, STYLE, svg
from benchmarks.unequal.conditions import CONDITIONS, SEEDS, TASKS, of_kind
from benchmarks.unequal.entries import ENTRIES, entries
from benchmarks.unequal.runs import Run, complete, results

COLUMNS = 3
LINES = {name: (PALETTE[i % len(PALETTE)], ("-", "--", ":")[i // len(PALETTE)]) for i, name in enumerate(ENTRIES)}


def panels(records: Mapping[Run, Record], task: str) -> list[str]:
    """Return the conditions of two workers that are complete for a task."""
    return [name for name in of_kind("cpus", "box", "real") if complete(records, task, name)]


def name_of(task: str) -> str:
    """Return the name of a task's figure."""
    return f"loss-{task}.svg"


def draw(records: Mapping[Run, Record], folder: Path) -> list[Path]:
    """Write the figure of every task with a complete condition; return the files."""
    found = {task: panels(records, task) for task in TASKS}
    paths = []
    for task, conditions in found.items():
        if conditions:
            paths.append(folder / name_of(task))
            paths[-1].write_text(_figure(records, task, conditions))
    return paths


def _figure(records: Mapping[Run, Record], task: str, conditions: list[str]) -> str:
    real = CONDITIONS[conditions[0]].kind == "real"
    title = f"Loss against time: {TASKS[task].title}{'' if real else ' (simulated)'}"
    rows = math.ceil(len(conditions) / COLUMNS)
    with matplotlib.rc_context(STYLE):
        drawn = Figure(figsize=(11, 3.2 * rows + 1.6), layout="constrained")
        grid = drawn.subplots(rows, COLUMNS, squeeze=False)
        for axes in grid.flat[len(conditions) :]:
            axes.set_visible(False)
        for axes, condition in zip(grid.flat, conditions, strict=False):
            _panel(axes, records, task, condition)
        drawn.suptitle(title, fontsize=12, fontweight="bold", x=0.012, ha="left")
        named = {
            label: line
            for axes in grid.flat
            for line, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        drawn.legend(named.values(), named.keys(), loc="outside lower center", ncols=4, fontsize=8)
        return svg(drawn, title)


def _panel(axes: Axes, records: Mapping[Run, Record], task: str, condition: str) -> None:
    for entry in entries(condition):
        found = results(records, task, condition, entry)
        first = next((each for each in found or () if each["seed"] == SEEDS[0] and not each["diverged"]), None)
        if first is not None:
            colour, dashes = LINES[entry]
            axes.plot(
                *zip(*first["curve"], strict=True), color=colour, linestyle=dashes, linewidth=1.2, label=entry
            )
    axes.set_title(CONDITIONS[condition].title, fontsize=9, loc="left")
    axes.set_xlabel("s" if CONDITIONS[condition].kind == "real" else "virtual s", fontsize=8)
    axes.set_ylabel("validation loss", fontsize=8)
    axes.set_yscale("log")
    axes.tick_params(labelsize=8)
    axes.grid(visible=True, alpha=0.5)
