"""Overhead benchmarks with limits: `python -m benchmarks.core [--json FILE] [--repeats N] [NAME...]`.

Every module of this folder with a function `measure()` is a benchmark: it yields (name, value, unit, limit or
None). Each is called N times; the table shows median, minimum and maximum. Measure on an idle machine. The exit
status is 1 if a median exceeds its limit.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

from hooke.cli.text import columns
from hooke.hardware.description import describe

FOLDER = Path(__file__).parent


def discover(names: Iterable[str]) -> list[str]:
    """Return the benchmarks called `names`, by default all of them."""
    known = sorted(info.name for info in pkgutil.iter_modules([str(FOLDER)]) if not info.name.startswith("_"))
    chosen = list(names) or known
    if unknown := set(chosen) - set(known):
        sys.exit(f"no benchmark is called {', '.join(sorted(unknown))}; there are: {', '.join(known)}")
    return chosen


def repeat(name: str, times: int) -> list[dict[str, Any]]:
    """Run one benchmark several times; return one entry per measured value."""
    module = importlib.import_module(f"benchmarks.core.{name}")
    found: dict[str, dict[str, Any]] = {}
    for turn in range(times if hasattr(module, "measure") else 0):
        print(f"{name} {turn + 1}/{times}", end="\r", file=sys.stderr, flush=True)
        for what, value, unit, limit in module.measure():
            entry = found.setdefault(
                what, {"benchmark": name, "what": what, "unit": unit, "limit": limit, "values": []}
            )
            entry["values"].append(value)
    for entry in found.values():
        entry["median"] = median(entry["values"])
    return list(found.values())


def row(entry: dict[str, Any]) -> tuple[str, ...]:
    """Return one line of the table."""
    low, high = min(entry["values"]), max(entry["values"])
    limit = entry["limit"]
    verdict = "" if limit is None else f"< {limit:g}" + ("" if entry["median"] < limit else "   OVER")
    return (
        entry["benchmark"], entry["what"], f"{entry['median']:.4g}", entry["unit"],
        f"{low:.4g} .. {high:.4g}", verdict,
    )  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.core", description="Measure what the core may cost.")
    parser.add_argument("names", nargs="*", help="benchmarks to run (default: all)")
    parser.add_argument("--json", type=Path, help="also write every value to this file")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    entries = [e for name in discover(options.names) for e in repeat(name, options.repeats)]
    print(columns([("BENCHMARK", "WHAT", "MEDIAN", "", "RANGE", "LIMIT"), *map(row, entries)]))
    if options.json:
        hardware, versions = describe()
        report = {"unix": time.time(), "hardware": hardware, "versions": versions, "results": entries}
        options.json.write_text(json.dumps(report, indent=2) + "\n")
    return int(any(e["limit"] is not None and e["median"] >= e["limit"] for e in entries))


if __name__ == "__main__":
    sys.exit(main())
