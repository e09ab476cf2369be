"""The conditions of all methods, which the table prints and from which runs are reproducible.

One setting for all, not tuned per method: the learning rate is LR for every method without momentum and
LR (1 - mu) for one with momentum mu, so that the steps a constant gradient leads to are equally long; elastic
methods take beta = 0.9 (a = 0.9 / P), as arXiv 1412.6651 recommends. Where workers push gradients into one model
without averaging, LR is divided by their number, at most by 4. LR is two thirds of what one worker diverged at.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

LR = 0.1
MU = 0.9
BETA = 0.9
PERIOD = 10
TARGET = 0.988
BATCH = 16
EVERY = 10_000
SEEDS = 3
NETWORK = {"latency": 7.2e-6, "seconds_per_byte": 0.9e-9, "compute_seconds_per_sample": 120e-6}
"""Of the virtual clusters: a 10 Gb/s-class network, and the time of one LeNet sample on one core."""


@dataclass(frozen=True)
class Place:
    """One table: a world, its numbers of workers, and the budget of each in samples."""

    name: str
    title: str
    world: str
    samples: dict[int, int]
    compute: dict[str, Any] = field(default_factory=dict)


PLACES = {
    place.name: place
    for place in (
        Place(
            "virtual",
            "MNIST-LeNet, all methods, virtual cluster (simulated)",
            "virtual",
            {4: 240_000, 8: 320_000},
            {"precision": "bf16"},
        ),
        Place("local", "MNIST-LeNet, all methods, local cores", "mpi", {2: 240_000}, {"precision": "bf16"}),
    )
}

SPRING = {"lr": LR, "beta": BETA}
HEAVY = {"lr": LR * (1 - MU), "momentum": MU}


def methods(workers: int) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return label -> (algorithm, parameters); what is not named has the algorithm's default."""
    push = LR / min(workers, 4)
    return {
        "SGD, one worker": ("sgd", {"lr": LR}),
        "Original EASGD, serial": ("original-easgd", {**SPRING, "mode": "serial"}),
        "Original EASGD, ordered": ("original-easgd", {**SPRING, "mode": "ordered"}),
        "Sync SGD": ("sync-sgd", {"lr": LR}),
        "Async SGD": ("async-sgd", {"lr": push}),
        "Async MSGD": ("async-msgd", {"lr": push * (1 - MU)}),
        "Hogwild SGD": ("hogwild-sgd", {"lr": push}),
        "Async EASGD": ("async-easgd", SPRING),
        "Async MEASGD": ("async-measgd", {"lr": LR * (1 - MU), "beta": BETA}),
        "Hogwild EASGD": ("hogwild-easgd", SPRING),
        "Sync EASGD1": ("sync-easgd1", SPRING),
        "Sync EASGD2": ("sync-easgd2", SPRING),
        "Sync EASGD3": ("sync-easgd3", SPRING),
        "Two-level EASGD, 2 parts per chip": ("chip-easgd", {**SPRING, "parts": 2}),
        "EASGD, period 10": ("easgd", {**SPRING, "period": PERIOD}),
        "EAMSGD, period 10": ("eamsgd", {"lr": LR * (1 - MU), "momentum": MU, "beta": BETA, "period": PERIOD}),
        "DOWNPOUR, period 10": ("downpour", {"lr": push, "period": PERIOD}),
        "MDOWNPOUR": ("mdownpour", {"lr": push * (1 - MU), "momentum": MU}),
        "Local SGD, period 10": ("local-sgd", {"lr": LR, "period": PERIOD}),
        "Post-local SGD": ("post-local-sgd", {"lr": LR, "period": PERIOD}),
        "SlowMo, period 10": ("slowmo", {"lr": LR, "period": PERIOD}),
        "DiLoCo, period 10": ("diloco", {"period": PERIOD}),
        "SMA": ("sma", SPRING),
        "PowerSGD, rank 4": ("powersgd", {**HEAVY, "rank": 4}),
    }
