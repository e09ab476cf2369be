"""A complete installation under load and random faults, and an exact count of what must not be.

    python -m benchmarks.soak run [--minutes 30] [--seed N] [--every 6]    exit status 0: no violation
    python -m benchmarks.soak planned [NAME...]       the faults that no soak draws; exit status 0: no violation
    python -m benchmarks.soak stops                   how long a stop takes (needs HOOKE_DATA with mnist)
    python -m benchmarks.soak publish                                      write docs/results/soak.md

Needs PostgreSQL and Redis; emulated hosts, small disks and cut links need root. Records and logs are kept in
.results/soak.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.evidence.store import ROOT
from benchmarks.soak import page

STORE = ROOT / ".results" / "soak"


def main() -> int:
    """Run a soak, or write the page; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("do", choices=("run", "planned", "stops", "publish"))
    parser.add_argument("names", nargs="*", metavar="NAME", help="of a planned fault; all if none is given")
    parser.add_argument("--scale", type=float, default=1.0, help="factor of the long times of planned faults")
    parser.add_argument("--minutes", type=float, default=30.0, help="for which faults strike")
    parser.add_argument("--seed", type=int, help="of load and faults; drawn if not given")
    parser.add_argument("--every", type=float, default=6.0, help="mean pause between two faults, s")
    parser.add_argument("--store", type=Path, default=STORE)
    options = parser.parse_args()
    if options.do == "publish":
        results = ROOT / "docs" / "results"
        if not page.read(options.store) and not page.read(results / page.DATA):
            parser.error(f"nothing to publish in {options.store}: run a soak first")
        print(page.publish(options.store, results))
        return 0
    if options.do == "planned":
        return _planned(options.names, options.scale, options.store / page.PLANNED)
    if options.do == "stops":
        return _stops(options.seed or 0, options.store / page.STOPS)
    seed = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    return _run(options.minutes, seed, options.every, options.store)


def _run(minutes: float, seed: int, every: float, store: Path) -> int:
    from benchmarks.soak.running import soak

    name = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-seed-{seed}"
    record = soak(minutes, seed, store / name, every)
    (store / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    wrong = record["violations"]
    print(f"{sum(record['faults'].values())} faults, {sum(record['runs'].values())} runs, {len(wrong)} violations")
    print(f"record: {store / name}.json; logs: {store / name}")
    return 1 if wrong else 0


def _planned(names: Sequence[str], scale: float, store: Path) -> int:
    from benchmarks.soak.planned import SCENARIOS
    from benchmarks.soak.trial import run, write

    if unknown := [name for name in names if name not in SCENARIOS]:
        sys.exit(
            f"benchmarks.soak: no planned fault is called {', '.join(unknown)}; there are: {', '.join(SCENARIOS)}"
        )
    wrong = 0
    for name in names or SCENARIOS:
        folder = store / f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{name.replace(' ', '-')}"
        record = run(name, SCENARIOS[name], folder, scale)
        print(f"{name}: {len(record['violations'])} violations; record: {write(record, store)}", flush=True)
        wrong += len(record["violations"]) + bool(record["failed"])
    return 1 if wrong else 0


def _stops(seed: int, store: Path) -> int:
    from benchmarks.soak.stopping import LIMIT_SECONDS, TURNS, measure

    name = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    record = measure(store / name, seed, TURNS)
    (store / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    late = [s for s in record["stops"] if s["checkpoint"] is None or s["seconds"] > LIMIT_SECONDS]
    print(f"{len(record['stops'])} stops, {len(late)} late or without a checkpoint")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
