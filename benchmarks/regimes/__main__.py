"""A map from virtual time: for which workers, links and spreads of speeds elastic methods are the fastest.

    python -m benchmarks.regimes run --task fashion [--workers 2 8] [--methods slowmo] [--minutes 60]
    python -m benchmarks.regimes run --task digits --processes 1      a coarse map, less than an hour of one core
    python -m benchmarks.regimes propose --task fashion --methods slowmo "PyTorch DDP, bf16 hook"
    python -m benchmarks.regimes propose --task fashion-halving --methods pipe-sgd --bounded --first 4 2 --seeds 3
    python -m benchmarks.regimes reported --task fashion-halving     chosen settings on reported seeds, simulated
    python -m benchmarks.regimes control --task fashion-halving      methods at DDP's setting, on reported seeds
    python -m benchmarks.regimes networks       the published trials of the tuned comparison on other networks
    python -m benchmarks.regimes publish        write docs/results/regimes.md and its raw data

Virtual time does not depend on the load of the machine. `run` needs HOOKE_DATA for all but digits, continues an
earlier one, and uses all cores at the lowest priority if no number of processes is given. `propose` makes the
trials alone, also of peers (by the methods of the catalogue with their equations), from which `benchmarks.tuned
--proposals` takes the best; with `--bounded` a trial ends where its clock passes that of the fastest so far (the
best is the same, the next ones need not be: `--proposals` refuses them), with `--first` these are made first,
with `--seeds` the chosen one is also run on reported seeds. `networks` computes clocks alone, of what is
published: a minute of one core.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.common import records as kept
from benchmarks.common.rounds import carry_out
from benchmarks.evidence.store import ROOT
from benchmarks.regimes import control, reported, store
from benchmarks.regimes.bounded import bounded
from benchmarks.regimes.cells import Cell
from benchmarks.regimes.conditions import FULL, FURTHER, LAB, METHODS, PEERS, TASKS, plan_of
from benchmarks.regimes.learnt import SOURCES, trials
from benchmarks.regimes.networks import computed
from benchmarks.regimes.networks_page import FIGURE
from benchmarks.regimes.page import page
from benchmarks.regimes.real import Point, points
from benchmarks.regimes.runs import Todo, carried_out
from benchmarks.tuned.publishing import published

RESULTS = ROOT / "docs" / "results"
PAGE, DATA = RESULTS / "regimes.md", RESULTS / "regimes" / "records.jsonl"
NETWORKS, BESIDE = DATA.with_name("networks.jsonl"), DATA.with_name("beside-hosts.jsonl")


@dataclass(frozen=True)
class Proposing:
    """How settings are proposed."""

    bound: bool = False
    """Whether trials end where their clock passes that of the fastest so far."""
    first: Sequence[int] = ()
    """Trials that are made before the others."""
    seeds: int = 0
    """Reported seeds of the chosen trial."""


def run_all(
    cells: Sequence[Cell], proposing: Proposing | None, path: Path, minutes: float, processes: int
) -> None:
    """Carry out what is missing until nothing is or `minutes` are over; `proposing` None: of the whole map.

    `cells` have one table of records, which is extended.
    """

    def keep(todo: Todo, record: dict[str, Any]) -> None:
        cells[0].records[todo[0]] = record
        store.add(path, record)
        print(todo[0], *(f"{name} {record.get(name)}" for name in ("met", "seconds")), flush=True)

    carry_out(lambda busy, room: _following(cells, proposing, busy, room), carried_out, keep, minutes, processes)


def _following(cells: Sequence[Cell], proposing: Proposing | None, busy: Sequence[Todo], room: int) -> list[Todo]:
    found, runs = list[Todo](), {todo[0] for todo in busy}
    for cell in cells:
        for todo in _missing(cell, proposing):
            if len(found) == room:
                break
            if todo[0] not in runs:
                runs.add(todo[0])
                found.append(bounded(cell, todo) if proposing and proposing.bound else todo)
    return found


def _missing(cell: Cell, proposing: Proposing | None) -> Iterable[Todo]:
    if proposing is None:
        return cell.missing()
    return sorted(cell.missing((LAB,), proposing.seeds), key=lambda todo: todo[0].trial not in proposing.first)


def main() -> int:
    """Run what is missing, or write the page; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.regimes", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("do", choices=("run", "propose", "reported", "control", "networks", "publish"))
    parser.add_argument("--task", choices=TASKS, help="of run, propose, reported and control")
    parser.add_argument("--workers", nargs="+", type=int, help="propose: 8 alone, if not given")
    names = (*METHODS, *FURTHER, *PEERS)
    parser.add_argument("--methods", nargs="+", choices=names, default=METHODS, metavar="NAME")
    parser.add_argument("--bounded", action="store_true", help="propose: end trials that take longer than another")
    parser.add_argument("--first", nargs="+", type=int, default=(), help="propose: trials before all others")
    parser.add_argument("--seeds", type=int, default=0, help="propose: reported seeds of the chosen trial")
    parser.add_argument("--minutes", type=float, default=600.0, help="start no run after so many minutes")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="one per core, if not given")
    parser.add_argument("--store", type=Path, default=ROOT / ".results" / "regimes.jsonl")
    options = parser.parse_args()
    if options.do == "networks":
        over_networks()
        return 0
    if options.do != "publish":
        if options.task is None:
            parser.error(f"{options.do} needs --task: {' or '.join(TASKS)}")
        if options.do == "run" and TASKS[options.task].searches_batch:
            parser.error(f"the map has one batch per worker, but {options.task} searches it")
        if options.do == "reported":
            print(reported.table(options.task, published(RESULTS)))
            return 0
        if options.do == "control":
            control.run(options.task, control.store_of(options.task))
            print(control.table(options.task))
            return 0
        if TASKS[options.task].searches_batch and options.workers not in (None, [*FULL.workers], [8]):
            parser.error(f"the price of a gradient of {options.task} is that of 8 workers on 2 cores")
        how = Proposing(options.bounded, options.first, options.seeds) if options.do == "propose" else None
        records = store.read(options.store)
        counts = options.workers or ((8,) if how else plan_of(options.task).workers)
        cells = [Cell(options.task, count, method, records) for method in options.methods for count in counts]
        run_all(cells, how, options.store, options.minutes, options.processes)
        return 0
    networks, beside = read_lines(NETWORKS), beside_hosts()
    kept.publish(PAGE, DATA, options.store, store.run_of, lambda records: page(records, networks, beside))
    from benchmarks.regimes.networks_figure import draw  # needs matplotlib, which a machine that measures may lack

    draw(networks, DATA.with_name(FIGURE))
    print(PAGE)
    return 0


def over_networks() -> None:
    """Write the clocks of published trials and reported runs on the map's networks, and points of real hosts."""
    tuned, found = published(RESULTS), list[dict[str, Any]]()
    for source in SOURCES:
        found += computed(source, trials(source, tuned))
        print(f"{source.name}: {sum(each['source'] == source.name for each in found)} runs", flush=True)
    kept.write(NETWORKS, found)
    kept.write(BESIDE, [asdict(point) for point in points(tuned)])


def beside_hosts() -> list[Point]:
    """Return what real hosts have measured of the map."""
    return [Point(**each) for each in read_lines(BESIDE)]


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the records in a file; none without it."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


if __name__ == "__main__":
    sys.exit(main())
