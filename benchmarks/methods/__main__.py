"""Write docs/results/mnist-lenet-{virtual,local}.{md,csv}: every method under one setting, three seeds.

    python -m benchmarks.methods virtual [--jobs 2]     in virtual time: other work on the machine changes nothing
    python -m benchmarks.methods local                  on this machine's cores: leave it alone meanwhile

Results and raw journals lie in `.results/` (not in version control); a cell that lies there is not run again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.methods import conditions, table
from benchmarks.methods.runs import cells, run_all, run_so_far

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Run what is missing, then write the table."""
    parser = argparse.ArgumentParser(prog="benchmarks.methods", description=__doc__)
    parser.add_argument("place", choices=conditions.PLACES)
    parser.add_argument("--seeds", type=int, default=conditions.SEEDS)
    parser.add_argument("--jobs", type=int, default=1, help="runs side by side (virtual time only)")
    parser.add_argument("--so-far", action="store_true", help="run nothing, write the page of what has been run")
    parser.add_argument("--only", nargs="*", default=[], help="algorithms, for a try; writes no table")
    options = parser.parse_args()
    place = conditions.PLACES[options.place]
    if place.world == "mpi" and options.jobs != 1:
        parser.error("timed runs never share cores: --jobs 1")
    todo, folder = cells(place, options.seeds, options.only), ROOT / ".results" / place.name
    found = run_so_far(todo, folder) if options.so_far else run_all(todo, folder, options.jobs)
    if options.only:
        return
    target = ROOT / "docs" / "results" / f"mnist-lenet-{place.name}"
    table.write(target, place, found, len(todo))
    print(f"wrote {target}.md and .csv")


if __name__ == "__main__":
    main()
