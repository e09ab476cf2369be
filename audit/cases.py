"""The cases of the audit: methods with settings, worlds, and additional checks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from audit.product import NETWORK

BATCH, SEED = 4, 5
STEP_SECONDS, SCORE_SECONDS = 0.002, 0.060
"""Additional seconds of a gradient and of an evaluation under MPI, large enough to reveal a wrong clock."""


@dataclass(frozen=True)
class Case:
    """One method with settings on `workers` workers: `steps` steps each, an evaluation every `every` steps."""

    method: str
    settings: dict[str, Any] = field(default_factory=dict)
    workers: int = 2
    worlds: tuple[str, ...] = ("virtual", "mpi")
    asks: str = ""
    """`bits`: both worlds and a resumed run end with the same bits; `replay`: so does the replay of the MPI run;
    `target`: a target that is met before the first step has time 0."""
    steps: int = 24
    every: int = 6
    rows: str = "all"
    """What exchanges send: all rows, or those that were `touched`."""
    one_output: int = 0
    """k > 0: an item has a loss in one output only, in the last one if k divides its number; see
    `problem.gradient`. The larger k is, the more often exchanges find rows that no step has moved."""
    speeds: tuple[float, ...] = ()
    """Relative speed of each worker, at most 1; under MPI the product slows processes down. Empty: all alike."""
    once: bool = False
    """Whether batches are handed out, so that no item is used twice in an epoch; the run is shorter than one."""
    device: str = "cpu"
    """Where vectors are and gradients are computed: `cpu` or `cuda`."""

    @property
    def title(self) -> str:
        """Return the settings for display."""
        said = [f"{name}={value}" for name, value in self.settings.items() if name != "lr"]
        said += ["rows=some" if self.one_output else "rows=touched"] * (self.rows == "touched")
        said += [f"speeds={self.speeds}"] if self.speeds else []
        said += ["dispatched"] if self.once else []
        return " ".join(said) + (" (target at start)" if self.asks == "target" else "")

    @property
    def alone(self) -> bool:
        """Return whether `hooke run` starts it, in processes of its own: what takes no steps, and one method."""
        return self.asks == "target" or self.method == "sgd"

    @property
    def key(self) -> str:
        """Return a name for files."""
        said = "-".join(f"{name}.{value}" for name, value in self.settings.items())
        said += f"-{self.rows}" * (self.rows != "all") + f"-one.{self.one_output}" * bool(self.one_output)
        slow = "".join(f"-{speed}" for speed in self.speeds) + "-once" * self.once
        return f"{self.method}-{self.workers}-{self.steps}-{self.asks}-{said}{slow}".replace(" ", "")

    def spec(self, world: str) -> dict[str, Any]:
        """Return the run's specification."""
        of_all = BATCH * self.workers
        slow = {"step_seconds": STEP_SECONDS, "score_seconds": SCORE_SECONDS} if world == "mpi" else {}
        found: dict[str, Any] = {
            "schema": "hooke.run/1",
            "workload": {"name": "sine-net", "parameters": slow},
            "algorithm": {"name": self.method, "parameters": {"lr": 0.1, **self.settings}},
            "batch": BATCH,
            "workers": self.workers,
            "seed": SEED,
            "world": world,
            "compute": {"device": self.device},
            "budget": {"samples": of_all * self.steps},
            "evaluation": {"every": of_all * self.every},
        }
        if self.rows != "all":
            found["communication"] = {"rows": self.rows}
        if self.one_output:
            found["workload"]["parameters"]["one_output"] = self.one_output
        if self.once:
            found["sharding"] = "dispatched"
        if world == "virtual":
            found["virtual"] = NETWORK | ({"speeds": self.speeds} if self.speeds else {})
        elif self.speeds:
            found["groups"] = [{"kind": self.device, "speed": speed} for speed in self.speeds]
        if world == "virtual" and self.asks == "bits":
            found["checkpoint_every"] = of_all * (self.steps // 2 + 1)  # once, and never at the end of a period
        if self.asks == "target":
            found["target"] = {"value": 1e-9}  # an accuracy; the initial weights have more
        return found


TOGETHER: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "sync-sgd": ({"momentum": 0.5}, {"reduction": "sum", "lr": 0.05}),
    "sync-easgd": ({"alpha": 0.2, "overlap": True}, {"beta": 0.8, "period": 3, "pipelined": True}),
    "sync-easgd1": ({"alpha": 0.2, "period": 2}, {"rho": 1.5, "momentum": 0.5}),
    "sync-easgd2": ({"alpha": 0.2, "momentum": 0.5, "momentum_kind": "nesterov"}, {"rho": 2.0}),
    "sync-easgd3": ({"beta": 0.6, "period": 4}, {"beta": 0.9, "beta_per": "P tau", "period": 2}),
    "sma": (
        {"alpha": 0.1, "beta": None, "center_momentum": 0.5},
        {"beta": 0.4, "center_momentum": 0.8, "period": 3},
    ),
    "chip-easgd": ({"alpha": 0.3, "parts": 2}, {"beta": 0.8, "parts": 2, "period": 2, "momentum": 0.5}),
    "local-sgd": ({"period": 5}, {"period": 4, "momentum": 0.5, "momentum_kind": "nesterov"}),
    "overlap-local-sgd": (
        {"period": 2, "pull": 0.5, "anchor_momentum": 0.4},
        {"period": 3, "pull": 0.7, "momentum": 0.5},
    ),
    "co2": (
        {"period": 4, "outer_lr": 1.0, "outer_momentum": 0.4, "gap": 1.5},
        {"period": 5, "outer_lr": 0.8, "outer_momentum": 0.5, "clip": 0.02, "momentum": 0.5},
    ),
    "elastic-slowmo": (
        {"period": 4, "delay": 2, "pull": 0.7, "slow_momentum": 0.4},
        {"period": 5, "delay": 0, "pull": 1.0, "slow_lr": 0.9, "momentum": 0.5},
    ),
    "post-local-sgd": ({"period": 3, "switch": 7}, {"period": 4, "switch": 10, "momentum": 0.5}),
    "slowmo": ({"period": 4, "slow_momentum": 0.6}, {"period": 5, "slow_lr": 0.8, "momentum": 0.5}),
    "diloco": ({"period": 6, "lr": 0.01}, {"period": 5, "optimizer": "sgd", "outer_momentum": 0.5}),
    "streaming-diloco": (
        {"period": 6, "lr": 0.01, "fragments": 3, "delay": 2},
        {"period": 5, "optimizer": "sgd", "fragments": 2, "delay": 3, "mixing": 0.3, "outer_momentum": 0.5},
    ),
    "noloco": (
        {"period": 6, "lr": 0.01, "outer_momentum": 0.5, "pull": 0.6},
        {"period": 3, "optimizer": "sgd", "outer_momentum": 0.3, "pull": 0.8, "momentum": 0.5},
    ),
    "stochastic-gradient-push": ({"delay": 1, "momentum": 0.5}, {"delay": 0, "momentum": 0.5}),
    "sparta": ({"fraction": 0.3, "momentum": 0.5}, {"fraction": 0.2, "period": 3}),
    "onebit-adam": ({"switch": 6, "lr": 0.01}, {"switch": 10, "lr": 0.02, "b1": 0.8, "b2": 0.99}),
    "sparseloco": (
        {"period": 6, "lr": 0.01, "chunk": 16, "kept": 5, "bits": 2, "feedback": 0.95},
        {"period": 3, "optimizer": "sgd", "chunk": 50, "kept": 20, "bits": 32, "feedback": 0.8, "momentum": 0.5},
    ),
    "demo": (
        {"lr": 0.01, "chunk": 16, "kept": 5, "bits": 32, "decay": 0.99},
        {"lr": 0.005, "chunk": 30, "kept": 4, "bits": 2, "decay": 0.9},
    ),
    "pipe-sgd": ({"momentum": 0.5, "momentum_kind": "nesterov"}, {"momentum": 0.5, "predict": "momentum"}),
    "delayed-gradient-averaging": (
        {"momentum": 0.5, "momentum_kind": "nesterov"},
        {"delay": 3, "lr": 0.05, "momentum": 0.5, "share": 0.6},
    ),
    "powersgd": ({"rank": 2, "momentum": 0.5}, {"rank": 3}),
    "original-easgd": ({"alpha": 0.3, "mode": "ordered"}, {"rho": 2.0, "mode": "serial", "momentum": 0.5}),
    "weighted-sync-sgd": (
        {"lr": 0.05, "sizes": (1, 3)},
        {"lr": 0.03, "sizes": (3, 1, 2, 2), "momentum": 0.5, "momentum_kind": "nesterov"},
    ),
}
"""Deterministic methods: settings for two workers in both worlds, and for four in virtual time."""
SERVED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "async-easgd": ({"alpha": 0.3, "period": 2}, {"rho": 2.0, "momentum": 0.5, "momentum_kind": "nesterov"}),
    "async-measgd": ({"alpha": 0.2, "momentum": 0.5}, {"rho": 1.0, "momentum": 0.7, "period": 3}),
    "easgd": ({"period": 4, "beta": 0.9}, {"period": 5, "beta": 0.8, "beta_per": "P tau"}),
    "eamsgd": (
        {"period": 3, "beta": 0.9, "momentum": 0.5},
        {"period": 1, "alpha": 0.1, "beta": None, "momentum": 0.6},
    ),
    "async-sgd": ({"lr": 0.05}, {"lr": 0.02, "momentum": 0.5, "momentum_at": "worker", "period": 2}),
    "async-msgd": ({"lr": 0.05, "momentum": 0.5}, {"lr": 0.02, "momentum": 0.4}),
    "adaptive-sgd": (
        {"lr": 0.03, "smallest": 1, "largest": 3, "scaling": 0.5, "mega_batch": 9, "center_momentum": 0.4},
        {"lr": 0.02, "smallest": 1, "largest": 2, "scaling": 1.0, "mega_batch": 40, "center_momentum": 0.0}
        | {"at_once": 0.0},
    ),
    "heterogeneous-easgd": (
        {"alpha": 0.3, "period": 2, "longest": 6, "factor": 2.0},
        {"beta": 0.8, "period": 1, "longest": 4, "factor": 1.5, "momentum": 0.5},
    ),
    "hogbatch": (
        {"lr": 0.05, "sizes": (1, 2), "smallest": 1, "largest": 4, "alpha": 2.0},
        {"lr": 0.02, "sizes": (1, 3), "smallest": 1, "largest": 6, "alpha": 1.5, "rate_exponent": 0.5},
    ),
    "downpour": ({"lr": 0.05, "period": 4}, {"lr": 0.02, "period": 3, "momentum": 0.3}),
    "mdownpour": ({"lr": 0.02, "momentum": 0.6}, {"lr": 0.02, "momentum": 0.3}),
}
OVERWRITING: dict[str, Any] = {
    "lr": 0.03,
    "sizes": (2, 1),
    "smallest_of": (2, 1),
    "largest_of": (6, 3),
    "alpha": 2.0,
    "merging": "overwrite",
}
"""Hogbatch whose workers' weights replace the center, with bounds for each worker."""
FREE: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "hogwild-sgd": ({"momentum": 0.5}, {"period": 2, "lr": 0.05}, {"period": 3, "lr": 0.03, "momentum": 0.5}),
    "hogwild-easgd": ({"alpha": 0.3}, {"alpha": 0.2, "period": 2}, {"alpha": 0.2, "momentum": 0.5}),
}
"""Lock-free methods: one worker, which is exact; two in both worlds and four in virtual time: no lost updates."""


UNEQUAL: dict[str, dict[str, Any]] = {
    "adaptive-sgd": {
        "lr": 0.03,
        "smallest": 1,
        "largest": 4,
        "scaling": 0.5,
        "mega_batch": 11,
        "center_momentum": 0.5,
    },
    "heterogeneous-easgd": {"alpha": 0.25, "period": 2, "longest": 8, "factor": 2.0},
    "hogbatch": {"lr": 0.03, "sizes": (2, 1), "smallest": 1, "largest": 8, "alpha": 2.0},
    "weighted-sync-sgd": {"lr": 0.04, "sizes": (3, 1)},
}
"""Methods for unequal workers: settings for two, of which the second is slower, on batches that are handed out."""


LAZY: dict[str, Any] = {"optimizer": "lazy-adam", "lr": 0.02, "weight_decay": 0.0, "alpha": 0.3}
SCARCE = (
    Case(
        "sync-easgd",
        LAZY | {"period": 2, "overlap": True},
        asks="bits",
        rows="touched",
        one_output=12,
    ),
    Case(
        "sync-easgd3",
        LAZY | {"pipelined": True, "period": 3},
        workers=4,
        worlds=("virtual",),
        rows="touched",
        one_output=48,
    ),
)
"""Exchanges of touched rows after several steps of several workers: 16 and 48 items."""


def cases() -> Iterator[Case]:
    """Yield every case."""
    momentum = {"momentum": 0.5, "momentum_kind": "nesterov"}
    yield Case("sgd", momentum, workers=1, asks="bits")
    for method, (two, four) in TOGETHER.items():
        yield Case(method, two, asks="bits")
        yield Case(method, four, workers=4, worlds=("virtual",))
    for method, (two, four) in SERVED.items():
        yield Case(method, two, worlds=("mpi",), asks="replay")
        yield Case(method, four, workers=4, worlds=("virtual",))
    for method, settings in UNEQUAL.items():
        asks = "bits" if method in TOGETHER else "replay"
        worlds = ("virtual", "mpi") if method in TOGETHER else ("mpi",)
        yield Case(method, settings, worlds=worlds, asks=asks, speeds=(1.0, 0.3), once=True)
    for method, (one, two, four) in FREE.items():
        atomic = {"updates": "atomic"}
        yield Case(method, one | atomic, workers=1, worlds=("virtual",))
        yield Case(method, two | atomic)
        yield Case(method, four | atomic, workers=4, worlds=("virtual",))
    yield Case("hogbatch", OVERWRITING, worlds=("mpi",), asks="replay")
    yield Case("hogbatch", OVERWRITING, workers=4, worlds=("virtual",))
    yield from _rows()
    yield from _clocks()


def _rows() -> Iterator[Case]:
    """Yield exchanges of touched rows.

    Where all rows are touched, the equations are those of whole vectors; else those of `audit.rows`. Between two
    exchanges of all workers 4 to 48 items are drawn: k is such that these often leave the last output alone.
    """
    dense: dict[str, dict[str, Any]] = {
        "sync-sgd": {"momentum": 0.5},
        "local-sgd": {"period": 5},
        "sync-easgd3": {"beta": 0.6},
    }
    for method, settings in dense.items():
        yield Case(method, settings, asks="bits", rows="touched")
    lazy = LAZY
    some = Case("sync-easgd1", lazy, asks="bits", rows="touched", one_output=6)
    yield some
    yield from SCARCE
    yield replace(some, method="sma", settings=lazy | {"beta": None, "center_momentum": 0.5})
    yield replace(some, method="chip-easgd", settings=lazy | {"parts": 2})
    yield replace(some, method="original-easgd", settings=lazy | {"mode": "ordered"})
    yield replace(some, method="async-easgd", settings=lazy | {"period": 2}, asks="replay", worlds=("mpi",))
    sent = {name: value for name, value in lazy.items() if name != "alpha"}
    pushes = sent | {"period": 2, "momentum_at": "worker"}
    yield replace(some, method="async-sgd", settings=pushes, asks="replay", worlds=("mpi",))
    outer = sent | {"period": 2, "outer_momentum": 0.3, "pull": 0.8}
    yield replace(some, method="noloco", settings=outer)
    yield replace(some, method="noloco", settings=outer, asks="", workers=4, worlds=("virtual",))
    alone = lazy | {"period": 2, "updates": "atomic"}
    yield replace(some, method="hogwild-easgd", settings=alone, asks="", workers=1, worlds=("virtual",))


def _clocks() -> Iterator[Case]:
    """Yield cases in which the clock of a single rank would be wrong by a multiple of every slack."""
    alone = Case("easgd", {"period": 30, "beta": 0.3}, workers=1, worlds=("mpi",), steps=120, every=30)
    yield alone
    yield replace(alone, workers=2, steps=90)
    yield Case("hogwild-sgd", {"period": 16, "lr": 0.02, "updates": "atomic"}, worlds=("mpi",), steps=96, every=24)
    yield Case("sync-sgd", asks="target")
    yield Case("async-easgd", asks="target")
    yield Case("hogwild-sgd", {"updates": "atomic"}, asks="target")
