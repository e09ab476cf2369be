"""The settings of peers and the spaces in which they are searched: what their libraries offer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from hooke.catalogue.algorithm import Algorithm
from hooke.spec.spaces import Space
from pydantic import Field

ADAMW = {"optimizer": "adamw", "weight_decay": 0.01}
ADAMW_SPACES: Mapping[str, Space | None] = {
    "lr": Space(low=0.0003, high=0.03, scale="log"),
    "momentum": None,
    "momentum_kind": None,
}
"""Of a task with AdamW, for every entry."""
ACCUMULATION: Mapping[str, Space | None] = {"accumulation": Space(choices=[1, 2, 4, 8])}
"""Of DDP, and of methods of the catalogue that are entered with accumulation."""


class PeerSgd(Algorithm):
    """PyTorch's SGD with Nesterov momentum, or its AdamW."""

    search = {
        "lr": Space(low=0.003, high=1.0, scale="log"),
        "momentum": Space(low=0.0, high=0.97, scale="reverse-log"),
    }

    lr: float = Field(0.1, gt=0, description="Learning rate.")
    momentum: float = Field(0.0, ge=0, lt=1, description="Nesterov momentum.")
    optimizer: Literal["sgd", "adamw"] = Field("sgd", description="Optimizer.")
    weight_decay: float = Field(0.0, ge=0, description="Of AdamW.")


class PeerDdp(PeerSgd):
    """DistributedDataParallel with a communication hook and `no_sync`."""

    search = ACCUMULATION

    wire: Literal["fp32", "bf16", "powersgd"] = Field("fp32", description="Communication hook.")
    accumulation: int = Field(1, ge=1, description="Gradients per step.")


class PeerPostLocal(PeerSgd):
    """PostLocalSGDOptimizer with PeriodicModelAverager."""

    search = {
        "period": Space(low=1, high=64, scale="log", integer=True),
        "warmup": Space(low=1, high=1000, scale="log", integer=True),
    }

    period: int = Field(10, ge=1, description="Local steps per average.")
    warmup: int = Field(100, ge=0, description="Steps with all-reduced gradients.")


class PeerHierarchical(PeerPostLocal):
    """PostLocalSGDOptimizer with HierarchicalModelAverager: two levels."""

    search = {"group": Space(choices=[2, 4]), "factor": Space(choices=[2, 4, 8])}

    group: int = Field(2, ge=1, description="Workers in a group.")
    factor: int = Field(4, ge=2, description="Averages of a group per average of all workers.")


class PeerTorchftLocal(PeerSgd):
    """torchft's LocalSGD."""

    search = {"period": Space(low=1, high=64, scale="log", integer=True)}

    period: int = Field(10, ge=1, description="Local steps per average.")


class PeerTorchftDiloco(PeerTorchftLocal):
    """torchft's DiLoCo, with AdamW inside: the spaces of the catalogue's method."""

    search = ADAMW_SPACES | {
        "outer_lr": Space(low=0.2, high=1.2),
        "outer_momentum": Space(low=0.0, high=0.95, scale="reverse-log"),
    }

    outer_lr: float = Field(0.7, gt=0, description="Learning rate of the outer steps.")
    outer_momentum: float = Field(0.9, ge=0, lt=1, description="Nesterov momentum of the outer steps.")


PEERS: dict[str, type[Algorithm]] = {
    "ddp": PeerDdp,
    "post-local": PeerPostLocal,
    "hierarchical": PeerHierarchical,
    "torchft-local": PeerTorchftLocal,
    "torchft-diloco": PeerTorchftDiloco,
    "mpi4py": PeerSgd,
}
"""Peer -> its settings."""
