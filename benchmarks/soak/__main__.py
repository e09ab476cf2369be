"""A complete installation under load and random faults, and an exact count of what must not be.

    python -m benchmarks.soak run [--minutes 30] [--seed N] [--every 6]    exit status 0: no violation
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
from pathlib import Path

from benchmarks.evidence.store import ROOT
from benchmarks.soak import page

STORE = ROOT / ".results" / "soak"


def main() -> int:
    """Run a soak, or write the page; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("do", choices=("run", "publish"))
    parser.add_argument("--minutes", type=float, default=30.0, help="for which faults strike")
    parser.add_argument("--seed", type=int, help="of load and faults; drawn if not given")
    parser.add_argument("--every", type=float, default=6.0, help="mean pause between two faults, s")
    parser.add_argument("--store", type=Path, default=STORE)
    options = parser.parse_args()
    if options.do == "publish":
        records = page.read(options.store)
        if not records and not page.read(ROOT / "docs" / "results" / page.DATA):
            parser.error(f"nothing to publish in {options.store}: run a soak first")
        print(page.publish(records, ROOT / "docs" / "results"))
        return 0
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


if __name__ == "__main__":
    sys.exit(main())
