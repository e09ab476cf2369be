"""`python -m audit`: run every case and print the table; exit status 0 only if every check passes."""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

from audit import product, report, wrong
from audit.cases import Case, cases
from audit.judge import METHODS, Row
from audit.runs import How, all_of


def chosen(only: list[str], world: str | None, device: str = "cpu") -> list[Case]:
    """Return the cases of these methods (empty: of all) in this world (None: in both) on this device."""
    found = [replace(case, device=device) for case in cases() if not only or case.method in only]
    if world is None:
        return found
    limited = [replace(case, worlds=(world,)) for case in found if world in case.worlds]
    return [replace(case, asks="") if world == "mpi" and case.asks == "bits" else case for case in limited]


def main(arguments: list[str] | None = None) -> int:
    """Run the audit with the given command line; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m audit", description=__doc__)
    parser.add_argument(
        "--only", nargs="+", default=[], choices=sorted(METHODS), metavar="METHOD", help="these methods"
    )
    parser.add_argument("--world", choices=("virtual", "mpi"), help="only runs of this world")
    parser.add_argument("--keep", type=Path, help="new folder in which runs, journals and notes stay")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="where gradients are computed")
    parser.add_argument(
        "--at-once", type=int, metavar="N", help="start N runs at the same time, also under MPI, and tell each"
    )
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no run after so many")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to this file")
    options = parser.parse_args(arguments)
    began = time.monotonic()
    place = options.keep or Path(tempfile.mkdtemp(prefix="hooke-audit-"))
    place.mkdir(exist_ok=True)

    def say(text: str) -> None:
        print(f"[{time.monotonic() - began:4.0f} s] {text}", file=sys.stderr, flush=True)

    how = How(say, options.at_once, began + options.seconds)
    audited = all_of(chosen(options.only, options.world, options.device), place, how)
    rows = [row for each in audited for row in each.rows.values()]
    mistakes: list[tuple[wrong.Wrong, Row]] = []
    if options.world != "mpi" and not how.late():
        todo = [each for each in wrong.WRONG if not options.only or each.case.method in options.only]
        say(f"{len(todo)} runs that are wrong on purpose")
        finds = partial(wrong.find, place=place, device=options.device)
        with ThreadPoolExecutor(how.abreast("virtual")) as pool:
            mistakes = list(zip(todo, pool.map(finds, todo), strict=True))
    offered = product.methods()
    unknown = sorted(set(METHODS) - offered)
    if options.json:
        options.json.write_text(json.dumps(report.records(rows), indent=1) + "\n")
    print(report.table(rows))
    print(report.summary(rows, mistakes, unknown, time.monotonic() - began))
    for name in sorted(offered - set(METHODS)):
        print(f"NOT AUDITED: {name} has no equations in audit/judge.py", file=sys.stderr)
    failed = not rows or bool(unknown) or any(row.faults for row in [*rows, *(row for _, row in mistakes)])
    if options.keep is None and not failed:
        shutil.rmtree(place)
    elif failed:
        print(f"runs, journals and notes: {place}", file=sys.stderr)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
