"""The table of one place: Markdown to read, CSV with every run to check."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hooke.hardware.description import describe

from benchmarks import speed
from benchmarks.methods import conditions
from benchmarks.methods.conditions import Place
from benchmarks.methods.runs import Cell

COLUMNS = (
    "method",
    "algorithm",
    "workers",
    "seed",
    "simulated",
    "state",
    "validation_accuracy",
    "best_accuracy",
    "test_accuracy",
    "time_to_target",
    "samples_to_target",
    "train_seconds",
    "samples",
    "steps_least",
    "steps_most",
    "communication_fraction",
    "hidden_seconds",
    "staleness_mean",
    "staleness_max",
    "lost_mass",
    "payload_bytes",
    "machine_ms",
    "fingerprint",
)
Found = list[tuple[Cell, dict[str, Any]]]


def write(target: Path, place: Place, found: Found, runs: int) -> None:
    """Write `target`.md and `target`.csv; `runs` is how many there are to be."""
    target.parent.mkdir(parents=True, exist_ok=True)
    rows = [_row(cell, result) for cell, result in found]
    with target.with_suffix(".csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    target.with_suffix(".md").write_text("\n".join(_page(place, rows, runs)) + "\n")


def _row(cell: Cell, result: dict[str, Any]) -> dict[str, Any]:
    staleness = {int(k): n for k, n in (result.get("staleness") or {}).items()}
    exchanges = sum(staleness.values())
    steps = [each for each in result.get("steps") or [] if each is not None]
    return {
        **{name: result.get(name) for name in COLUMNS},
        "method": cell.label,
        "workers": cell.workers,
        "seed": cell.seed,
        "best_accuracy": max((score["accuracy"] for score in result["evaluations"]), default=None),
        "steps_least": min(steps) if steps else None,
        "steps_most": max(steps) if steps else None,
        "staleness_mean": sum(k * n for k, n in staleness.items()) / exchanges if exchanges else None,
        "staleness_max": max(staleness) if staleness else None,
    }


def _page(place: Place, rows: Sequence[dict[str, Any]], runs: int) -> Iterable[str]:
    seconds = "virtual s" if place.world == "virtual" else "s"
    yield f"# {place.title}"
    yield ""
    if len(rows) < runs:
        yield f"**Incomplete: {len(rows)} of {runs} runs so far.** *Reached* says how many seeds a line stands on."
        yield ""
    yield from _conditions(place)
    if place.world == "mpi" and (said := speed.told(row["machine_ms"] for row in rows)):
        unknown = sum(row["machine_ms"] is None for row in rows)
        yield ""
        yield said + (f" Of {unknown} of them it was not taken down." if unknown else "")
    for workers in place.samples:
        yield ""
        at = [row for row in rows if row["workers"] == workers]
        yield f"## {workers} workers"
        yield ""
        yield (
            f"| method | time to {conditions.TARGET:.1%}, {seconds} | reached | samples to it "
            f"| validation accuracy at the end | test accuracy, once | exposed comm. | staleness mean (max) |"
        )
        yield "|---|---|---|---|---|---|---|---|"
        for label in conditions.methods(workers):
            yield _line(label, [row for row in at if row["method"] == label])
    lost = [row["lost_mass"] for row in rows if row["lost_mass"] is not None]
    if lost:
        yield ""
        yield f"Lock-free methods lost {min(lost):.1e} to {max(lost):.1e} of the update mass pushed."


def _conditions(place: Place) -> Iterable[str]:
    hardware, versions = describe()
    budget = ", ".join(f"{samples:,} for P = {workers}" for workers, samples in place.samples.items())
    yield (
        f"Each cell: median of {conditions.SEEDS} seeds [least, most]. A run ends at the target or when its "
        f"budget of samples is used up ({budget}); evaluation every {conditions.EVERY:,} samples, off the clock, "
        "so a time to target is known to that grain. Targets are judged on the validation part, 6,000 of the "
        "training images; the test part is scored once, when a run has ended, and nothing was chosen by it. "
        "*reached*: seeds that met the target. Exposed communication: share of a worker's time blocked in "
        "communication."
    )
    yield ""
    yield (
        f"One setting for all, not tuned per method: batch {conditions.BATCH} per worker, learning rate "
        f"{conditions.LR} (divided by P, at most by 4, where workers push into one model without averaging; times "
        f"1 - mu with momentum mu), beta = {conditions.BETA} for springs; exactly: "
        "`benchmarks/methods/conditions.py`. A method that looks slow here may only want another learning rate."
    )
    yield ""
    if place.world == "virtual":
        n = conditions.NETWORK
        yield (
            f"**Simulated**: weights and accuracies are computed for real, times are those of a model: latency "
            f"{n['latency'] * 1e6:g} us, {n['seconds_per_byte'] * 1e9:g} ns/B on one-port links, "
            f"{n['compute_seconds_per_sample'] * 1e6:g} us of computation per sample."
        )
    else:
        yield (
            "P ranks and, where the method has one, a server on the cores below: with a server ranks outnumber "
            "cores, which its times suffer from. Messages go through shared memory."
        )
    yield ""
    which = ", ".join(f"{name} {version.partition('+')[0]}" for name, version in versions.items())
    yield f"Processor: {hardware['cpu']}, {hardware['cores']} cores; {which}; {datetime.now(UTC):%Y-%m-%d}."
    yield ""
    yield f"Made by `python -m benchmarks.methods {place.name}`; every run: [CSV](mnist-lenet-{place.name}.csv)."


def _line(label: str, rows: Sequence[dict[str, Any]]) -> str:
    if not rows:
        return f"| {label} | not run yet | | | | | | |"
    times = [row["time_to_target"] for row in rows if row["time_to_target"] is not None]
    stale = [row["staleness_mean"] for row in rows if row["staleness_mean"] is not None]
    most = [row["staleness_max"] for row in rows if row["staleness_max"] is not None]
    every = len(times) == len(rows)
    fractions = [row["communication_fraction"] for row in rows if row["communication_fraction"] is not None]
    broken = sum(row["state"] != "succeeded" for row in rows)
    cells = [
        f"{label} ({broken} of {len(rows)} diverged)" if broken else label,
        _spread(times, ".3g") if every else "not by every seed",
        f"{len(times)}/{len(rows)}",
        _spread([row["samples_to_target"] for row in rows], ",.0f") if every else "",
        _spread([row["validation_accuracy"] for row in rows if row["validation_accuracy"] is not None], ".2%"),
        _spread([row["test_accuracy"] for row in rows if row["test_accuracy"] is not None], ".2%"),
        _spread(fractions, ".0%"),
        f"{statistics.median(stale):.1f} ({max(most)})" if stale else "",
    ]
    return "| " + " | ".join(cells) + " |"


def _spread(values: Sequence[float], form: str) -> str:
    if not values:
        return ""
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:{form}} [{low:{form}}, {high:{form}}]"
