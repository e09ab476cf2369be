"""Methods on unequal workers in virtual time, each at the best of as many trials.

    python -m benchmarks.unequal run [--tasks digits a9a w8a] [--conditions ratio-4 v100] [--minutes 20]
    python -m benchmarks.unequal publish        write docs/results/heterogeneous.md and its raw data

Virtual time does not depend on the load of the machine. `run` continues an earlier one, in one process; a9a and
w8a need HOOKE_DATA with a folder `libsvm-binary`. Only cells with all trials and seeds are published.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from benchmarks.evidence.store import ROOT
from benchmarks.unequal import runs
from benchmarks.unequal.conditions import CONDITIONS, ENTRIES, TASKS
from benchmarks.unequal.page import page

PAGE = ROOT / "docs" / "results" / "heterogeneous.md"
DATA = ROOT / "docs" / "results" / "heterogeneous" / "records.jsonl"


def run_all(tasks: list[str], conditions: list[str], path: Path, minutes: float) -> None:
    """Carry out what is missing, cell by cell, until nothing is or `minutes` are over."""
    records, until = runs.read(path), time.monotonic() + 60 * minutes
    for task in tasks:
        for condition in conditions:
            for entry in ENTRIES:
                while todo := runs.missing(records, task, condition, entry):
                    for each in todo:
                        if time.monotonic() > until:
                            return
                        records[each] = record = runs.carried_out(each)
                        runs.add(path, record)
                        print(
                            *(record[name] for name in ("task", "condition", "entry", "trial", "seed", "seconds"))
                        )


def main() -> int:
    """Run what is missing, or write the page; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.unequal", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("do", choices=("run", "publish"))
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS), metavar="NAME")
    parser.add_argument("--conditions", nargs="+", choices=CONDITIONS, default=list(CONDITIONS), metavar="NAME")
    parser.add_argument("--minutes", type=float, default=600.0, help="start no run after so many minutes")
    parser.add_argument("--store", type=Path, default=ROOT / ".results" / "unequal.jsonl")
    options = parser.parse_args()
    if options.do == "run":
        run_all(options.tasks, options.conditions, options.store, options.minutes)
        return 0
    runs.write(DATA, (runs.read(DATA) | runs.read(options.store)).values())
    PAGE.write_text(page(runs.read(DATA)))
    print(PAGE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
