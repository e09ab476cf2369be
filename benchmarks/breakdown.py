"""Breakdown of the time of finished runs into the paper's categories.

`breakdown` takes results as printed by `hooke run --json`; `markdown` and `rows` format its result as tables. The
mapping from phases to categories, and its limits, are in docs/trace.md. As a command, for files of results:

    python -m benchmarks.breakdown results/*.json
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from hooke.catalogue.algorithm import algorithm

CATEGORIES = {
    "device_parameters": "(3) worker to worker: parameters",
    "host_data": "(4) host to worker: data",
    "host_parameters": "(5) server to worker: parameters",
    "gradient": "(6) forward and backward",
    "worker_update": "(7) update on the worker",
    "other": "other: the loop itself, waiting for the end",
}
"""Shares of a worker's time, which add up to 1. (1) and (2) are before the clock starts."""
BESIDE = {"server_update": "(8) update on the server", "hidden": "hidden communication"}
"""Concurrent times relative to the same time, not added: they run while a worker waits or computes."""
COMMUNICATION = ("device_parameters", "host_data", "host_parameters")
"""The paper's communication: 3 + 4 + 5."""

Result = Mapping[str, Any]


@dataclass(frozen=True)
class Spread:
    """Minimum, median and maximum of several runs."""

    least: float
    middle: float
    most: float


@dataclass(frozen=True)
class Row:
    """One row of the table: runs with the same label."""

    label: str
    runs: int
    without: int
    """Number of runs without phases, because they did not end; not included in the figures."""
    simulated: bool
    oversubscribed: bool
    seconds: Spread | None
    """Train seconds per run, mean over workers: wall time minus evaluation; None: no run has phases."""
    shares: dict[str, Spread]
    """Shares of that time for CATEGORIES, BESIDE and `communication`; unknown ones are missing."""


def label_of(result: Result) -> str:
    """Return the label of runs with the same method and settings."""
    parameters = ", ".join(f"{name} {value}" for name, value in sorted(result["parameters"].items()))
    name = result["algorithm"]
    method = name if result["schema"] == "hooke.peer/1" else algorithm(name).title()
    title = f"{method}, P = {result['workers']}"
    return f"{title} ({parameters})" if parameters else title


def categories(result: Result) -> tuple[float, dict[str, float | None]] | None:
    """Return a worker's train seconds and their shares by name of CATEGORIES and BESIDE; None without phases.

    For peers, hidden communication is unknown and None.
    """
    phases = result["phases"]
    if not phases:
        return None
    served, server = bool(result["servers"]), result.get("server_phases")
    return sum(seconds for phase, seconds in phases.items() if phase != "evaluate"), {
        "device_parameters": 0.0 if served else phases["communicate"],
        "host_data": phases["data"],
        "host_parameters": phases["communicate"] if served else 0.0,
        "gradient": phases["compute"] + phases.get("rebuild", 0.0),
        "worker_update": phases["update"],
        "other": phases["idle"],
        "server_update": server["update"] if server else 0.0,
        "hidden": result["hidden_seconds"],
    }


def breakdown(results: Iterable[Result], label: Callable[[Result], str] = label_of) -> list[Row]:
    """Return one row per label, in the order of first occurrence.

    Raises ValueError if simulated and measured runs have the same label.
    """
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(label(result), []).append(result)
    return [_row(name, group) for name, group in groups.items()]


def _row(label: str, group: Sequence[Result]) -> Row:
    if len({result["simulated"] for result in group}) > 1:
        raise ValueError(f"{label}: simulated and measured runs do not share a line")
    parts = [found for result in group if (found := categories(result)) is not None and found[0] > 0]
    shares: dict[str, Spread] = {}
    for name in (*CATEGORIES, *BESIDE) if parts else ():
        known = [seconds[name] for _, seconds in parts]
        if None not in known:
            shares[name] = _spread([value / total for value, (total, _) in zip(known, parts, strict=True)])
    if parts:
        sums = [sum(seconds[name] for name in COMMUNICATION) / total for total, seconds in parts]
        shares["communication"] = _spread(sums)
    return Row(
        label=label,
        runs=len(parts),
        without=len(group) - len(parts),
        simulated=group[0]["simulated"],
        oversubscribed=any(result["oversubscribed"] for result in group),
        seconds=_spread([total for total, _ in parts]) if parts else None,
        shares=shares,
    )


def _spread(values: Sequence[float]) -> Spread:
    return Spread(min(values), median(values), max(values))


def rows(found: Sequence[Row]) -> list[dict[str, Any]]:
    """Return flat dictionaries for CSV or JSON: medians, with minimum and maximum as `<name>_least`, `_most`."""
    flat = []
    for row in found:
        line: dict[str, Any] = {
            "label": row.label, "runs": row.runs, "without": row.without,
            "simulated": row.simulated, "oversubscribed": row.oversubscribed,
        }  # fmt: skip
        for name in ("seconds", *CATEGORIES, "communication", *BESIDE):
            spread = row.seconds if name == "seconds" else row.shares.get(name)
            line[name] = spread and spread.middle
            line[f"{name}_least"] = spread and spread.least
            line[f"{name}_most"] = spread and spread.most
        flat.append(line)
    return flat


def markdown(found: Sequence[Row]) -> str:
    """Return the table as Markdown, with notes: medians, and [min, max] for several runs."""
    names = {**CATEGORIES, "communication": "communication, 3 + 4 + 5", **BESIDE}
    lines = [
        "| method | runs | train time of a worker | " + " | ".join(names.values()) + " |",
        "|---|---|---|" + "---|" * len(names),
    ]
    for row in found:
        told = f"{row.runs}" + (f" ({row.without} more without figures)" if row.without else "")
        marks = " (simulated)" * row.simulated + " (oversubscribed)" * row.oversubscribed
        seconds = _text(row.seconds, ".3g", " virtual s" if row.simulated else " s")
        cells = [_text(row.shares.get(name), ".1%") for name in names]
        lines.append(" | ".join(["| " + row.label + marks, told, seconds, *cells]) + " |")
    lines += [
        "",
        "Shares of a worker's wall time less evaluation, mean over workers; median over runs [least, most]. "
        "(3) to (7) and *other* add up to 100%; (8) and *hidden* lie beside: in (5) a worker waits for the "
        "transfer, for its turn and for the server's update, which it cannot tell apart. (1) reading the data set "
        "and (2) making the first weights happen before the clock starts.",
    ]
    if any(row.oversubscribed for row in found):
        lines.append(
            "*Oversubscribed*: more ranks than cores; waiting for a core is in every share, most in (3), (5)."
        )
    return "\n".join(lines)


def _text(spread: Spread | None, form: str, unit: str = "") -> str:
    if spread is None:
        return "unknown"
    if spread.least == spread.most:
        return f"{spread.middle:{form}}{unit}"
    return f"{spread.middle:{form}} [{spread.least:{form}}, {spread.most:{form}}]{unit}"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.breakdown", description="Where the time of finished runs went."
    )
    parser.add_argument("results", nargs="+", type=Path, help="files with the output of `hooke run --json`")
    found = [json.loads(path.read_text()) for path in parser.parse_args().results]
    print(markdown(breakdown(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
