"""Runs of a fixed number of steps without a target: they measure throughput only. Repeats have different seeds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from benchmarks.evidence.conditions import COSTS, MU, PARTS, SCALING, SLOWER, SPRING, Place
from benchmarks.evidence.methods import BEST, EASGD1, EASGD2, EASGD3, NESTEROV, ORIGINAL, SERIAL, Method

OFF, OFF_NESTEROV = "communication off", "communication off, Nesterov"


@dataclass(frozen=True)
class Pace:
    """One line of runs. `off`: the pace of the same ranks and local steps without an exchange."""

    label: str
    method: Method
    places: tuple[str, ...]
    steps: int
    repeats: int = 3
    rate: float = 0.05
    off: str = OFF
    workload: str = "mnist-lenet"


def _names(places: Iterable[Place]) -> tuple[str, ...]:
    return tuple(place.name for place in places)


def rung(method: Method) -> str:
    """Return the label of a method's runs with varied network costs."""
    return f"rung: {method.label}"


def chip(parts: int) -> str:
    """Return the label of the runs of a chip with this number of parts."""
    return f"chip in {parts} {'part' if parts == 1 else 'parts'}"


HALVING = replace(EASGD3, communication={"collective": "halving"})
PER_LAYER = replace(EASGD3, communication={"packing": "per-layer"})
ENDS = ("2-hosts", "8-hosts")
RUNGS = (SERIAL, ORIGINAL, EASGD1, EASGD2, EASGD3)
"""The paper's ladder: from one method to the next the place of the center or the overlap changes."""
CHIP_STEPS, CHIP_DATA = 12, "cifar10-lossless-4k"
"""Steps and data set of the runs of a partitioned chip, which measure its throughput on a part of CIFAR-10."""

_ALL = (
    *(Pace(rung(method), method, (*_names(COSTS), *_names(SLOWER)), 20) for method in RUNGS),
    Pace("Sync EASGD3", EASGD3, SCALING, 200),
    Pace(OFF, Method("", "local-sgd", {"period": 10_000}), SCALING, 200),
    Pace("Sync EASGD3, per layer", PER_LAYER, ENDS, 200),
    *(
        Pace(
            chip(place.hosts),
            Method("", "chip-easgd", {**SPRING, "parts": place.hosts}),
            (place.name,),
            CHIP_STEPS,
            rate=0.005,
            workload="cifar-alexnet",
        )
        for place in PARTS
    ),
    Pace("Hooke, bf16", Method("", "sgd", precision="bf16"), ("here",), 2_000, 5),
    Pace("plain PyTorch, bf16", Method("", "plain", precision="bf16", peer=True), ("here",), 2_000, 5),
    Pace("Hooke, fp32", Method("", "sgd", precision="fp32"), ("here",), 1_000, 5),
    Pace("plain PyTorch, fp32", Method("", "plain", precision="fp32", peer=True), ("here",), 1_000, 5),
    Pace("Sync EASGD3, halving", HALVING, ENDS, 200),
    Pace(
        "Sync EASGD3, halving, pipelined",
        replace(HALVING, parameters={**HALVING.parameters, "pipelined": True}),
        ENDS,
        200,
    ),
    Pace(
        OFF_NESTEROV, Method("", "local-sgd", {**NESTEROV, "period": 10_000}, momentum=MU), SCALING, 320, rate=0.2
    ),
    Pace(BEST.label, BEST, SCALING, 320, rate=0.2, off=OFF_NESTEROV),
)
PACES = {pace.label: pace for pace in _ALL}
"""`communication off`: the same ranks compute at the same time and never exchange (local SGD, a long period)."""
ALONE = frozenset(pace.off for pace in PACES.values())
"""Paces without an exchange, with which others are compared."""
