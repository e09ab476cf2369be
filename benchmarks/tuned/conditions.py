"""Conditions of the tuned comparison: tasks, places, effort of the search, seeds."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.evidence.conditions import PLACES, Place

BATCH = 16
"""Per worker and step, for every entry; accumulation is a setting of those that have it."""
TRIALS = 12
PROPOSING, PROPOSED = 16, 4
"""Trials of an entry in virtual time, if it proposes settings, and the best of them, which the hosts try."""
SEEDS = 3
CLAIM_SEEDS = 5
"""Reported seeds of every entry, and of those about which a claim is made."""
MAX_SECONDS = 600.0
"""Wall time after which a run of any entry has failed: its budget is samples alone."""


@dataclass(frozen=True)
class Task:
    """A workload with its target on the validation part and the budget of a reported run."""

    name: str
    title: str
    workload: str
    target: float
    samples: int
    every: int
    """Samples between evaluations."""


TASKS = {
    task.name: task
    for task in (
        Task("mnist", "MNIST, LeNet", "mnist-lenet", 0.988, 240_000, 3_200),
        Task("fashion", "Fashion-MNIST, LeNet", "fashion-lenet", 0.88, 240_000, 3_200),
    )
}
AT: dict[str, Place] = {name: PLACES[name] for name in ("8-hosts", "2-hosts", "4-hosts", "1-host", "virtual")}
