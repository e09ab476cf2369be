"""What the evidence is measured under, said once: places, methods, learning rates, budgets, paces.

Every method gets the same grid of learning rates, RATES, in units of its own scale, which is no choice of ours
per method: (1 - mu) with momentum mu, so that the steps a constant gradient leads to are equally long; and 2 / P
(at most 1) where P workers push gradients into one model without averaging them, as P pushes add up. All but
the smallest are too much for a worker alone and without momentum; methods that average gradients bear 0.2, and
with some seeds 0.3. All rates are kept and shown. Elastic methods take beta = 0.9 (a = 0.9 / P), as arXiv
1412.6651 recommends.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

Precision = Literal["bf16", "fp32"]
TARGET = 0.988
BATCH = 16
RATES = (0.1, 0.2, 0.3)
FIRST_RATE = 0.1
SEEDS = 3
MU = 0.9
SPRING = {"beta": 0.9}
SEVERAL = 16
"""Steps per exchange of the best, and of each asynchronous method a second time."""
EVERY = 9_600
"""Samples between evaluations, off the clock: the grain of a time to target."""
SAMPLES = 360_000
MAX_SECONDS = 360.0
"""Budgets of a run; a run that has used up either one gives a lower bound of its time to target."""
NETWORK = {"latency": 10e-6, "seconds_per_byte": 8e-9, "compute_seconds_per_sample": 160e-6}
"""Of the virtual cluster: 1 Gb/s."""


@dataclass(frozen=True)
class Place:
    """Where runs are: emulated hosts (`lab`), this machine without them (`here`), or virtual time."""

    name: str
    title: str
    world: Literal["lab", "here", "virtual"]
    hosts: int
    rate: str = "1gbit"


PLACES = {
    place.name: place
    for place in (
        Place("8-hosts", "8 emulated hosts, 1 Gb/s", "lab", 8),
        Place("4-hosts", "4 emulated hosts, 1 Gb/s", "lab", 4),
        Place("2-hosts", "2 emulated hosts, 1 Gb/s", "lab", 2),
        Place("1-host", "1 emulated host", "lab", 1),
        Place("here", "one worker, no network", "here", 1),
        Place("virtual", "8 workers on a virtual cluster of 1 Gb/s", "virtual", 8),
    )
}


@dataclass(frozen=True)
class Method:
    """One line of the tables. `peer`: what people use instead of Hooke; `pushes`: see the scale of rates."""

    label: str
    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    communication: dict[str, Any] = field(default_factory=dict)
    precision: str = ""
    """Of forward and backward, where it is not that of the matrix, the same for every method and peer."""
    momentum: float = 0.0
    pushes: bool = False
    peer: bool = False
    headline: bool = False
    """Measured first: the most important claims stand on it."""

    def scale(self, workers: int) -> float:
        """Return what RATES are multiplied by for this method."""
        return (1 - self.momentum) * (min(1.0, 2 / workers) if self.pushes else 1.0)


NESTEROV = {"momentum": MU, "momentum_kind": "nesterov"}
CO_DESIGN = Method(
    "Best Sync EASGD, no momentum",
    "sync-easgd3",
    {**SPRING, "period": 10, "pipelined": True},
    {"collective": "halving", "wire": "bf16", "error_feedback": True},
)
BEST = replace(
    CO_DESIGN,
    label="Best Sync EASGD",
    parameters={**SPRING, **NESTEROV, "period": SEVERAL, "pipelined": True},
    momentum=MU,
    headline=True,
)
"""The co-design: an exchange behind many steps, by an all-reduce that is optimal in bytes, of half the bytes."""

ORIGINAL = Method("Original EASGD, ordered", "original-easgd", {**SPRING, "mode": "ordered"}, headline=True)
EASGD1 = Method("Sync EASGD1", "sync-easgd1", SPRING)
EASGD2 = Method("Sync EASGD2", "sync-easgd2", SPRING)
EASGD3 = Method("Sync EASGD3", "sync-easgd3", SPRING, headline=True)
DDP = Method("PyTorch DDP", "ddp", peer=True, headline=True)
DDP_FULL = replace(DDP, label="PyTorch DDP, fp32", precision="fp32")
DDP_NESTEROV = replace(DDP, label="PyTorch DDP, Nesterov", momentum=MU)
"""With the momentum of the best Sync EASGD, which is no means of either alone."""
HOGWILD = Method("Hogwild EASGD", "hogwild-easgd", SPRING)


def seldom(method: Method) -> Method:
    """Return a method that exchanges every SEVERAL steps instead of after each."""
    return replace(
        method, label=f"{method.label}, period {SEVERAL}", parameters={**method.parameters, "period": SEVERAL}
    )


PAIRS = (
    (Method("Async EASGD", "async-easgd", SPRING), Method("Async SGD", "async-sgd", pushes=True)),
    (
        Method("Async MEASGD", "async-measgd", SPRING, momentum=MU),
        Method("Async MSGD", "async-msgd", momentum=MU, pushes=True),
    ),
    (HOGWILD, Method("Hogwild SGD", "hogwild-sgd", pushes=True)),
)
"""Asynchronous methods, elastic and not: the paper compares the one with the other."""

METHODS = {
    method.label: method
    for method in (
        BEST,
        ORIGINAL,
        EASGD1,
        EASGD2,
        EASGD3,
        Method("Sync SGD", "sync-sgd"),
        *(method for pair in PAIRS for method in (*pair, *map(seldom, pair))),
        DDP,
        DDP_FULL,
        DDP_NESTEROV,
        CO_DESIGN,
        Method("PyTorch post-local SGD", "post-local", peer=True),
        Method("mpi4py all-reduce", "mpi4py", peer=True),
    )
}
"""As published (tree, fp32 on the wire, an exchange in every step) unless the label says otherwise."""


OFF, OFF_NESTEROV = "communication off", "communication off, Nesterov"


@dataclass(frozen=True)
class Pace:
    """Runs of a fixed number of steps without a target: how fast, not how well. Repeats have other seeds."""

    label: str
    method: Method
    places: tuple[str, ...]
    steps: int
    repeats: int = 3
    rate: float = 0.05
    off: str = OFF
    """The pace of the same ranks and local steps without an exchange."""


HALVING = replace(EASGD3, communication={"collective": "halving"})
ENDS = ("2-hosts", "8-hosts")
SCALING = ("1-host", "2-hosts", "4-hosts", "8-hosts")
PACES = {
    pace.label: pace
    for pace in (
        Pace("Hooke, bf16", Method("", "sgd", precision="bf16"), ("here",), 2_000, 5),
        Pace("plain PyTorch, bf16", Method("", "plain", precision="bf16", peer=True), ("here",), 2_000, 5),
        Pace("Hooke, fp32", Method("", "sgd", precision="fp32"), ("here",), 1_000, 5),
        Pace("plain PyTorch, fp32", Method("", "plain", precision="fp32", peer=True), ("here",), 1_000, 5),
        Pace(OFF, Method("", "local-sgd", {"period": 10_000}), SCALING, 300),
        Pace("Sync EASGD3", EASGD3, SCALING, 300),
        Pace("Sync EASGD3, per layer", replace(EASGD3, communication={"packing": "per-layer"}), ENDS, 300),
        Pace("Sync EASGD3, halving", HALVING, ENDS, 300),
        Pace(
            "Sync EASGD3, halving, pipelined",
            replace(HALVING, parameters={**SPRING, "pipelined": True}),
            ENDS,
            300,
        ),
        Pace(CO_DESIGN.label, CO_DESIGN, SCALING, 300),
        Pace(
            OFF_NESTEROV,
            Method("", "local-sgd", {**NESTEROV, "period": 10_000}, momentum=MU),
            SCALING,
            320,
            rate=0.2,
        ),
        Pace(BEST.label, BEST, SCALING, 320, rate=0.2, off=OFF_NESTEROV),
    )
}
"""`communication off`: the same ranks compute at the same time and never exchange (local SGD, a long period)."""


@dataclass(frozen=True)
class Matrix:
    """What is to be run: which methods at which places, and which paces."""

    places: tuple[str, ...]
    methods: tuple[str, ...]
    paces: tuple[str, ...]
    pace_places: tuple[str, ...] = (*SCALING, "here")
    rates: tuple[float, ...] = RATES
    seeds: int = SEEDS
    target: float = TARGET
    samples: int = SAMPLES
    steps: int | None = None
    """Of every pace, instead of its own."""
    repeats: int | None = None
    fewer: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Places where not all methods are run, and which are."""
    precision: Precision = "bf16"
    """Of forward and backward, unless a label says otherwise: what is faster here, for the baselines, too."""

    def at(self, place: str) -> tuple[str, ...]:
        """Return the methods that are run at a place."""
        return dict(self.fewer).get(place, self.methods)


ALONE = frozenset(pace.off for pace in PACES.values())
"""Paces without an exchange, which others are compared with."""
PEERS = frozenset(label for label, method in METHODS.items() if method.peer)
SYNCHRONOUS = tuple(label for label in METHODS if not label.startswith(("Async", "Hogwild")))
"""At two hosts: asynchronous methods are compared with one another at eight."""
FULL = Matrix(("8-hosts", "2-hosts"), tuple(METHODS), tuple(PACES), fewer=(("2-hosts", SYNCHRONOUS),))
QUICK = Matrix(
    ("2-hosts",),
    (BEST.label, ORIGINAL.label, EASGD3.label, DDP.label),
    ("Hooke, bf16", "plain PyTorch, bf16", OFF, "Sync EASGD3", OFF_NESTEROV, BEST.label),
    ("2-hosts", "here"),
    (FIRST_RATE,),
    seeds=1,
    target=0.97,
    samples=60_000,
    steps=200,
    repeats=1,
)


def without_root(matrix: Matrix) -> Matrix:
    """Return what is left of a matrix where there can be no emulated hosts: virtual time, and one worker."""
    methods = tuple(label for label in matrix.methods if label not in PEERS)
    return replace(matrix, places=("virtual",), methods=methods, pace_places=("here",))


def without_bf16(matrix: Matrix) -> Matrix:
    """Return a matrix in fp32, for a processor on which bf16 is not faster, and in which nothing stands twice."""

    def once(labels: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(label for label in labels if METHODS[label].precision != "fp32")

    paces = tuple(dict.fromkeys(label.replace("bf16", "fp32") for label in matrix.paces))
    fewer = tuple((place, once(labels)) for place, labels in matrix.fewer)
    return replace(matrix, methods=once(matrix.methods), paces=paces, fewer=fewer, precision="fp32")
