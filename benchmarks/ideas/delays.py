"""Methods whose gradients are applied one exchange late, beside Sync SGD, each at the best of the same 8 trials.

    python -m benchmarks.ideas.delays          run what is missing, in this process, and print the table
    python -m benchmarks.ideas.delays signs    the same of Sync SGD and Delayed Gradient Averaging that send signs

The problem is that of the other ideas: small (digits), on a link as slow for it as 1 Gb/s is for LeNet. Every
trial has the whole budget and one tuning seed; the fastest is run with seeds 0 to 4 (decisions 137 and 146).
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hooke.comparison.crossing import Crossing
from hooke.comparison.verdict import compare_all
from hooke.comparison.wording import short
from hooke.tuning.search import FIRST_TUNING_SEED

from benchmarks.common import records
from benchmarks.evidence.store import ROOT
from benchmarks.tuned.conditions import AT, CLAIM_SEEDS, TASKS
from benchmarks.tuned.entries import Entry
from benchmarks.tuned.peer_spaces import ACCUMULATION

TASK, PLACE, TRIALS = TASKS["digits-halving"], AT["slow-8"], 8
DATA = ROOT / "docs" / "results" / "regimes" / "delays.jsonl"
PIPE, OWN = "pipe-sgd", "delayed-gradient-averaging"


@dataclass(frozen=True)
class Sent(Entry):
    """An entry with a wire type of its own."""

    wire: str = "sign"

    def document(self, *given: Any) -> dict[str, Any]:
        """Return the run with these parameters."""
        found = super().document(*given)
        return found | {"communication": found["communication"] | {"wire": self.wire}}


BASELINE = Entry("sync-sgd, accumulation", "sync-sgd", spaces=ACCUMULATION)
ENTRIES: tuple[Entry, ...] = (
    BASELINE,
    Entry(OWN, OWN),
    Entry(f"{OWN}, share 0.7", OWN, given={"share": 0.7}),
    Entry(PIPE, PIPE),
    Entry(f"{PIPE}, predicted", PIPE, given={"predict": "momentum"}),
    Entry(f"{OWN}, share 0.5", OWN, given={"share": 0.5}),
)
SIGNS = (
    *ENTRIES[:2],
    Sent(f"{BASELINE.name}, sign", "sync-sgd", spaces=ACCUMULATION),
    Sent(f"{OWN}, sign", OWN),
)
"""The first two, with bf16, beside those that send the sign of each element; all have error feedback."""
HEADER = (
    "| entry | trials that met the target, that diverged | trial | seconds, by seed | thousand samples "
    "| over Sync SGD |\n"
    "|---|---|---|---|---|---|"
)
Record = Mapping[str, Any]
Key = tuple[str, int, int]


def key(record: Record) -> Key:
    """Return entry, trial and seed of a record."""
    return record["entry"], record["trial"], record["seed"]


def best(entry: Entry, known: Mapping[Key, Record]) -> int | None:
    """Return the fastest trial of an entry; None until all are known, or if none met the target."""
    tried = {trial: known.get((entry.name, trial, FIRST_TUNING_SEED)) for trial in range(1, TRIALS + 1)}
    met = {trial: each["seconds"] for trial, each in tried.items() if each and each["seconds"] is not None}
    return min(met, key=lambda trial: met[trial], default=None) if all(tried.values()) else None


def missing(known: Mapping[Key, Record], entries: Sequence[Entry]) -> Iterator[tuple[Entry, int, int]]:
    """Yield entry, trial and seed of the runs that have no record, entry by entry."""
    for entry in entries:
        trials = [(trial, FIRST_TUNING_SEED) for trial in range(1, TRIALS + 1)]
        yield from ((entry, *each) for each in trials if (entry.name, *each) not in known)
        if (trial := best(entry, known)) is not None:
            yield from ((entry, trial, s) for s in range(CLAIM_SEEDS) if (entry.name, trial, s) not in known)


def carried_out(entry: Entry, trial: int, seed: int) -> Record:
    """Return the record of one run: its clock at the target, and at the evaluation before."""
    from hooke.catalogue.validation import validate_run
    from hooke.errors import NumericalError
    from hooke.loop.train import run_spec_virtual

    parameters = entry.settings(TRIALS, PLACE.hosts)[trial - 1]
    about = {"entry": entry.name, "trial": trial, "seed": seed, "parameters": parameters}
    try:
        found = run_spec_virtual(validate_run(entry.document(TASK, PLACE, parameters, TASK.samples, seed)))[0]
    except NumericalError:
        return about | {"seconds": None, "before": 0.0, "samples": None, "diverged": True}
    before = max((each.clock for each in found.evaluations if not each.reached), default=0.0)
    met = next((each for each in found.evaluations if each.reached), None)
    own = {"seconds": met and met.clock, "before": before, "samples": met and met.samples, "diverged": False}
    return about | own


def table(known: Mapping[Key, Record], entries: Sequence[Entry] = ENTRIES) -> str:
    """Return the entries whose runs are complete, in the order in which they are run."""
    lines, times = list[str](), dict[str, dict[int, Crossing]]()
    for entry in entries:
        trial = best(entry, known)
        runs = [known.get((entry.name, trial, seed)) for seed in range(CLAIM_SEEDS)] if trial else []
        own = [run for run in runs if run is not None]
        if not own or len(own) < len(runs):
            continue
        times[entry.name] = {run["seed"]: Crossing(run["before"], run["seconds"], run["diverged"]) for run in own}
        tried = [known[entry.name, number, FIRST_TUNING_SEED] for number in range(1, TRIALS + 1)]
        samples = [run["samples"] for run in own if run["samples"] is not None]
        cells = [
            entry.name,
            f"{sum(run['seconds'] is not None for run in tried)}, {sum(run['diverged'] for run in tried)}",
            str(trial),
            ", ".join(_told(run) for run in own),
            f"{statistics.fmean(samples) / 1000:.1f}" if samples else "-",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    others = {name: own for name, own in times.items() if name != BASELINE.name}
    said = compare_all(times.get(BASELINE.name, {}), others)
    told = [f"{said[name].claim}: {short(name, said[name])}" if name in said else "-" for name in times]
    return "\n".join([HEADER, *(f"{line} {words} |" for line, words in zip(lines, told, strict=True))])


def _told(run: Record) -> str:
    return f"{run['seconds']:.2f}" if run["seconds"] is not None else "diverged" if run["diverged"] else "missed"


def main(which: Sequence[str], path: Path = DATA) -> int:
    """Run what is missing, and print the table."""
    entries = SIGNS if "signs" in which else ENTRIES
    while todo := next(missing(records.read(path, key), entries), None):
        records.add(path, carried_out(*todo))
    print(table(records.read(path, key), entries))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
