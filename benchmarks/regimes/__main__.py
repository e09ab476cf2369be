"""A map from virtual time: for which workers, links and spreads of speeds elastic methods are the fastest.

    python -m benchmarks.regimes run --task fashion [--workers 2 8] [--methods slowmo] [--minutes 60]
    python -m benchmarks.regimes propose --task fashion --methods slowmo "PyTorch DDP, bf16 hook"
    python -m benchmarks.regimes publish        write docs/results/regimes.md and its raw data

Virtual time does not depend on the load of the machine. `run` needs HOOKE_DATA, continues an earlier one, and uses
all cores at the lowest priority. `propose` makes the trials alone, also of peers (by the methods of the catalogue
with their equations), from which `benchmarks.tuned --proposals` takes the best.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any

from benchmarks.evidence.store import ROOT
from benchmarks.regimes import store
from benchmarks.regimes.cells import Cell, Todo
from benchmarks.regimes.conditions import LAB, METHODS, PEERS, WORKERS
from benchmarks.regimes.page import page
from benchmarks.regimes.pool import make_pool
from benchmarks.regimes.runs import Run, carried_out
from benchmarks.tuned.conditions import TASKS

PAGE, DATA = ROOT / "docs" / "results" / "regimes.md", ROOT / "docs" / "results" / "regimes" / "records.jsonl"


def run_all(cells: Sequence[Cell], proposing: bool, path: Path, minutes: float) -> None:
    """Carry out what is missing, on all cores, until nothing is or `minutes` are over.

    `cells` have one table of records, which is extended.
    """
    until = time.monotonic() + 60 * minutes
    under_way: dict[Future[dict[str, Any]], Run] = {}
    with make_pool() as pool:
        while True:
            room = (os.cpu_count() or 1) - len(under_way) if time.monotonic() < until else 0
            for todo in _following(cells, proposing, set(under_way.values()), room):
                under_way[pool.submit(carried_out, *todo)] = todo[0]
            if not under_way:
                return
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                run, record = under_way.pop(future), future.result()
                cells[0].records[run] = record
                store.add(path, record)
                print(run, *(f"{name} {record.get(name)}" for name in ("met", "seconds")), flush=True)


def _following(cells: Sequence[Cell], proposing: bool, busy: set[Run], room: int) -> list[Todo]:
    found: dict[Run, Todo] = {}
    for cell in cells if room > 0 else ():
        for todo in cell.missing((LAB,), 0) if proposing else cell.missing():
            if todo[0] not in busy:
                found.setdefault(todo[0], todo)
            if len(found) == room:
                return list(found.values())
    return list(found.values())


def main() -> int:
    """Run what is missing, or write the page; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.regimes", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("do", choices=("run", "propose", "publish"))
    parser.add_argument("--task", choices=TASKS, help="of run and propose")
    parser.add_argument("--workers", nargs="+", type=int, default=WORKERS, help="propose: 8 alone, if not given")
    parser.add_argument("--methods", nargs="+", choices=(*METHODS, *PEERS), default=METHODS, metavar="NAME")
    parser.add_argument("--minutes", type=float, default=600.0, help="start no run after so many minutes")
    parser.add_argument("--store", type=Path, default=ROOT / ".results" / "regimes.jsonl")
    options = parser.parse_args()
    if options.do != "publish":
        if options.task is None:
            parser.error(f"{options.do} needs --task: {' or '.join(TASKS)}")
        if options.do == "run" and TASKS[options.task].searches_batch:
            parser.error(f"the map has one batch per worker, but {options.task} searches it")
        if TASKS[options.task].gradient and options.workers not in (WORKERS, [8]):
            parser.error(f"the price of a gradient of {options.task} is that of 8 workers on 2 cores")
        proposing, records = options.do == "propose", store.read(options.store)
        counts = (8,) if proposing and options.workers is WORKERS else options.workers
        cells = [Cell(options.task, count, method, records) for method in options.methods for count in counts]
        run_all(cells, proposing, options.store, options.minutes)
        return 0
    store.write(DATA, (store.read(DATA) | store.read(options.store)).values())
    PAGE.write_text(page(store.read(DATA)))
    print(PAGE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
