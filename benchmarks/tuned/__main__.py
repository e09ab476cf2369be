"""Methods and peers, each at the best of as many trials, on the same emulated hosts.

    python -m benchmarks.tuned run --task fashion --place 8-hosts --minutes 120 [--entries slowmo "PyTorch DDP"]
    python -m benchmarks.tuned run --task fashion --proposals .results/regimes.jsonl   (see benchmarks.regimes)
    python -m benchmarks.tuned run --task fashion-early --place virtual virtual-4 --missing --processes 8
    python -m benchmarks.tuned retime --task fashion-early-halving --of fashion-early --place virtual [--missing]
    python -m benchmarks.tuned repeat --task fashion --place 8-hosts --collective halving --minutes 120
        [--entries slowmo elastic-slowmo] [--peers "PyTorch post-local SGD" "PyTorch DDP, bf16 hook"] [--seeds 3]
    python -m benchmarks.tuned chosen --task fashion-halving --minutes 10 [--warm] [--entries slowmo]
    python -m benchmarks.tuned table --task fashion --place 8-hosts [--baseline "PyTorch DDP"]
    python -m benchmarks.tuned publish                  write docs/results/tuned.md and its raw data

`run` needs root (emulated hosts; not in virtual time) and HOOKE_DATA. Results are kept in .results/tuned and
continued, in virtual time entry by entry, at several places in turn. `--missing` runs the entries that the page
lacks, or has under an earlier rule of the clock, the cheapest first, or in the order of `--entries`. `retime`
gives published runs of synchronous methods in virtual time the times of the present rule, or of another task that
differs in the schedule of its all-reduces alone, without gradients, and takes over those of methods without any
(`benchmarks.tuned.retimed`); `--missing`: of entries that the other task lacks. `repeat` runs
published settings of hosts on their published seeds by another collective, in turn with the published peers
(`benchmarks.tuned.repeated`): by default all synchronous methods of the table, DDP with the bf16 hook and
post-local SGD. Call it again to go on, with a new `--store` to measure anew. `chosen` runs settings that trials in
virtual time have chosen, on other seeds (`benchmarks.tuned.chosen`). The page has the results in version
control; complete entries of the store replace the earlier ones.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

from benchmarks.evidence.running import BrokenClock
from benchmarks.evidence.store import ROOT
from benchmarks.netlab.lab import LabError
from benchmarks.regimes.cells import proposals
from benchmarks.tuned.chosen import CannotChoose, chosen
from benchmarks.tuned.conditions import AT, SEEDS, TASKS, TUNING_SEEDS, Place, Task
from benchmarks.tuned.entries import DDP, SYNC, baseline_at, entries
from benchmarks.tuned.missing import by_entry, missing_entries
from benchmarks.tuned.page import table
from benchmarks.tuned.publishing import publish, published
from benchmarks.tuned.records import Record, collect
from benchmarks.tuned.repeated import PEERS, CannotRepeat, repetitions, same_samples
from benchmarks.tuned.repeated_page import repeated_table
from benchmarks.tuned.retimed import retime
from benchmarks.tuned.rounds import Proposed, Rounds
from benchmarks.tuned.running import run_all, run_in_turn
from benchmarks.tuned.store import Store

RESULTS = ROOT / "docs" / "results"


class Unknown(Exception):
    """A name on the command line is none of an entry, or a file lacks it."""


def main() -> int:
    """Run what is missing, print the table or write the page; return the exit status."""
    parser = arguments()
    options = parser.parse_args()
    store = Store(options.store)
    if options.do == "publish":
        print(publish(collect(store.stored().values()), RESULTS))
        return 0
    if options.task is None:
        parser.error(f"{options.do} needs --task: {' or '.join(TASKS)}")
    places = [AT[name] for name in options.place]
    if options.do == "retime":
        published_again(TASKS[options.of or options.task], TASKS[options.task], places, options)
        return 0
    simulated = all(place.world == "virtual" for place in places)
    if options.do in ("repeat", "chosen") and any(place.world == "virtual" for place in places):
        parser.error(
            f"{options.do} is for hosts: in virtual time `retime` computes the times without running anything"
        )
    if not simulated and (len(places) > 1 or options.processes > 1):
        parser.error("several places or processes are for virtual time: on hosts there is one run at a time")
    try:
        if options.do == "repeat":
            return repeat(options, places[0], store)
        if options.do == "chosen":
            return run_chosen(options, places[0], store)
        found = [planned(options, place, store) for place in places]
        if options.do == "run" and simulated:
            in_turn = [rounds for of_places in zip_longest(*found) for rounds in of_places if rounds]
            run_in_turn(in_turn, store, options.minutes, options.processes)
        elif options.do == "run":
            run_all(found[0], places[0], store, options.minutes)
    except (Unknown, CannotRepeat, CannotChoose) as error:
        parser.error(str(error))
    except (LabError, BrokenClock) as error:
        print(f"tuned: {error}", file=sys.stderr)
        return 1
    task, kept = TASKS[options.task], collect(store.stored().values())
    for place, planned_there in zip(places, found, strict=True):
        names = {rounds.entry.name for rounds in planned_there}
        searched = [each for each in kept if not each.get("repeats")]
        own = [each for each in searched if (each["task"], each["place"]) == (task.name, place.name)]
        shown = table([each for each in own if each["entry"] in names], options.baseline or baseline_at(place))
        print(f"{place.title}:\n{shown}")
    return 0


def published_again(source: Task, task: Task, places: Sequence[Place], options: argparse.Namespace) -> None:
    """Write the page with the runs of a task at the times that they have as runs of another one.

    Of all entries, or of those named, or of those that the other one lacks.
    """
    found, known = list[Record](), published(RESULTS)
    lacking = {place.name: {entry.name for entry in missing_entries(task, place, known, [])} for place in places}
    searched = [each for each in known if not each.get("repeats")]
    own = [each for each in searched if each["task"] == source.name and each["place"] in lacking]
    own = [each for each in own if not options.missing or each["entry"] in lacking[each["place"]]]
    own = [each for each in own if not options.entries or each["entry"] in options.entries]
    for (_, _, place, name, _), records in by_entry(own).items():
        again = retime(records, task)
        print(f"{name}, {place}: {again if isinstance(again, str) else f'{len(again)} runs'}", flush=True)
        found += [] if isinstance(again, str) else again
    print(publish(found, RESULTS))


def repeat(options: argparse.Namespace, place: Place, store: Store) -> int:
    """Run published settings by another collective, and print their table. Raises CannotRepeat."""
    task, known = TASKS[options.task], published(RESULTS)
    asked = options.entries or (), options.peers or (), options.seeds
    again = repetitions(task, place, options.collective, known, *asked)
    run_all(again, place, store, options.minutes)
    keys = {play.key for rounds in again for play in rounds.plays()}
    found = collect(stored for key, stored in store.stored().items() if key in keys)
    print(f"{len(found)} of {len(keys)} runs, {place.title}:")
    if found:
        print(f"{repeated_table(found)}\n{same_samples(found)}")
    return 0


def run_chosen(options: argparse.Namespace, place: Place, store: Store) -> int:
    """Run settings that virtual time has chosen, and print their table. Raises CannotChoose."""
    task = TASKS[options.task]
    task = replace(task, samples=options.samples) if options.samples else task
    found = chosen(task, place, options.entries or [], options.seeds or SEEDS, pinned=options.warm)
    run_all(found, place, store, options.minutes, warm_hosts=options.warm)
    keys = {play.key for rounds in found for play in rounds.plays()}
    kept = collect(stored for key, stored in store.stored().items() if key in keys)
    print(
        f"{len(kept)} of {len(keys)} runs, {place.title}:\n{table(kept, options.baseline or baseline_at(place))}"
    )
    return 0


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.tuned", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("do", choices=("run", "table", "publish", "retime", "repeat", "chosen"))
    parser.add_argument("--task", choices=TASKS, help="of run and table")
    parser.add_argument("--place", choices=AT, nargs="+", default=["8-hosts"], help="several: in virtual time")
    parser.add_argument("--minutes", type=float, default=600.0, help="start no run after so many minutes")
    parser.add_argument("--trials", type=int, help="of every entry; by default as many as the task's tables have")
    parser.add_argument("--seeds", type=int, help=f"by default {SEEDS}; of repeat: those that are published")
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
    parser.add_argument(
        "--processes", type=int, default=1, help="runs in virtual time at once, each on one core, all niced"
    )
    parser.add_argument("--collective", choices=("halving", "tree"), default="halving", help="of repeat")
    parser.add_argument("--peers", nargs="+", metavar="NAME", help=f"of repeat; by default {' and '.join(PEERS)}")
    parser.add_argument("--warm", action="store_true", help="chosen: ranks are forks, pinned to a core each")
    parser.add_argument("--samples", type=int, help="chosen: another budget, to see whether all entries can run")
    parser.add_argument("--of", choices=TASKS, help="retime: the task whose published runs get other times")
    parser.add_argument("--store", type=Path, default=ROOT / ".results" / "tuned")
    return parser


def planned(options: argparse.Namespace, place: Place, store: Store) -> list[Rounds]:
    """Return the entries to run at a place, the first ones first. Raises Unknown."""
    task, known = TASKS[options.task], {entry.name: entry for entry in entries(place)}
    baseline = options.baseline or baseline_at(place)
    if unknown := sorted({*(options.entries or ()), baseline} - known.keys()):
        raise Unknown(f"no entry is called {', '.join(unknown)} at {place.name}; there are: {', '.join(known)}")
    chosen = [known[name] for name in options.entries or known]
    if options.missing:
        lacking = missing_entries(task, place, published(RESULTS), collect(store.stored().values()))
        chosen = [entry for entry in chosen if entry in lacking] if options.entries else lacking
        print(f"{place.name}: {len(chosen)} missing: {', '.join(entry.name for entry in chosen)}", flush=True)
    seeds = options.seeds or SEEDS, options.tuning_seeds
    if not options.proposals:
        return [Rounds(task, place, entry, options.trials or task.trials, *seeds) for entry in chosen]
    best = {entry.name: proposals(options.proposals, task.name, place.hosts, entry.name) for entry in chosen}
    if lacks := [name for name, found in best.items() if not found]:
        raise Unknown(f"{options.proposals} proposes nothing for {', '.join(lacks)} at {place.name}")
    return [Proposed(task, place, entry, best[entry.name], *seeds) for entry in chosen]


if __name__ == "__main__":
    sys.exit(main())
