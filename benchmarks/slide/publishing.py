"""Writes the page of the comparison and its records."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.slide import scaling_page, speed_page
from benchmarks.slide.page import page
from benchmarks.slide.spaces import spaces_of

PAGE, DATA = "slide.md", "slide"
RUNS, MAP, WIRE, DEVICE = "runs.jsonl", "map.jsonl", "wire.jsonl", "device.jsonl"
SPEED, THREADS = "speed.jsonl", "threads.jsonl"
RUN = "problem", "size"
"""What the records of a comparison have in common."""
ON_DEVICE = "device"
"""Folder of a store with the results of `device`."""


def device_results(folder: Path, kind: str = ON_DEVICE) -> list[dict[str, Any]]:
    """Return the results of `device` in a store, or those of `threads`."""
    return [record for path in sorted(folder.glob(f"{kind}/*.jsonl")) for record in read(path)]


def read(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file; none if there is none."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def publish(
    measured: Iterable[Mapping[str, Any]],
    mapped: Iterable[Mapping[str, Any]],
    results: Path,
    wired: Iterable[Mapping[str, Any]] = (),
    beside: Iterable[Mapping[str, Any]] = (),
    whole: Iterable[Mapping[str, Any]] = (),
    by_threads: Iterable[Mapping[str, Any]] = (),
) -> Path:
    """Write page and records; new records of a problem and size replace those that it had. Return the page.

    Those of new search spaces replace all that the problem had of earlier ones. `whole`: results of `speed`;
    `by_threads`: of `threads`.
    """
    runs = _compared(read(results / DATA / RUNS), list(measured))
    cells = _merged(read(results / DATA / MAP), list(mapped), ("problem", "labels", "batch", "layer"))
    sent = _merged(read(results / DATA / WIRE), list(wired), ("key",))
    of_gpu = _with_curves(read(results / DATA / DEVICE), list(beside))
    rates = _merged(read(results / DATA / SPEED), list(whole), ("layer", "optimizer", "weights"))
    threads = list(by_threads) or read(results / DATA / THREADS)  # of one machine: new ones replace all
    (results / DATA).mkdir(parents=True, exist_ok=True)
    files = {RUNS: runs, MAP: cells, WIRE: sent, DEVICE: of_gpu, SPEED: rates, THREADS: threads}
    for name, found in files.items():
        if found:
            (results / DATA / name).write_text("".join(f"{json.dumps(each)}\n" for each in found))
    if curves := [each for each in of_gpu if each["kind"] == "curve" and each["place"] == "cores"]:
        from benchmarks.slide import curve_figure  # imports matplotlib

        curve_figure.draw(curves, results / DATA / curve_figure.NAME)
    path = results / PAGE
    path.write_text(text(results / DATA))
    return path


def text(data: Path) -> str:
    """Return the page that the records of a folder make."""
    told = page(*(read(data / name) for name in (RUNS, MAP, WIRE, DEVICE)))
    for name, section in ((SPEED, speed_page.table), (THREADS, scaling_page.table)):
        if found := read(data / name):
            told += f"\n{section(found)}\n"
    return told


def _with_curves(old: list[dict[str, Any]], new: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the records of `device`: new ones replace all old ones, of one machine, unless they are curves alone.

    Curves of cores say precisions by samples, and replace those of the same layer, tables and rate.
    """
    if all(record["kind"] == "curve" and record["place"] == "cores" for record in new):
        same = ("kind", "place", "layer", "hashed", "lr", "batch", "seed")
        renewed = [[record.get(name) for name in same] for record in new]
        return [*(each for each in old if [each.get(name) for name in same] not in renewed), *new]
    return new


def _compared(old: list[dict[str, Any]], new: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the runs of the comparison; a problem counts as measured anew with its first reported run."""
    reported = {(each["problem"], each["size"]) for each in new if each["rung"] is None}
    new = [each for each in new if (each["problem"], each["size"]) in reported]
    spaces = {each["problem"]: spaces_of(each) for each in new}
    return _merged([each for each in old if spaces_of(each) >= spaces.get(each["problem"], 0)], new, RUN)


def _merged(
    old: list[dict[str, Any]], new: list[Mapping[str, Any]], key: tuple[str, ...]
) -> list[Mapping[str, Any]]:
    renewed = {tuple(each.get(name) for name in key) for each in new}
    return [*(each for each in old if tuple(each.get(name) for name in key) not in renewed), *new]
