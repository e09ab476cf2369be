"""Output layers with very many labels: what they cost, and whether hashing pays.

    python -m benchmarks.slide compare --size first --minutes 25     run what is missing, print the tables
    python -m benchmarks.slide compare --problem planted             only the generated problem, by the same rules
    python -m benchmarks.slide map --minutes 60                      rates over labels and batches
    python -m benchmarks.slide map --coarse --minutes 25             fewer of them
    python -m benchmarks.slide map --problem finna-yso-en            rates over batches on the real records
    python -m benchmarks.slide wire --minutes 25 --processes 2       bytes of 2 and 8 simulated hosts to one P@1
    python -m benchmarks.slide wire --per-step --problem finna-yso-en  bytes of a step on the real records
    python -m benchmarks.slide device --seconds 180                  on a GPU and on the cores of its machine
    python -m benchmarks.slide speed --minutes 5                     whole runs at 670,091 labels: rate and memory
    python -m benchmarks.slide threads --seconds 120                 rates by the number of threads
    python -m benchmarks.slide publish                               write docs/results/slide.md and its data
    python -m benchmarks.slide kernels [OPTION...]                   time the kernels of a step

The real records need HOOKE_DATA with finna-yso-en (docs/workloads.md). Results are kept in .results/slide and
continued: a comparison may be made in several calls. Measure on an idle machine: where others use its processors,
the page has no times.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path

from hooke.workloads.xmlc_mlp import PLANTED

from benchmarks.evidence.store import ROOT
from benchmarks.slide import kernels, region, speed, wire, wire_runs
from benchmarks.slide.conditions import PROBLEMS, SIZES, Problem, Size
from benchmarks.slide.page import page
from benchmarks.slide.publishing import device_results, publish
from benchmarks.slide.rounds import all_rounds
from benchmarks.slide.running import Store, run_all
from benchmarks.slide.wire_page import table as of_wire


def main() -> int:
    """Run one of the commands; return the exit status."""
    if sys.argv[1:2] == ["kernels"]:
        kernels.main(sys.argv[2:])
        return 0
    if sys.argv[1:2] == ["device"]:
        from benchmarks.slide import device  # imports torch

        device.main(sys.argv[2:])
        return 0
    if sys.argv[1:2] == ["threads"]:
        from benchmarks.slide import scaling  # imports torch

        scaling.main(sys.argv[2:])
        return 0
    parser = argparse.ArgumentParser(
        prog="benchmarks.slide", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "do", choices=("compare", "map", "wire", "device", "speed", "threads", "publish", "kernels")
    )
    parser.add_argument("--size", choices=SIZES, default="first", help="effort of compare (default: %(default)s)")
    parser.add_argument(
        "--problem",
        choices=PROBLEMS,
        nargs="+",
        help="default: compare: all; map and wire: planted",
    )
    parser.add_argument("--samples", type=int, help="budget of a reported run, instead of the size's")
    parser.add_argument("--target", type=float, help="P@1, instead of the problem's")
    only = parser.add_argument_group("wire")
    only.add_argument("--hidden", type=int, default=wire.HIDDEN, help="hidden units (default: %(default)s)")
    only.add_argument("--seeds", type=int, default=wire.SEEDS, help="of every cell (default: %(default)s)")
    only.add_argument("--processes", type=int, default=1, help="runs at once (default: %(default)s)")
    only.add_argument("--per-step", action="store_true", help="a fixed number of steps of Sync SGD")
    parser.add_argument("--minutes", type=float, default=25.0, help="start no run after so many minutes")
    parser.add_argument(
        "--coarse", action="store_true", help="map 10^4, 10^5 and 670,091 labels, batch 32, 256, 2048"
    )
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of every run")
    parser.add_argument("--store", type=Path, default=ROOT / ".results" / "slide")
    options = parser.parse_args()
    store = Store(options.store)
    if options.do == "publish":
        mapped, wired = region.stored(options.store), wire.stored(options.store)
        results, beside = ROOT / "docs" / "results", device_results(options.store)
        of_speed, threads = speed.stored(options.store), device_results(options.store, "threads")
        print(publish(store.stored().values(), mapped, results, wired, beside, of_speed, threads))
        return 0
    if options.do == "wire":
        for problem in options.problem or (PLANTED,):
            target = None if options.per_step else options.target or wire.TARGET
            task = wire.Task(problem, options.hidden, target)
            wire_runs.run(options.store, task, options.minutes, options.seeds, options.processes)
        print(of_wire(wire.stored(options.store)))
        return 0
    if options.do == "speed":
        speed.run(options.store, options.threads, options.minutes)
        return 0
    if options.do == "map":
        for problem in options.problem or (PLANTED,):
            region.run(options.store, options.threads, options.minutes, options.coarse, problem)
        print(region.table(region.stored(options.store)))
        return 0
    problems, size = _asked(options)
    run_all(all_rounds(problems, size, options.threads), store, options.minutes)
    print(page([record for record in store.stored().values() if record["size"] == size.name]))
    return 0


def _asked(options: argparse.Namespace) -> tuple[dict[str, Problem], Size]:
    """Return problems and size as they were asked for; with another budget or target under a name of its own."""
    problems, size = dict(PROBLEMS), SIZES[options.size]
    if options.problem:
        size = replace(size, problems=tuple(options.problem))
    if options.samples:
        size = replace(size, name=f"{size.name}, {options.samples:,} samples", samples=options.samples)
    if options.target:
        size = replace(size, name=f"{size.name}, target {options.target:g}")
        problems = {name: replace(problem, target=options.target) for name, problem in problems.items()}
    return problems, size


if __name__ == "__main__":
    sys.exit(main())
