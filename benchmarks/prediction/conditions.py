"""What is predicted and measured: ten methods, each on this machine and on emulated hosts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

WORKLOADS = ("digits-mlp", "mnist-lenet")
"""Steps of half a millisecond, and those of a small convolutional network (its data: HOOKE_DATA)."""
BATCH = 32
RATE = "1gbit"
MEDIAN_LIMIT, WORST_LIMIT = 0.10, 0.25
"""Errors that predictions should not exceed."""
HALVING = {"collective": "halving"}


@dataclass(frozen=True)
class Method:
    """A method with its setting."""

    label: str
    algorithm: str
    parameters: dict[str, Any]


METHODS = (
    Method("Sync SGD", "sync-sgd", {"lr": 0.05}),
    Method("Sync EASGD2", "sync-easgd2", {"lr": 0.05, "beta": 0.9}),
    Method("Sync EASGD3 (overlap)", "sync-easgd3", {"lr": 0.05, "beta": 0.9}),
    Method("Local SGD, period 4", "local-sgd", {"lr": 0.05, "period": 4}),
    Method("SlowMo, period 12", "slowmo", {"lr": 0.05, "period": 12}),
    Method("DiLoCo, period 20", "diloco", {"period": 20}),
    Method("Overlap Local SGD, period 2", "overlap-local-sgd", {"lr": 0.05, "period": 2}),
    Method("Elastic SlowMo, period 12", "elastic-slowmo", {"lr": 0.05, "period": 12}),
    Method("Stochastic Gradient Push", "stochastic-gradient-push", {"lr": 0.05}),
    Method("Hogwild SGD, atomic", "hogwild-sgd", {"lr": 0.02, "updates": "atomic"}),
)


@dataclass(frozen=True)
class Place:
    """Where the methods run: `hosts` emulated ones, or this machine."""

    name: str
    workers: int
    hosts: int = 0

    @property
    def title(self) -> str:
        """Return what a page says of it."""
        return f"{self.hosts} emulated hosts, {RATE}" if self.hosts else f"this machine, {self.workers} ranks"


PLACES = {
    place.name: place
    for place in (Place("local", 2), Place("hosts-2", 2, 2), Place("hosts-4", 4, 4), Place("hosts-8", 8, 8))
}


def document(method: Method, workload: str, workers: int, steps: int, seed: int = 0) -> dict[str, Any]:
    """Return the run of a method with `steps` steps of each worker, without its world."""
    samples = steps * workers * BATCH
    return {
        "schema": "hooke.run/1",
        "workload": {"name": workload},
        "algorithm": {"name": method.algorithm, "parameters": method.parameters},
        "communication": HALVING,
        "batch": BATCH,
        "workers": workers,
        "seed": seed,
        "budget": {"samples": samples},
        "evaluation": {"every": samples},
        "checkpoint": "never",
    }
