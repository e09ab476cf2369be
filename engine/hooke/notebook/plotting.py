"""The figure of a comparison: its evaluations over train time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hooke.comparison.wording import describe_target
from hooke.notebook.running import ComparedRun
from hooke.spec.specification import ExperimentSpec

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS, DASHES = 10, ("-", "--", ":")
"""Colors of matplotlib's cycle, and styles of lines: so many methods differ in one or the other."""


def draw(ax: Axes, spec: ExperimentSpec, runs: Sequence[ComparedRun]) -> None:
    """Draw the evaluations of every reported run; the runs of a method share color and style of line."""
    of_accuracy = spec.target is None or spec.target.of_accuracy
    for i, variant in enumerate(spec.variants):
        own = [run for run in runs if run.figures.variant == variant.name and run.figures.rung is None]
        color, dashes = f"C{i % COLORS}", DASHES[i // COLORS % len(DASHES)]
        for k, run in enumerate(run for run in own if run.evaluations):
            values = [each.accuracy if of_accuracy else each.loss for each in run.evaluations]
            clocks = [each.clock for each in run.evaluations]
            label = variant.name if k == 0 else None
            (line,) = ax.plot(clocks, values, linewidth=1, marker=".", markersize=3, alpha=0.8, label=label)
            line.set(color=color, linestyle=dashes)
    if spec.target is not None:
        text = describe_target(spec.target)
        ax.axhline(spec.target.value, color="0.4", linewidth=1, linestyle="--", label=f"target: {text}")
    simulated = any(run.figures.simulated for run in runs)
    ax.set_xlabel("train time, simulated seconds" if simulated else "train time, seconds")
    ax.set_ylabel("validation accuracy" if of_accuracy else "validation loss")
    ax.grid(alpha=0.3)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, fontsize="small")
