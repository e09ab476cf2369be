"""Conditions of the map: tasks, workers, links, spread of speeds, methods; effort."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from benchmarks.evidence.conditions import NETWORK, Place
from benchmarks.tuned.conditions import PROPOSING, SEEDS, Task
from benchmarks.tuned.conditions import TASKS as TUNED
from benchmarks.tuned.entries import ACCUMULATING

LINKS = {"100 Mb/s": (50e-6, 80e-9), "1 Gb/s": (10e-6, 8e-9), "10 Gb/s": (10e-6, 0.8e-9)}
"""Seconds per message and per byte, one direction of a link."""
METHODS = (
    "sync-sgd",
    "local-sgd",
    "slowmo",
    "overlap-local-sgd",
    "co2",
    "streaming-diloco",
    "sync-easgd",
    "elastic-slowmo",
)
"""Synchronous methods: what they learn does not depend on any clock. The map has these."""
FURTHER = ("pipe-sgd", "delayed-gradient-averaging", *(entry.name for entry in ACCUMULATING))
"""Further ones for which settings can be proposed."""
PEERS = ("PyTorch DDP", "PyTorch DDP, bf16 hook", "PyTorch post-local SGD", "mpi4py loop")
"""Entries of the tuned comparison for which settings can be proposed, beside the methods."""


@dataclass(frozen=True)
class Regime:
    """A link and a spread of speeds."""

    link: str
    jitter: float

    def place(self, workers: int) -> Place:
        """Return the virtual cluster with this link and spread."""
        latency, seconds_per_byte = LINKS[self.link]
        constants = {"latency": latency, "seconds_per_byte": seconds_per_byte, "compute_jitter": self.jitter}
        title = f"{workers} workers, {self.link}, jitter {self.jitter:g}"
        return Place(title, title, "virtual", workers, network=tuple((NETWORK | constants).items()))


LAB = Regime("1 Gb/s", 0.05)
"""The one that is like the emulated hosts; it proposes settings for them."""


@dataclass(frozen=True)
class Plan:
    """How much of the map of a task is made."""

    workers: tuple[int, ...]
    links: tuple[str, ...]
    jitters: tuple[float, ...]
    """Sigma of the log-normal factor on the time of each gradient."""
    trials: int
    """Of every method, with every number of workers."""
    seeds: int

    @property
    def regimes(self) -> tuple[Regime, ...]:
        """Return the links and spreads."""
        return tuple(Regime(link, jitter) for link, jitter in product(self.links, self.jitters))


FULL = Plan((2, 8, 32), tuple(LINKS), (0.05, 0.5), PROPOSING, SEEDS)
COARSE = Plan((2, 8), ("1 Gb/s", "10 Gb/s"), (0.05, 0.25, 0.5, 1.0), 6, SEEDS)
"""Fewer workers, links and trials on a small problem, and more spreads: less than an hour of one core."""
DIGITS = Task("digits", "Digits 8 x 8, perceptron", "digits-mlp", 0.94, 24_000, 640)
TASKS = TUNED | {DIGITS.name: DIGITS}


def plan_of(task: str) -> Plan:
    """Return the plan of a task's map."""
    return COARSE if task == DIGITS.name else FULL
