"""Methods and peers, each at the best of as many trials, on the same emulated hosts.

    python -m benchmarks.tuned run --task fashion --place 8-hosts --minutes 120 [--entries slowmo "PyTorch DDP"]
    python -m benchmarks.tuned run --task fashion --proposals .results/regimes.jsonl   (see benchmarks.regimes)
    python -m benchmarks.tuned run --task fashion-early --place virtual --missing --minutes 60
    python -m benchmarks.tuned table --task fashion --place 8-hosts [--baseline "PyTorch DDP"]
    python -m benchmarks.tuned publish                  write docs/results/tuned.md and its raw data

`run` needs root (emulated hosts; not in virtual time) and HOOKE_DATA. Results are kept in .results/tuned and
continued, in virtual time entry by entry. `--missing` runs the entries that the page lacks, or has under an
earlier rule of the clock, the cheapest first. The page has the results in version control; complete entries of the
store replace the earlier ones.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.evidence.store import ROOT
from benchmarks.netlab.lab import LabError
from benchmarks.regimes.cells import proposals
from benchmarks.tuned.conditions import AT, SEEDS, TASKS, TUNING_SEEDS
from benchmarks.tuned.entries import DDP, SYNC, baseline_at, entries
from benchmarks.tuned.missing import missing_entries
from benchmarks.tuned.page import table
from benchmarks.tuned.publishing import publish, published
from benchmarks.tuned.records import collect
from benchmarks.tuned.rounds import Proposed, Rounds
from benchmarks.tuned.running import run_all, run_in_turn
from benchmarks.tuned.store import Store

RESULTS = ROOT / "docs" / "results"


def main() -> int:
    """Run what is missing, print the table or write the page; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.tuned", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("do", choices=("run", "table", "publish"))
    parser.add_argument("--task", choices=TASKS, help="of run and table")
    parser.add_argument("--place", choices=AT, default="8-hosts")
    parser.add_argument("--minutes", type=float, default=600.0, help="start no run after so many minutes")
    parser.add_argument("--trials", type=int, help="of every entry; by default as many as the task's tables have")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--tuning-seeds", type=int, default=TUNING_SEEDS, help="seeds of every trial")
    parser.add_argument("--entries", nargs="+", metavar="NAME", help="only these; all: the most important first")
    parser.add_argument(
        "--missing",
        action="store_true",
        help="only entries without a published result of this task and place, timed by the present rule",
    )
    parser.add_argument(
        "--baseline", help=f"of the table's verdicts; empty: {DDP.name}, or {SYNC} in virtual time"
    )
    parser.add_argument(
        "--proposals", type=Path, help="records of `benchmarks.regimes propose`, whose best trials alone are run"
    )
    parser.add_argument("--store", type=Path, default=ROOT / ".results" / "tuned")
    options = parser.parse_args()
    store = Store(options.store)
    if options.do == "publish":
        print(publish(collect(store.stored().values()), RESULTS))
        return 0
    if options.task is None:
        parser.error(f"{options.do} needs --task: {' or '.join(TASKS)}")
    task, place = TASKS[options.task], AT[options.place]
    known = {entry.name: entry for entry in entries(place)}
    baseline = options.baseline or baseline_at(place)
    if unknown := sorted({*(options.entries or ()), baseline} - known.keys()):
        parser.error(f"no entry is called {', '.join(unknown)} at this place; there are: {', '.join(known)}")
    chosen = [known[name] for name in options.entries or known]
    if options.missing:
        there = published(RESULTS), collect(store.stored().values())
        chosen = [entry for entry in missing_entries(task, place, *there) if entry in chosen]
        print(f"{len(chosen)} missing: {', '.join(entry.name for entry in chosen)}", flush=True)
    rounds: list[Rounds]
    seeds = options.seeds, options.tuning_seeds
    if options.proposals:
        best = {entry.name: proposals(options.proposals, task.name, place.hosts, entry.name) for entry in chosen}
        if lacking := [name for name, found in best.items() if not found]:
            parser.error(f"{options.proposals} proposes nothing for {', '.join(lacking)} at this place")
        rounds = [Proposed(task, place, entry, best[entry.name], *seeds) for entry in chosen]
    else:
        rounds = [Rounds(task, place, entry, options.trials or task.trials, *seeds) for entry in chosen]
    if options.do == "run":
        try:
            (run_in_turn if place.world == "virtual" else run_all)(rounds, place, store, options.minutes)
        except LabError as error:
            print(f"tuned: {error}", file=sys.stderr)
            return 1
    names = {entry.name for entry in chosen}
    own = [record for record in collect(store.stored().values()) if record["entry"] in names]
    print(table([r for r in own if (r["task"], r["place"]) == (task.name, place.name)], baseline))
    return 0


if __name__ == "__main__":
    sys.exit(main())
