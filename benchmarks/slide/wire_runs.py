"""Carries out the runs of `wire`, several at once: in virtual time none of them depends on the others."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from benchmarks.evidence.store import commit, over, write
from benchmarks.slide.running import KEPT, command
from benchmarks.slide.wire import (
    COUNTED,
    SEEDS,
    Cell,
    Record,
    Task,
    document,
    fixed,
    of_task,
    per_step,
    ready,
    stored,
    to_target,
)

GRACE = 5.0
"""Seconds that a run has at least: it may begin just before time is over."""


def run(folder: Path, task: Task, minutes: float, seeds: int = SEEDS, processes: int = 1) -> int:
    """Carry out the runs that have no result, until `minutes` are over; return how many ended.

    A run that has failed is carried out again by the next call; so is one that is under way when time is over.
    """
    until, ended, failed = time.monotonic() + 60 * minutes, 0, set[str]()
    with ThreadPoolExecutor(processes) as pool:
        going: dict[Future[bool], Cell] = {}
        while True:
            for cell in _ready(folder, task, seeds, failed, [cell.title for cell in going.values()]):
                if len(going) == processes or time.monotonic() > until:
                    break
                going[pool.submit(_carry_out, folder, task, cell, until)] = cell
            if not going:
                return ended
            done, _ = wait(going, return_when=FIRST_COMPLETED)
            for future in done:
                cell = going.pop(future)
                ended += future.result()
                if not future.result():
                    failed.add(cell.title)


def _ready(
    folder: Path, task: Task, seeds: int, failed: Collection[str], running: Collection[str]
) -> Iterator[Cell]:
    found = of_task(task, stored(folder))
    return fixed(found, failed, running) if task.target is None else ready(found, seeds, failed, running)


def _carry_out(folder: Path, task: Task, cell: Cell, until: float) -> bool:
    """Carry out one run and store its result; return whether it ended by itself."""
    began = time.monotonic()
    journals = folder / "journals" / f"{cell.title}-{time.time_ns()}"
    result = command(document(cell, task), journals, longest=max(GRACE, until - began), words=("--cores", "1"))
    ended = over(result)
    key = f"{task.problem}-{task.hidden}-{'steps' if task.target is None else f'{task.target:g}'}-{cell.title}"
    found: dict[str, Any] = {"key": key, **vars(task), **vars(cell), "commit": commit()}
    found |= {"result": {field: result.get(field) for field in (*KEPT, *COUNTED)}}
    write(folder / ("wire" if ended else "failures") / f"{key}.json", found)
    print(f"{key}: {_said(found)} ({time.monotonic() - began:.0f} s in all)", flush=True)
    return ended


def _said(record: Record) -> str:
    result = record["result"]
    if not over(result) or result.get("diverged"):
        return f"{result['state']}: {str(result.get('why'))[-300:]}"
    met = "no target met" if to_target(record) is None else f"target after {result['samples_to_target']:,} samples"
    return f"{met}, {per_step(record) / 1e6:.2f} MB per step, {result['wire_bytes'] / 1e9:.2f} GB in all"
