"""The figures of the pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes

from benchmarks.evidence import spread
from benchmarks.evidence.conditions import PLACES
from benchmarks.evidence.drawing import INK, PALETTE, figure, seconds_grid
from benchmarks.evidence.methods import BEST, DDP_OVERLAP, EASGD3, METHODS, ORIGINAL, PAIRS
from benchmarks.evidence.records import Run
from benchmarks.evidence.view import STAR, View
from benchmarks.evidence.wording import seconds, title_of

STORY = (ORIGINAL, EASGD3, *PAIRS[0], BEST, DDP_OVERLAP)
"""Methods whose curves are drawn; more curves could not be distinguished."""
PARTS = (
    ("computing", ("compute",), PALETTE[1]),
    ("update and data", ("update", "data", "idle"), PALETTE[2]),
    ("exposed communication", ("communicate",), PALETTE[0]),
)
WIDTH = 8.2


def draw(view: View, folder: Path) -> list[Path]:
    """Draw all figures that have data; return their files."""
    found = []
    for place in view.matrix.places:
        if not any(view.reported(place, label) for label in view.matrix.at(place)):
            continue
        for name, one in (("accuracy", accuracy), ("time", times), ("steps", steps)):
            path = folder / f"{place}-{name}.svg"
            one(view, place, path)
            found.append(path)
    return found


def _where(view: View, place: str) -> str:
    note = view.note(place)
    star = any(view.crowded(place, label) for label in view.matrix.at(place))
    there = title_of(place).rpartition(", ")[2] if PLACES[place].world == "lab" and note else title_of(place)
    return "; ".join(
        [there, *([note] if note else []), *([f"{STAR} oversubscribed by its server"] if star else [])]
    )


def accuracy(view: View, place: str, path: Path) -> None:
    """Draw accuracy over time: one line per seed, methods at their best rates."""
    told = [m.label for m in STORY if view.reported(place, m.label)]
    colors = {method.label: PALETTE[number] for number, method in enumerate(STORY)}
    told = told or [label for label in view.matrix.at(place) if view.reported(place, label)][:6]
    with figure(path, "Accuracy over time", _where(view, place), (WIDTH, 4.6)) as (_, axes):
        top = 1 - view.matrix.target
        for label in told:
            color = colors.get(label, PALETTE[told.index(label) % len(PALETTE)])
            for run in view.reported(place, label).values():
                points = [p for p in view.evidence.curves.get(run.key, []) if p[2] > 0]
                named = label if run.seed == 0 else None
                x, y = [p[1] for p in points], [100 * (1 - p[2]) for p in points]
                axes.plot(x, y, color=color, label=named, linewidth=1.8, alpha=0.9)
                axes.plot(x[-1:], y[-1:], "o", color=color, markersize=5)
        axes.axhline(100 * top, color=INK, linewidth=1, linestyle=(0, (4, 3)))
        named = f"target: {view.matrix.target:.1%}"
        axes.annotate(named, (0, 100 * top), xytext=(4, 4), textcoords="offset points", fontsize=9)
        axes.set_yscale("log")
        ticks = [t for t in (50, 20, 10, 5, 2, 1, 0.5) if t >= 50 * top]
        axes.set_yticks(ticks, [f"{100 - t:g}" for t in ticks])
        axes.set_yticks([], minor=True)
        axes.set_ylim(30, 100 * top * 0.8)
        axes.set_xlim(left=0)
        axes.set_ylabel("validation accuracy, %")
        axes.set_xlabel(f"time of training, {seconds(place)}")
        axes.grid(visible=True)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def times(view: View, place: str, path: Path) -> None:
    """Draw the time to the target of every method: median, and every seed; a bound has an open end."""
    rows = [(label, view.reported(place, label)) for label in view.matrix.at(place)]
    runs_of = {label: [runs[seed] for seed in sorted(runs)] for label, runs in rows if runs}
    there = [(label, spread.times(runs), runs) for label, runs in runs_of.items()]
    there.sort(key=lambda row: (row[1].median.side == ">", row[1].median.value) if row[1] else (True, 0.0))
    title = f"Time to {view.matrix.target:.1%}, each method at the best of the rates tried"
    with figure(path, title, _where(view, place), (WIDTH, 1.4 + 0.32 * len(there))) as (_, axes):
        end = max((run.train_seconds or 0 for _, _, runs in there for run in runs), default=1.0)
        for y, (label, found, runs) in enumerate(there):
            if found is None:
                continue
            middle, bound = found.median, found.median.side == ">"
            finite = [figure for figure in map(spread.time_to_target, runs) if math.isfinite(figure.value)]
            diverged = len(runs) - len(finite)
            axes.barh(
                y, middle.value if math.isfinite(middle.value) else 0, height=0.62, color=_color(label),
                alpha=0.3 if bound else 0.85, linewidth=0,
            )  # fmt: skip
            for at in finite:
                axes.plot(at.value, y, ">" if at.side == ">" else "o", color=INK, markersize=3.5)
            told = f"not within {middle.value:.0f}" if bound else spread.told(middle, ".3g")
            reach = max((figure.value for figure in finite), default=0.0)
            seeds = f"{len(runs)}, {diverged} diverged" if diverged else f"{len(runs)}"
            axes.text(reach + 0.012 * end, y, f"{told}  ({seeds})", va="center", fontsize=8.5)
        _names(axes, [view.marked(place, label) for label, _, _ in there])
        axes.set_xlim(0, 1.17 * end)
        axes.set_xlabel(f"{seconds(place)}; bar: median, dots: seeds (their number in brackets)")
        seconds_grid(axes)


def steps(view: View, place: str, path: Path) -> None:
    """Draw the parts of the time of a step."""
    there: list[tuple[str, list[Run]]] = []
    for label in view.matrix.at(place):
        runs = [run for run in view.reported(place, label).values() if run.steps and run.compute is not None]
        if runs:
            there.append((label, runs))
    there.sort(key=lambda row: _mean(row[1], ("compute", "update", "data", "idle", "communicate")))
    with figure(path, "What a step is made of", _where(view, place), (WIDTH, 1.9 + 0.32 * len(there))) as (
        drawn,
        axes,
    ):
        end = 0.0
        for y, (_, runs) in enumerate(there):
            left = 0.0
            for name, phases, color in PARTS:
                width = _mean(runs, phases)
                axes.barh(
                    y, width, left=left, height=0.62, color=color, label=name if y == 0 else None, linewidth=0
                )
                left += width
            end = max(end, left)
            share = spread.of(run.communication_fraction for run in runs)
            if share:
                axes.text(left, y, f"  {share.median.value:.0%}", va="center", fontsize=8.5)
        _names(axes, [view.marked(place, label) for label, _ in there])
        axes.set_xlim(0, 1.1 * end or 1)
        axes.set_xlabel(
            f"{seconds(place, 'm')} per step, mean over workers; beside the bar: share of exposed communication"
        )
        seconds_grid(axes)
        drawn.legend(loc="outside lower center", ncols=len(PARTS))


def _mean(runs: Sequence[Run], phases: Sequence[str]) -> float:
    found = [1e3 * sum(getattr(run, phase) or 0.0 for phase in phases) / run.steps for run in runs if run.steps]
    return sum(found) / len(found) if found else 0.0


def _color(label: str) -> str:
    if METHODS[label].peer:
        return PALETTE[6]
    return PALETTE[0] if label == BEST.label else PALETTE[1]


def _names(axes: Axes, labels: Sequence[str]) -> None:
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
