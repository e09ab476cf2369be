"""Methods on unequal workers, each at the best of as many trials: in virtual time, and for real.

    python -m benchmarks.unequal run [--tasks digits a9a w8a] [--conditions ratio-4 v100] [--minutes 40]
    python -m benchmarks.unequal run --real [--minutes 15]      two processes, one of them slowed down
    python -m benchmarks.unequal run --gpu [--device cpu]       a GPU and the CPU beside it; cpu: to try it out
    python -m benchmarks.unequal few                            a few of these, fixed settings: less than a minute
    python -m benchmarks.unequal beside                         a device, the CPU beside it, with the same trials
    python -m benchmarks.unequal measure                        costs of handing out work, then publish: a minute
    python -m benchmarks.unequal publish                        write docs/results/heterogeneous*.md and data
    python -m benchmarks.unequal derive --into FOLDER           make the data of finna-50

Virtual time does not depend on the load of the machine; for `--real`, `--gpu` and `measure` leave it alone. Runs
continue earlier ones. `--gpu` measures samples per second first, and keeps them in `STORE.rates.json`.
a9a and w8a need HOOKE_DATA with a folder `libsvm-binary`, finna-50 that which `derive` has made of
$HOOKE_DATA/finna-yso-en, with links to all else: set HOOKE_DATA to it then. Only conditions with all trials and
seeds of all entries are published. Records of a trial that is drawn otherwise now do not count.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.common import records
from benchmarks.common.rounds import carry_out
from benchmarks.evidence.store import ROOT
from benchmarks.unequal import beside, cells, derived, dispatching, few, for_real, planted, rates, real, runs
from benchmarks.unequal.conditions import CONDITIONS, FEW, RATES, of_kind, use
from benchmarks.unequal.entries import SIMULATED
from benchmarks.unequal.page import page
from benchmarks.unequal.runs import Run, run_of
from benchmarks.unequal.tasks import TASKS

PAGE = ROOT / "docs" / "results" / "heterogeneous.md"
CELLS = PAGE.with_name("heterogeneous-cells.md")
DATA = ROOT / "docs" / "results" / "heterogeneous" / "records.jsonl"
COSTS = DATA.with_name("dispatching.json")
BESIDE = DATA.with_name("beside.jsonl")


def run_all(
    todo: Sequence[tuple[str, str]], path: Path, minutes: float, processes: int = 1, really: bool = False
) -> None:
    """Carry out what is missing, (task, condition) by (task, condition), for at most `minutes`."""
    known, left = records.read(path, run_of, runs.drawn), list(todo)

    def keep(run: Run, record: dict[str, Any]) -> None:
        known[run] = record
        records.add(path, record)
        told = record["seconds"] if not record["diverged"] else "diverged"
        print(run.task, run.condition, run.entry, run.trial, run.seed, told, flush=True)

    if really:
        real.run_all(known, todo, keep, minutes)
    else:
        carry_out(
            lambda busy, room: runs.following(known, left, busy, room),
            runs.carried_out,
            lambda todo, record: keep(todo[0], record),
            minutes,
            processes,
        )


def prepare(options: argparse.Namespace) -> None:
    """Lay the condition with a real device out by its rates, which are measured if they are not known."""
    from hooke.hardware.description import usable_cores

    path = options.store.with_suffix(".rates.json")
    those = [each for each in of_kind("gpu") if each in options.conditions]
    tasks = [task for each in those for task in CONDITIONS[each].tasks if task in options.tasks]
    if planted.NAME in tasks and "HOOKE_DATA" in os.environ:
        planted.make(Path(os.environ["HOOKE_DATA"]))
    known = rates.read(path)
    if new := [task for task in tasks if task not in (known.tasks or {})]:
        threads, beside = rates.usual(usable_cores())
        found = rates.measured(options.device, options.threads or threads, beside, new)
        rates.write(path, replace(found, tasks={**(known.tasks or {}), **(found.tasks or {})}))
    use(rates.read(path))


def few_of(store: Path) -> list[dict[str, Any]]:
    """Return the records of `few` beside a store."""
    return few.read(store.with_suffix(".few.jsonl"))


def keep_few(store: Path, record: dict[str, Any]) -> None:
    """Add a record of `few`, and tell it."""
    records.add(store.with_suffix(".few.jsonl"), record)
    print(json.dumps(record), flush=True)


def main() -> int:
    """Run what is missing, or write the page; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.unequal", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("do", choices=("run", "few", "beside", "measure", "publish", "derive"))
    parser.add_argument("--real", action="store_true", help="processes of this machine, not virtual time")
    parser.add_argument("--gpu", action="store_true", help="a GPU and the CPU beside it, not virtual time")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="--gpu: what is worker 0")
    parser.add_argument(
        "--threads", type=int, help="--gpu: of the CPU worker; by default as many as the cores allow"
    )
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS), metavar="NAME")
    parser.add_argument("--conditions", nargs="+", choices=CONDITIONS, default=list(CONDITIONS), metavar="NAME")
    parser.add_argument("--minutes", type=float, default=600.0, help="start no run after so many minutes")
    parser.add_argument("--processes", type=int, default=1, help="of runs in virtual time")
    parser.add_argument("--store", type=Path, default=ROOT / ".results" / "unequal.jsonl")
    parser.add_argument("--into", type=Path, help="derive: the folder to make, which HOOKE_DATA then names")
    options = parser.parse_args()
    if options.do == "derive":
        if options.into is None or "HOOKE_DATA" not in os.environ:
            parser.error("`derive` needs --into FOLDER, and HOOKE_DATA with a folder finna-yso-en")
        print(derived.derive(Path(os.environ["HOOKE_DATA"]), options.into))
        return 0
    if options.do == "few":
        began = time.monotonic()
        prepare(options)
        few.run(lambda record: keep_few(options.store, record), options.minutes - (time.monotonic() - began) / 60)
        print("\n".join(few.section(few_of(options.store))))
        return 0
    if options.do == "run":
        really = options.real or options.gpu
        those = of_kind("gpu" if options.gpu else "real") if really else of_kind(*SIMULATED)
        began = time.monotonic()
        if options.gpu:
            prepare(options)
        todo = list(runs.cells(options.tasks, [each for each in those if each in options.conditions]))
        minutes = options.minutes - (time.monotonic() - began) / 60
        run_all(todo, options.store, minutes, options.processes, really)
        if options.gpu:
            print("\n".join(for_real.section(records.read(options.store, run_of, runs.drawn))))
        return 0
    trials = options.store.with_suffix(".beside.jsonl")
    if options.do == "beside":
        beside.run(trials, beside.cells(options.tasks, options.conditions), options.minutes)
        print("\n".join(beside.section(beside.known(trials))))
        return 0
    if found := few_of(options.store):
        records.write(FEW, found)
    if (measured := options.store.with_suffix(".rates.json")).exists():
        rates.write(RATES, rates.read(measured))
        use(rates.read(RATES))
    really = options.do == "measure"
    costs = dispatching.measure(COSTS, really) if really or not COSTS.exists() else dispatching.read(COSTS)
    with_cpu = beside.known(BESIDE) | beside.known(trials)
    records.write(BESIDE, with_cpu.values())
    found = records.publish(
        PAGE, DATA, options.store, run_of, lambda known: page(known, costs, with_cpu), runs.drawn
    )
    CELLS.write_text(cells.page(found))
    from benchmarks.unequal import curves, survived  # need matplotlib, which a machine that measures may not have

    curves.draw(found, DATA.parent)
    survived.draw(found, DATA.parent)
    print(PAGE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
