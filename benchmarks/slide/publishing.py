"""Writes the page of the comparison and its records."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.slide.page import page

PAGE, DATA = "slide.md", "slide"
RUNS, MAP, WIRE, DEVICE = "runs.jsonl", "map.jsonl", "wire.jsonl", "device.jsonl"
ON_DEVICE = "device"
"""Folder of a store with the results of `device`."""


def device_results(folder: Path) -> list[dict[str, Any]]:
    """Return the results of `device` in a store."""
    return [record for path in sorted(folder.glob(f"{ON_DEVICE}/*.jsonl")) for record in read(path)]


def read(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file; none if there is none."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def publish(
    measured: Iterable[Mapping[str, Any]],
    mapped: Iterable[Mapping[str, Any]],
    results: Path,
    wired: Iterable[Mapping[str, Any]] = (),
    beside: Iterable[Mapping[str, Any]] = (),
) -> Path:
    """Write page and records; new records of a problem and size replace those that it had. Return the page."""
    runs = _merged(read(results / DATA / RUNS), list(measured), ("problem", "size"))
    cells = _merged(read(results / DATA / MAP), list(mapped), ("problem", "labels", "batch", "layer"))
    sent = _merged(read(results / DATA / WIRE), list(wired), ("key",))
    of_gpu = list(beside) or read(results / DATA / DEVICE)  # of one machine: new ones replace all
    (results / DATA).mkdir(parents=True, exist_ok=True)
    for name, found in ((RUNS, runs), (MAP, cells), (WIRE, sent), (DEVICE, of_gpu)):
        if found:
            (results / DATA / name).write_text("".join(f"{json.dumps(each)}\n" for each in found))
    path = results / PAGE
    path.write_text(page(runs, cells, sent, of_gpu))
    return path


def _merged(
    old: list[dict[str, Any]], new: list[Mapping[str, Any]], key: tuple[str, ...]
) -> list[Mapping[str, Any]]:
    renewed = {tuple(each.get(name) for name in key) for each in new}
    return [*(each for each in old if tuple(each.get(name) for name in key) not in renewed), *new]
