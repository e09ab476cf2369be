"""Ideas of decision 119, each beside what it would replace, in virtual time with equal trials.

    python -m benchmarks.ideas run [--minutes 20] [--processes 4] [--store FOLDER]
    python -m benchmarks.ideas publish [--store FOLDER]      write the records, and print the table of them

The ideas are own algorithms in this folder, not methods of the catalogue. The problem is small (digits), the link
as slow for it as 1 Gb/s is for LeNet; 6 trials by successive halving for every entry, then seeds 0 to 4.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from pathlib import Path

from hooke.comparison.crossing import Crossing
from hooke.comparison.verdict import compare
from hooke.comparison.wording import short
from hooke.spec.spaces import Space

from benchmarks.evidence.store import ROOT
from benchmarks.tuned.conditions import AT, CLAIM_SEEDS, TASKS
from benchmarks.tuned.entries import HIDDEN, Entry
from benchmarks.tuned.peer_spaces import ADAMW, ADAMW_SPACES
from benchmarks.tuned.records import Record, collect, read, write
from benchmarks.tuned.rounds import Rounds
from benchmarks.tuned.running import run_in_turn
from benchmarks.tuned.store import Store

HERE, DATA = Path(__file__).resolve().parent, ROOT / "docs" / "results" / "regimes" / "ideas.jsonl"
TASK, PLACE, TRIALS = TASKS["digits-halving"], AT["slow-8"], 6
MUON = {"optimizer": "muon", "weight_decay": 0.01}
MUON_SPACES = {"lr": Space(low=0.001, high=0.1, scale="log")}
PLAIN = ("slowmo", "local-sgd", "sync-easgd", "sync-sgd")


def _inside(method: str) -> list[Entry]:
    given = HIDDEN.get(method, {})
    return [
        Entry(f"{method}, AdamW inside", method, given={**given, **ADAMW}, spaces=ADAMW_SPACES),
        Entry(f"{method}, Muon inside", method, given={**given, **MUON}, spaces=MUON_SPACES),
    ]


ENTRIES = (
    *(Entry(name, name, given=HIDDEN.get(name, {})) for name in PLAIN),
    *(Entry(f"{name}, growing period", f"growing-{name}") for name in ("slowmo", "local-sgd")),
    *(
        Entry(f"{name}, mean evaluated", f"mean-{name}", given=HIDDEN.get(name, {}))
        for name in ("slowmo", "local-sgd", "sync-easgd")
    ),
    *(entry for name in ("slowmo", "sync-easgd", "sync-sgd") for entry in _inside(name)),
)


def main() -> int:
    """Run what is missing, or publish it; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.ideas", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("do", choices=("run", "publish"))
    parser.add_argument("--minutes", type=float, default=60.0, help="start no run after so many minutes")
    parser.add_argument("--processes", type=int, default=2, help="runs at once, each on one core")
    parser.add_argument("--store", type=Path, default=ROOT / ".results" / "ideas")
    options = parser.parse_args()
    store = Store(options.store)
    if options.do == "run":
        os.environ["HOOKE_PATH"] = str(HERE)  # before the catalogue is read
        rounds = [Rounds(TASK, PLACE, entry, TRIALS, CLAIM_SEEDS) for entry in ENTRIES]
        run_in_turn(rounds, store, options.minutes, options.processes)
        return 0
    found = collect(store.stored().values())
    if found:
        write(DATA, found)
    print("\n".join(table(read(DATA))))
    return 0


def table(records: list[Record]) -> list[str]:
    """Return every idea beside the method without it, as lines of Markdown."""
    lines = ["| entry | trials that met the target | seconds, by seed | thousand samples | over the plain one |"]
    lines.append("|---|---|---|---|---|")
    runs: dict[str, dict[int, Record]] = {}
    met: dict[str, set[int]] = {}
    for each in records:
        if each["rung"] is None:
            runs.setdefault(each["entry"], {})[each["seed"]] = each
        elif each["time_to_target"] is not None:
            met.setdefault(each["entry"], set()).add(each["trial"])
    for entry in ENTRIES:
        own, plain = runs.get(entry.name, {}), runs.get(entry.name.partition(",")[0], {})
        if not own:
            continue
        samples = [each["samples_to_target"] for each in own.values() if each["samples_to_target"] is not None]
        said = compare(_crossings(plain), _crossings(own)) if plain and plain is not own else None
        cells = [
            entry.name,
            f"{len(met.get(entry.name, ()))} of {TRIALS}",
            ", ".join(_seconds(each) for _, each in sorted(own.items())),
            f"{statistics.fmean(samples) / 1000:.1f}" if samples else "-",
            f"{said.claim}: {short(entry.name, said)}" if said else "-",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _seconds(record: Record) -> str:
    if record["time_to_target"] is None:
        return "diverged" if record["diverged"] else "missed"
    return f"{record['time_to_target']:.3f}"


def _crossings(runs: dict[int, Record]) -> dict[int, Crossing]:
    return {
        seed: Crossing(each["before"], each["time_to_target"])
        if each["time_to_target"] is not None
        else Crossing(each["train_seconds"] or 0.0, None, bool(each["diverged"]))
        for seed, each in runs.items()
    }


if __name__ == "__main__":
    sys.exit(main())
