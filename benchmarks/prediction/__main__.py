"""Predicted against measured step time and exposed share of ten methods.

    python -m benchmarks.prediction run [--place local hosts-2 hosts-4 hosts-8]   about 15 minutes per workload
    python -m benchmarks.prediction predict                                      predicts again, without runs
    python -m benchmarks.prediction publish                                      writes docs/results/prediction.md

Emulated hosts need root (docs/netlab.md). Leave the machine alone meanwhile. Results lie in `.results/prediction/`
(not in version control), one file per workload and place; `publish` copies them to `docs/results/prediction/`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.prediction.conditions import PLACES, WORKLOADS

ROOT = Path(__file__).resolve().parents[2]
STORE = ROOT / ".results" / "prediction"
PAGE = ROOT / "docs" / "results" / "prediction.md"
DATA = ROOT / "docs" / "results" / "prediction"
"""Calibrations and runs of the page, in version control."""


def main() -> int:
    """Run or publish; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.prediction", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="calibrate, measure and predict")
    run.add_argument("--place", nargs="+", choices=PLACES, default=list(PLACES))
    run.add_argument("--workload", nargs="+", choices=WORKLOADS, default=list(WORKLOADS))
    run.add_argument("--seconds", type=float, default=4.0, help="of each real run")
    run.add_argument("--calibration-seconds", type=float, default=25.0)
    run.add_argument("--rounds", type=int, default=1, help="real runs of each method")
    commands.add_parser("predict", help="predict again from the calibrations and runs that are stored")
    commands.add_parser("publish", help="write the page of what has been run")
    options = parser.parse_args()
    if options.command == "publish":
        return _publish()
    from benchmarks.prediction.running import again, measure

    if options.command == "predict":
        for file in sorted(STORE.glob("*-*.json")):
            file.write_text(json.dumps(again(json.loads(file.read_text())), indent=1) + "\n")
        return 0
    STORE.mkdir(parents=True, exist_ok=True)
    for workload, name in itertools.product(options.workload, options.place):
        found = measure(PLACES[name], workload, options.seconds, options.calibration_seconds, options.rounds)
        (STORE / f"{workload}-{name}.json").write_text(json.dumps(found, indent=1) + "\n")
    return 0


def _publish() -> int:
    from benchmarks.prediction.page import page

    DATA.mkdir(parents=True, exist_ok=True)
    for file in STORE.glob("*-*.json"):
        (DATA / file.name).write_text(json.dumps(_plain(json.loads(file.read_text())), indent=1) + "\n")
    files = [DATA / f"{workload}-{name}.json" for workload, name in itertools.product(WORKLOADS, PLACES)]
    found = [json.loads(file.read_text()) for file in files if file.exists()]
    if not found:
        print("nothing was run yet: python -m benchmarks.prediction run", file=sys.stderr)
        return 1
    PAGE.write_text(page(found))
    print(f"wrote {PAGE}")
    return 0


def _plain(found: dict[str, Any]) -> dict[str, Any]:
    """Return stored results with versions as their projects number them, without the name of a build."""
    versions = {part: str(text).partition("+")[0] for part, text in found["calibration"]["versions"].items()}
    return found | {"calibration": found["calibration"] | {"versions": versions}}


if __name__ == "__main__":
    sys.exit(main())
