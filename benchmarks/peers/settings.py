"""The settings of a peer's run, in the terms of a Hooke run."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hooke.catalogue.validation import validate_run
from hooke.spec.specification import RunSpec

METHODS = ("ddp", "post-local", "hierarchical", "torchft-local", "torchft-diloco", "mpi4py", "plain")
AVERAGED = ("post-local", "hierarchical", "torchft-local", "torchft-diloco")
WIRES, BUCKETS = ("fp32", "bf16", "powersgd"), ("default", "one")
WORKLOADS = ("mnist-lenet", "fashion-lenet", "cifar-resnet20", "text-transformer")
OPTIMIZERS = ("sgd", "adamw")
METRIC = "validation_accuracy"


@dataclass(frozen=True)
class Settings:
    """One run of a peer. `period` and `warmup` (steps) are those of averaging; `samples` is the budget.

    `group` and `factor` are those of hierarchical averaging: workers in a group, which averages every `period`
    steps, and periods between averages over all workers. `outer_lr` and `outer_momentum` are those of torchft's
    DiLoCo, Nesterov.
    `momentum` is Nesterov momentum as in PyTorch, of SGD; `weight_decay` is AdamW's. `model` are the parameters of
    the workload. `wire`, `buckets` and `accumulation` are DDP's: its bf16 or
    PowerSGD hook; gradients in buckets that are sent while others are computed (PyTorch's sizes), or in `one`
    bucket at the end; gradients per step, of which only the last is followed by an exchange (`no_sync`).
    """

    method: str
    workers: int = 1
    seed: int = 0
    lr: float = 0.1
    batch: int = 16
    samples: int = 360_000
    every: int = 12_000
    target: float | None = 0.988
    precision: str = "fp32"
    sharding: str = "iid"
    period: int = 10
    warmup: int = 100
    group: int = 2
    factor: int = 4
    momentum: float = 0.0
    wire: str = "fp32"
    buckets: str = "default"
    accumulation: int = 1
    outer_lr: float = 0.7
    outer_momentum: float = 0.9
    workload: str = "mnist-lenet"
    model: dict[str, Any] = field(default_factory=dict)
    optimizer: str = "sgd"
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        if self.wire not in WIRES or self.buckets not in BUCKETS:
            raise ValueError(f"wire is of {WIRES}, buckets of {BUCKETS}, not {self.wire!r} and {self.buckets!r}")
        if self.method != "ddp" and (self.wire, self.buckets, self.accumulation) != (WIRES[0], BUCKETS[0], 1):
            raise ValueError(f"wire, buckets and accumulation are settings of ddp, not of {self.method}")
        if self.wire == "powersgd" and self.buckets != "one":
            raise ValueError("PyTorch's PowerSGD hook waits forever over gloo if there are several buckets: one")
        if self.method == "hierarchical" and (self.factor < 2 or self.workers % min(self.group, self.workers)):
            raise ValueError("hierarchical: factor is at least 2, and groups of equal size hold all workers")
        if self.accumulation < 1 or self.workload not in WORKLOADS:
            raise ValueError(f"accumulation is at least 1, the workload one of {WORKLOADS}")
        if self.optimizer not in OPTIMIZERS or (self.momentum if self.optimizer == "adamw" else self.weight_decay):
            raise ValueError(f"the optimizer is one of {OPTIMIZERS}; SGD has momentum, AdamW weight decay")

    def spec(self) -> RunSpec:
        """Return the Hooke run with the same data order, budget, target and evaluations.

        Its algorithm is a placeholder for the peer's synchronous method.
        """
        return validate_run(
            {
                "schema": "hooke.run/1",
                "workload": {"name": self.workload, "parameters": self.model},
                "algorithm": {"name": "sync-sgd", "parameters": {"lr": self.lr}},
                "batch": self.batch,
                "workers": self.workers,
                "seed": self.seed,
                "sharding": self.sharding,
                "budget": {"samples": self.samples},
                "target": {"metric": METRIC, "value": self.target} if self.target else None,
                "evaluation": {"every": self.every},
                "compute": {"precision": self.precision},
            }
        )

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the method."""
        own: dict[str, Any] = {"period": self.period} if self.method in AVERAGED else {}
        own |= {"warmup": self.warmup} if self.method in ("post-local", "hierarchical") else {}
        own |= {"group": self.group, "factor": self.factor} if self.method == "hierarchical" else {}
        outer = {"outer_lr": self.outer_lr, "outer_momentum": self.outer_momentum}
        own |= outer if self.method == "torchft-diloco" else {}
        own |= {"momentum": self.momentum} if self.momentum else {}
        own |= {} if self.optimizer == "sgd" else {"optimizer": self.optimizer, "weight_decay": self.weight_decay}
        ddp = {"wire": self.wire, "buckets": self.buckets, "accumulation": self.accumulation}
        own |= ddp if self.method == "ddp" else {}
        return {"lr": self.lr, **own}

    def write(self, folder: Path) -> None:
        """Write these settings for the ranks."""
        (folder / "peer.json").write_text(json.dumps(asdict(self)))

    @staticmethod
    def read(folder: Path) -> Settings:
        """Return the settings written by `write`."""
        return Settings(**json.loads((folder / "peer.json").read_text()))
