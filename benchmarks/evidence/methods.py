"""The methods: those of the paper as published, and those of the co-design.

The learning rates of all methods are those of one ladder (`search.py`), in units of the method's scale. The scale
follows from a rule, not from a choice per method: (1 - mu) with momentum mu, so that steps with a constant
gradient are equally long; and 1 / (P tau) if P workers push the sums of tau steps into one model without
averaging, because these sums add up.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.evidence.conditions import MU, SEVERAL, SPRING

PAPER = frozenset(
    ("original-easgd", "sync-easgd1", "sync-easgd2", "sync-easgd3", "async-easgd", "async-measgd", "hogwild-easgd",
     "sync-sgd", "async-sgd", "async-msgd", "hogwild-sgd", "chip-easgd")
)  # fmt: skip
"""Algorithms that the paper compares or proposes."""
SETTINGS = frozenset(("beta", "mode", "parts"))
"""Parameters with which a method is still that of the paper, which fixes neither beta nor G."""


@dataclass(frozen=True)
class Method:
    """One line of the tables. `peer`: a program other than Hooke; `pushes`: see the scale of rates."""

    label: str
    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    communication: dict[str, Any] = field(default_factory=dict)
    precision: str = ""
    """Precision of forward and backward, if it is not that of the matrix, which all methods and peers use."""
    momentum: float = 0.0
    """Momentum, for the scale of its rates; it is also passed to a peer."""
    pushes: bool = False
    peer: bool = False
    tuned_as: str = ""
    """Label of a method with bitwise equal weights, whose selected rate is used here, too."""

    @property
    def published(self) -> bool:
        """Return whether this is a method of the paper: tree, fp32 on the wire, period 1."""
        return (
            not self.peer and self.name in PAPER and not self.communication and self.parameters.keys() <= SETTINGS
        )

    @property
    def period(self) -> int:
        """Return tau, the steps per exchange."""
        return int(self.parameters.get("period", 1))

    def scale(self, workers: int) -> float:
        """Return the factor of the ladder's rates for this method."""
        return (1 - self.momentum) / (workers * self.period if self.pushes else 1)


def seldom(method: Method) -> Method:
    """Return a method that exchanges once per SEVERAL steps instead of at every step."""
    return replace(
        method, label=f"{method.label}, period {SEVERAL}", parameters={**method.parameters, "period": SEVERAL}
    )


# -- replication: as published, and each asynchronous method at a second period -------------------------------

ORIGINAL = Method("Original EASGD, ordered", "original-easgd", {**SPRING, "mode": "ordered"})
SERIAL = Method("Original EASGD, serial", "original-easgd", {**SPRING, "mode": "serial"})
EASGD3 = Method("Sync EASGD3", "sync-easgd3", SPRING)
EASGD1 = Method("Sync EASGD1", "sync-easgd1", SPRING, tuned_as=EASGD3.label)
EASGD2 = Method("Sync EASGD2", "sync-easgd2", SPRING, tuned_as=EASGD3.label)
LADDER = (ORIGINAL, EASGD1, EASGD2, EASGD3)
PAIRS = (
    (Method("Async EASGD", "async-easgd", SPRING), Method("Async SGD", "async-sgd", pushes=True)),
    (
        Method("Async MEASGD", "async-measgd", SPRING, momentum=MU),
        Method("Async MSGD", "async-msgd", momentum=MU, pushes=True),
    ),
    (Method("Hogwild EASGD", "hogwild-easgd", SPRING), Method("Hogwild SGD", "hogwild-sgd", pushes=True)),
)
"""Pairs of asynchronous methods, elastic and not, which the paper compares."""

# -- co-design: each means alone, and all but one, for Sync EASGD and for its peers -----------------------------

NESTEROV = {"momentum": MU, "momentum_kind": "nesterov"}
BF16 = {"wire": "bf16", "error_feedback": True}
BEST = Method(
    "Best Sync EASGD",
    "sync-easgd3",
    {**SPRING, **NESTEROV, "period": SEVERAL, "pipelined": True},
    {"collective": "halving", **BF16},
    momentum=MU,
)
"""The method with all means."""
DDP = Method("PyTorch DDP, one bucket", "ddp", {"buckets": "one"}, peer=True)
DDP_OVERLAP = Method("PyTorch DDP", "ddp", peer=True)
POST_LOCAL = Method(f"PyTorch post-local SGD, period {SEVERAL}", "post-local", {"period": SEVERAL}, peer=True)
MPI4PY = Method("mpi4py all-reduce", "mpi4py", peer=True)


def nesterov(method: Method, label: str = "") -> Method:
    """Return a method whose local steps have Nesterov's momentum."""
    own = {} if method.peer else NESTEROV
    label, mu = label or f"{method.label}, Nesterov", MU
    return replace(method, label=label, parameters={**method.parameters, **own}, momentum=mu, tuned_as="")


def _less(means: str, **changes: Any) -> Method:
    return replace(BEST, label=f"{BEST.label} without {means}", **changes)


def _without(*names: str) -> dict[str, Any]:
    return {name: value for name, value in BEST.parameters.items() if name not in names}


DDP_BEST = nesterov(replace(DDP_OVERLAP, parameters={"wire": "bf16"}), "PyTorch DDP, Nesterov, bf16 hook")
POST_LOCAL_BEST = nesterov(POST_LOCAL)
MPI4PY_BEST = nesterov(MPI4PY)
NONE: tuple[Method, Method] = (EASGD2, DDP)
MEANS: dict[str, tuple[Method, Method | None]] = {
    "momentum": (nesterov(EASGD2), nesterov(DDP)),
    "period": (seldom(replace(EASGD2, tuned_as="")), POST_LOCAL),
    "wire": (
        replace(EASGD2, label="Sync EASGD2, bf16 wire", communication=BF16, tuned_as=""),
        replace(DDP, label="PyTorch DDP, one bucket, bf16 hook", parameters={**DDP.parameters, "wire": "bf16"}),
    ),
    "collective": (
        replace(EASGD2, label="Sync EASGD2, halving", communication={"collective": "halving"}),
        None,
    ),
    "overlap": (EASGD3, DDP_OVERLAP),
}
"""Each means alone, on both sides; None if a peer has no choice (gloo's all-reduce is always a ring)."""
LESS: dict[str, tuple[Method, Method | None]] = {
    "momentum": (
        _less("momentum", parameters=_without("momentum", "momentum_kind"), momentum=0.0),
        replace(DDP_OVERLAP, label="PyTorch DDP, bf16 hook", parameters={"wire": "bf16"}),
    ),
    "period": (_less("period", parameters=_without("period")), None),
    "wire": (
        _less("bf16 wire", communication={"collective": "halving"}),
        nesterov(DDP_OVERLAP),
    ),
    "collective": (_less("halving", communication=BF16), None),
    "overlap": (
        _less("overlap", name="sync-easgd2", parameters=_without("pipelined"), tuned_as=BEST.label),
        nesterov(
            replace(DDP, parameters={**DDP.parameters, "wire": "bf16"}),
            "PyTorch DDP, one bucket, Nesterov, bf16 hook",
        ),
    ),
}
"""All means but one, on both sides."""
RIVALS = (DDP_OVERLAP, DDP_BEST, POST_LOCAL_BEST, MPI4PY_BEST)
"""Methods that the best one is compared with: usual forms of peers, and each peer with every means that it has."""

REPLICATION = (*LADDER, *(method for pair in PAIRS for method in (*pair, *map(seldom, pair))))
ABLATION = (*NONE, *(method for row in (*MEANS.values(), *LESS.values()) for method in row if method))
CO_DESIGN = tuple({method.label: method for method in (BEST, *RIVALS, *ABLATION, MPI4PY)}.values())
METHODS = {method.label: method for method in (*REPLICATION, *CO_DESIGN)}
