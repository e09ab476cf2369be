"""The API under load, through HTTP: figures, their goals, and their ratios to a stored baseline.

    python -m benchmarks.api run [SCENARIO...]       measure, print, and store in .results/api
    python -m benchmarks.api publish                 write docs/results/api.md
    python -m benchmarks.api baseline                make the latest figures, published ones too, the baseline

SCENARIO is a module of benchmarks/api/scenarios; by default all are measured, but for `hour` and `processes`. The
exit status is 1 only with `--check FACTOR`, if a median is worse than the baseline by more than that factor.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path

from benchmarks.api import baseline, page, running
from benchmarks.api.figures import Bench
from benchmarks.api.postgres import TEMPORARY, program, temporary
from benchmarks.evidence.store import ROOT

STORE = ROOT / ".results" / "api"


def main() -> int:
    """Do what the command line says; return the exit status."""
    options = _parser().parse_args()
    if options.do == "run":
        with ExitStack() as stack:
            url = options.database
            if url == TEMPORARY:
                if program() is None:
                    print("benchmarks.api: PostgreSQL is not installed: nothing is measured with it")
                    return 0
                plans = options.store / "plans.log" if options.plans is not None else None
                url = stack.enter_context(temporary(options.plans, plans))
            bench = Bench(url, options.scale, options.rounds, options.mlflow, options.seconds)
            return running.run(options.scenarios, bench, options.store, options.check)
    found, published = page.read(options.store), page.read(ROOT / "docs" / "results" / page.DATA)
    if options.do == "baseline":
        known = {record["unix"]: record for record in (*published, *found)}
        if not known:
            sys.exit(
                f"benchmarks.api: there is no record in {options.store}, and none is published: measure first"
            )
        baseline.write([known[unix] for unix in sorted(known)])
        print(baseline.PLACE)
        return 0
    if not found and not published:
        sys.exit(f"benchmarks.api: nothing to publish in {options.store}: measure first")
    print(page.publish(found, ROOT / "docs" / "results"))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="benchmarks.api", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("do", choices=("run", "publish", "baseline"))
    parser.add_argument(
        "scenarios", nargs="*", metavar="SCENARIO", help=f"of: {', '.join((*running.SCENARIOS, *running.LONG))}"
    )
    parser.add_argument(
        "--database",
        metavar="URL",
        help=f"postgresql://...: create databases on this server; `{TEMPORARY}`: on one that is started for this",
    )
    parser.add_argument(
        "--plans",
        type=float,
        metavar="MS",
        help=f"with `--database {TEMPORARY}`: leave plans of slower statements in plans.log beside the records",
    )
    parser.add_argument("--scale", type=float, default=1.0, help="factor of all sizes; 0.05 is a quick look")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each figure")
    parser.add_argument(
        "--mlflow", type=Path, metavar="PYTHON", help="measure MLflow's server, which it can import, too"
    )
    parser.add_argument("--seconds", type=float, help="how long `streams` or `hour` last: 60 or 3600 by default")
    parser.add_argument("--check", type=float, metavar="FACTOR", help="exit with 1 if a median is worse by more")
    parser.add_argument("--store", type=Path, default=STORE, help="folder of the records")
    return parser


if __name__ == "__main__":
    sys.exit(main())
