"""What trials and reported runs of tuned comparisons have learnt: after how many samples each met its target.

Of a synchronous method that depends on no clock, so runs of emulated hosts count as simulated ones do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hooke.tuning.search import FIRST_TUNING_SEED

from benchmarks.evidence.machine import name_of
from benchmarks.evidence.store import ROOT
from benchmarks.regimes import store
from benchmarks.regimes.clocks import STEPS
from benchmarks.tuned.conditions import AT, TASKS, WORKERS, Task
from benchmarks.tuned.entries import TWINS, entry_of
from benchmarks.tuned.records import Record

PROPOSALS = ROOT / "docs" / "results" / "tuned" / "proposals"


@dataclass(frozen=True)
class Learnt:
    """One run without its times."""

    entry: str
    trial: int
    seed: int
    parameters: Mapping[str, Any]
    samples: int | None
    """Of the evaluation that met the target, else of the last one; None: not kept, of a run that diverged."""
    met: bool
    diverged: bool


@dataclass(frozen=True)
class Source:
    """A comparison with the same number of trials of every entry; `place`: of its trials, or reported runs."""

    task: str
    workers: int
    place: str
    proposed: bool = False
    """Whether its trials are those that virtual time has proposed, each with the whole budget."""
    pace: float | None = None
    """Seconds per sample of a worker, as hosts have measured while it did not wait; None: those of the task."""

    @property
    def name(self) -> str:
        """Return what identifies it in records."""
        return f"{self.task}-{self.workers}"

    @property
    def of(self) -> Task:
        """Return its task."""
        return TASKS[self.task]


EARLY, DIGITS = "fashion-early-halving", "digits-halving"
SOURCES = (
    Source("fashion", 8, "8-hosts", proposed=True),
    Source("fashion-batch", 8, "8-hosts", proposed=True),
    Source("mnist-batch", 8, "8-hosts", proposed=True),
    Source("fashion", 2, "2-hosts"),
    Source("cifar", 8, "8-hosts", pace=6e-3),
    Source("text", 8, "8-hosts", pace=11e-3),
    Source(EARLY, 8, "virtual"),
    *(Source(EARLY, workers, f"virtual-{workers}") for workers in WORKERS[1:]),
    *(Source(DIGITS, workers, f"slow-{workers}") for workers in (4, 8, 16)),
)
"""Without those of 1 worker, which has nothing to exchange: no network changes its times."""


@dataclass
class Trials:
    """The runs of a source by entry and trial: those of trials on the tuning seed, and reported ones by seed."""

    tried: dict[str, dict[int, Learnt]] = field(default_factory=lambda: defaultdict(dict))
    reported: dict[str, dict[int, dict[int, Learnt]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(dict))
    )

    def runs(self) -> Iterator[Learnt]:
        """Yield all runs: of every entry its trials, then its reported ones."""
        for entry, trials in self.tried.items():
            yield from (trials[number] for number in sorted(trials))
            for by_seed in self.reported[entry].values():
                yield from (by_seed[seed] for seed in sorted(by_seed))


def trials(source: Source, tuned: Sequence[Record], proposals: Path = PROPOSALS) -> Trials:
    """Return the runs of entries whose clocks have a closed form; `tuned`: the records of tuned comparisons."""
    own = [each for each in tuned if (each["task"], each["place"]) == (source.task, source.place)]
    own = [each for each in own if not each.get("repeats") and timed(each["entry"])]
    machine, found = _machine(own), Trials()
    if source.proposed:
        known = store.read(proposals / f"{source.task}-{source.workers}-workers.jsonl")
        for run, record in known.items():
            if not run.timed and run.seed == FIRST_TUNING_SEED:
                assert "ended" not in record, run  # noqa: S101 - elsewhere it may be the fastest
                met = record["met"] is not None
                about = run.method, run.trial, run.seed, record["parameters"]
                found.tried[run.method][run.trial] = Learnt(*about, record["met"], met, record["diverged"])
    for record in own:
        if name_of(record["hardware"]) != machine and AT[source.place].world != "virtual":
            continue
        of = _learnt(record)
        if record["rung"] is None:
            found.reported[of.entry][of.trial][of.seed] = of
        elif not source.proposed:
            before = found.tried[of.entry].get(of.trial)
            found.tried[of.entry][of.trial] = before if before is not None and before.met else of
    return found


def timed(entry: str) -> bool:
    """Return whether the clocks of an entry, or of its twin in the catalogue, have a closed form."""
    of = entry_of(entry)
    return (TWINS.get(of.method, ("",))[0] if of.peer else of.method) in STEPS


def _learnt(record: Record) -> Learnt:
    met = record["samples_to_target"] is not None
    about = record["entry"], record["trial"], record["seed"], record["parameters"]
    return Learnt(*about, record["samples_to_target"] if met else record["samples"], met, bool(record["diverged"]))


def _machine(records: Iterable[Record]) -> str | None:
    """Return the machine with most reported runs: two kinds of machines round differently."""
    counts: dict[str, int] = defaultdict(int)
    for record in records:
        counts[name_of(record["hardware"])] += record["rung"] is None
    return max(counts, key=lambda name: counts[name], default=None)
