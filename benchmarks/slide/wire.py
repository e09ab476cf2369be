"""What hosts send until a precision is met: rows that were touched against whole vectors, in virtual time.

The bytes of a run follow from the schedules of its messages: they are those that real hosts would send, and the
load of this machine changes none: several runs may be computed at once (`wire_runs`). Whatever the number of hosts
is, their batches together are that of `compare`, and so are their active sets. Touched rows and whole vectors have
the same trials on 8 hosts: learning rates, judged by the samples to the target on a seed that no reported run has.
A trial ends where a better one has met the target; 2 hosts have the rate of 8.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from hooke.workloads.xmlc_mlp import PLANTED

from benchmarks.slide.conditions import ACTIVE, BATCH, LAYERS, OPTIMIZER, PROBLEMS, SLIDE, TRIAL_TEST_ITEMS

Record = Mapping[str, Any]
Kind = tuple[str, int, str]
"""Method, number of hosts, rows that they send."""
METHODS: dict[str, dict[str, Any]] = {"sync-easgd3": {"beta": 0.9}, "sync-sgd": {}}
HOSTS = (8, 2)
TOUCHED, WHOLE = "touched", "all"
KINDS: tuple[Kind, ...] = tuple(product(METHODS, HOSTS, (TOUCHED, WHOLE)))
RATES = (0.1, 0.3, 0.03)
"""Learning rates that are tried, the likeliest first: `compare` found 0.08 for every layer."""
HIDDEN, SEEDS = 32, 2
"""A quarter of the hidden units of `compare`, because a step of 8 simulated hosts with whole vectors of 128 takes
a second. The share of rows that a step touches does not depend on it."""
TARGET = 0.45
"""P@1 of the planted problem, of which naming the most frequent label has 32%: softmaxes over 125 labels of a host
do not come much further."""
SAMPLES, EVERY = 1 << 16, 1 << 11
"""Most samples of a run; samples between evaluations."""
FIXED, RATE = 1 << 14, 0.1
"""Samples and learning rate of runs without a target."""
TUNING = 1000
"""Seed of trials."""
GOAL = 10.0
"""Factor between the bytes of whole vectors and of touched rows that is aimed at, on 8 hosts."""
NETWORK = {
    "latency": 50e-6,
    "seconds_per_byte": 8e-9,
    "compute_seconds_per_sample": 8e-5,
    "compute_jitter": 0.1,
    "memory_bandwidth": 1e10,
}
"""1 Gb/s; the time of a sample is about that of `slide` in `compare`."""
COUNTED = ("wire_bytes", "messages", "steps")


@dataclass(frozen=True)
class Cell:
    """One run: a trial if its seed is TUNING."""

    seed: int
    method: str
    hosts: int
    rows: str
    rate: float
    samples: int = SAMPLES
    """Budget."""

    @property
    def title(self) -> str:
        """Return a title that identifies the run, also as a file name."""
        return f"{self.method}-{self.hosts}-{self.rows}-{self.seed}-{self.rate:g}"


@dataclass(frozen=True)
class Task:
    """What all cells of a table learn.

    `target` None: a fixed number of steps, for a method whose results both ways have the same bits. Then bytes
    per step decide, whatever the P@1 is.
    """

    problem: str = PLANTED
    hidden: int = HIDDEN
    target: float | None = TARGET


def following(found: Sequence[Record], seeds: int = SEEDS, failed: Collection[str] = ()) -> Cell | None:
    """Return the next run of a task with a target, given its results; None: there is none."""
    return next(ready(found, seeds, failed), None)


def ready(
    found: Sequence[Record],
    seeds: int = SEEDS,
    failed: Collection[str] = (),
    running: Collection[str] = (),
) -> Iterator[Cell]:
    """Yield the runs that may begin now, given the results of a task with a target.

    Method by method: trials, then reported runs seed by seed, so that the first ones make a table; these wait for
    all trials that choose their rate. `failed`: titles of runs that are not to be tried again; `running`: of those
    that have begun.
    """
    ended = {*failed, *(_cell_of(record).title for record in found)}
    for cell, needed in _cells(found, seeds):
        if cell.title not in ended and cell.title not in running and needed <= ended:
            yield cell


def _cells(found: Sequence[Record], seeds: int) -> Iterator[tuple[Cell, set[str]]]:
    """Yield the runs of all methods, and the titles of those that must have ended before."""
    for method in METHODS:
        kinds = [kind for kind in KINDS if kind[0] == method]
        for kind, rate in product((kind for kind in kinds if kind == tuned(kind)), RATES):
            yield Cell(TUNING, *kind, rate, _least(kind, found)), set()
        for seed, kind in product(range(seeds), kinds):
            trials = {Cell(TUNING, *tuned(kind), rate).title for rate in RATES}
            if (best := chosen(kind, found)) is not None:
                yield Cell(seed, *kind, best), trials


def fixed(found: Sequence[Record], failed: Collection[str] = (), running: Collection[str] = ()) -> Iterator[Cell]:
    """Yield the runs of a task without a target that may begin: Sync SGD, every number of hosts, both ways."""
    begun = {*failed, *running, *(_cell_of(record).title for record in found)}
    cells = (Cell(0, "sync-sgd", hosts, rows, RATE, FIXED) for hosts, rows in product(HOSTS, (TOUCHED, WHOLE)))
    yield from (cell for cell in cells if cell.title not in begun)


def tuned(kind: Kind) -> Kind:
    """Return whose trials a kind of runs follows: those of the most hosts, which take the time of all others.

    For Sync SGD whole vectors have the bits of touched rows, and so the same trials.
    """
    method, _, rows = kind
    return (method, max(HOSTS), TOUCHED if method == "sync-sgd" else rows)


def chosen(kind: Kind, found: Sequence[Record]) -> float | None:
    """Return the learning rate of the trial that met the target first, or came nearest; None without trials."""
    best = min(_trials(tuned(kind), found), key=_order, default=None)
    return None if best is None else best["rate"]


def _order(trial: Record) -> tuple[bool, float, float]:
    result = trial["result"]
    met = result["samples_to_target"]
    reached = 0.0 if result.get("diverged") else result["validation_accuracy"] or 0.0
    return met is None, met or 0.0, -reached


def _least(kind: Kind, found: Sequence[Record]) -> int:
    """Return the samples after which a further trial cannot be the best."""
    met = [trial["result"]["samples_to_target"] for trial in _trials(kind, found)]
    return min((samples for samples in met if samples), default=SAMPLES)


def _trials(kind: Kind, found: Sequence[Record]) -> list[Record]:
    return [record for record in found if record["seed"] == TUNING and kind_of(record) == kind]


def kind_of(record: Record) -> Kind:
    """Return the kind of a run."""
    return record["method"], record["hosts"], record["rows"]


def _cell_of(record: Record) -> Cell:
    return Cell(record["seed"], *kind_of(record), record["rate"])


def document(cell: Cell, task: Task) -> dict[str, Any]:
    """Return the run of a cell, which computes with one thread: 8 hosts would compete for more."""
    parameters = {**PROBLEMS[task.problem].parameters, "hidden": task.hidden, "test_items": TRIAL_TEST_ITEMS}
    own = {**OPTIMIZER, "lr": cell.rate, **METHODS[cell.method]}
    target = None if task.target is None else {"metric": "validation_accuracy", "value": task.target}
    return {
        "schema": "hooke.run/1",
        "workload": {"name": "xmlc-mlp", "parameters": parameters},
        "workload_settings": {**LAYERS[SLIDE].given, "active": ACTIVE // cell.hosts},
        "algorithm": {"name": cell.method, "parameters": own},
        "communication": {"rows": cell.rows, "collective": "tree"},  # with which it was measured
        "batch": BATCH // cell.hosts,
        "seed": cell.seed,
        "workers": cell.hosts,
        "world": "virtual",
        "virtual": NETWORK,
        "budget": {"samples": cell.samples, "max_stall_seconds": 1800},  # a busy machine changes no result
        **({"target": target} if target else {}),
        "evaluation": {"every": EVERY if target else cell.samples},
        "compute": {"threads": 1},
        "checkpoint": "never",
    }


def of_task(task: Task, found: Sequence[Record]) -> list[Record]:
    """Return the runs of a task."""
    return [record for record in found if task_of(record) == task]


def task_of(record: Record) -> Task:
    """Return what a run learned."""
    return Task(record["problem"], record["hidden"], record["target"])


def stored(folder: Path) -> list[dict[str, Any]]:
    """Return the stored runs: files of one each, and of one in each line."""
    one = [path.read_text() for path in sorted(folder.glob("wire/*.json"))]
    more = [line for path in sorted(folder.glob("wire/*.jsonl")) for line in path.read_text().splitlines()]
    found = [json.loads(text) for text in (*one, *more)]
    return list({record["key"]: record for record in found}.values())


def to_target(record: Record) -> int | None:
    """Return the bytes that all hosts sent until the target was met, which ended the run; None: it was not met."""
    result = record["result"]
    return None if result["samples_to_target"] is None else int(result["wire_bytes"])


def per_step(record: Record) -> float:
    """Return the bytes that all hosts sent in a step, mean of the run."""
    return float(record["result"]["wire_bytes"] / record["result"]["steps"][0])
