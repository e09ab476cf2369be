"""The page docs/results/prediction.md from stored results."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from benchmarks.prediction.conditions import BATCH, MEDIAN_LIMIT, PLACES, WORKLOADS, WORST_LIMIT
from benchmarks.prediction.running import errors

HEAD = (
    "| method | step predicted, ms | step measured, ms | error, % | exposed predicted, % | exposed measured, % "
    "| difference, points |\n|---|---|---|---|---|---|---|"
)


def page(found: Sequence[dict[str, Any]]) -> str:
    """Return the page; predictions are simulated, and said to be."""
    parts = [
        "# Predicted and measured step times\n",
        f"Ten methods, batch {BATCH} per worker, all-reduces by halving. Predictions are simulated: "
        "virtual time with the constants of a calibration made just before the runs "
        "([calibration](../calibration.md)). The rules by which constants follow from a calibration were mended "
        "with results of these and earlier runs in view ([decision 67](../decisions/0067-among-gradients.md)): "
        "elsewhere errors may be larger. The step time is train seconds per step of a worker. "
        "Made by `python -m benchmarks.prediction run` and `publish` from [calibrations and runs](prediction).\n",
        *(
            _verdict(name, of)
            for name in WORKLOADS
            if (of := [each for each in found if each["workload"] == name])
        ),
    ]
    return "\n".join([*parts, *(_place(each) for each in found)])


def _verdict(workload: str, found: Sequence[dict[str, Any]]) -> str:
    rows = [errors(row) for place in found for row in place["methods"]]
    steps = [abs(each["step"]) for each in rows]
    shares = [abs(each["exposed"]) for each in rows]
    met = statistics.median(steps) <= MEDIAN_LIMIT and max(steps) <= WORST_LIMIT
    return (
        f"**{workload}**: step time over {len(rows)} predictions: median error "
        f"{100 * statistics.median(steps):.1f} %, worst "
        f"{100 * max(steps):.1f} % (aim: {100 * MEDIAN_LIMIT:.0f} % and {100 * WORST_LIMIT:.0f} %; "
        f"{'met' if met else 'not met'}). Exposed share: median difference "
        f"{100 * statistics.median(shares):.0f} percentage points, worst {100 * max(shares):.0f}."
        f"{_between_runs(found)}\n"
    )


def _between_runs(found: Sequence[dict[str, Any]]) -> str:
    """Return by how much measured runs of the same method differ: no prediction can be better than that."""
    several = [[run["step"] for run in row["measured"]] for place in found for row in place["methods"]]
    excess = [max(steps) / min(steps) - 1 for steps in several if len(steps) > 1]
    if not excess:
        return ""
    return (
        " The longest of the runs of a method exceeds the shortest by "
        f"{100 * statistics.median(excess):.0f} % in the median, {100 * max(excess):.0f} % at most."
    )


def _place(found: dict[str, Any]) -> str:
    calibration, place = found["calibration"], PLACES[found["place"]]
    when = datetime.fromtimestamp(found["at"], UTC)
    cores = calibration["cores"]
    notes = [f"{calibration['hardware'].get('cpu', '?')}, {cores} cores, {when:%Y-%m-%d}."]
    runs = len(found["methods"][0]["measured"])
    notes.append(f"{runs} run{'s' if runs > 1 else ''} of each method, their median.")
    if place.workers > cores:
        notes.append(f"Oversubscribed: {place.workers} ranks share {cores} cores.")
    if calibration["load"] >= 0.5:
        load = f"{calibration['load']:.1f}"
        notes.append(f"Load of the minute before the calibration: {load}, runs of the place before it included.")
    if calibration["compute"][0].get("adamw") is None:
        notes.append("Calibrated before AdamW and all-reduces behind several gradients were measured.")
    rows = [_row(row) for row in found["methods"]]
    return "\n".join([f"## {found['workload']}: {place.title}\n", " ".join(notes), "", HEAD, *rows, ""])


def _row(row: dict[str, Any]) -> str:
    wrong, predicted = errors(row), row["predicted"]
    cells = (
        row["method"],
        f"{1e3 * predicted['step']:.3g}",
        f"{1e3 * wrong['measured_step']:.3g}",
        f"{100 * wrong['step']:+.0f}",
        f"{100 * predicted['exposed']:.0f}",
        f"{100 * wrong['measured_exposed']:.0f}",
        f"{100 * wrong['exposed']:+.0f}",
    )
    return f"| {' | '.join(cells)} |"
