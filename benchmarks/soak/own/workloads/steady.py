"""Points around two centers, in steps that leave the processor to others; ranks misbehave when a file tells them.

A file `$SOAK_ORDERS/raise.R` has rank R raise at its next step, `memory.R` allocates until memory runs out, but no
more than is harmless. Whoever writes it removes it.
"""

import os
import time
from pathlib import Path

import torch
from torch import Tensor, nn

Part = tuple[Tensor, Tensor]

PAUSE = 0.05
"""Seconds of a step."""
MOST = 400
"""Megabytes that a rank allocates at most."""
held: list[bytes] = []


def model() -> nn.Module:
    return nn.Linear(2, 2)


def data() -> tuple[Part, Part]:
    draw = torch.Generator().manual_seed(1)

    def part(count: int) -> Part:
        labels = torch.arange(count) % 2
        return torch.randn(count, 2, generator=draw) + 2.0 * labels[:, None], labels

    return part(640), part(64)


def told(what: str) -> bool:
    orders, rank = os.environ.get("SOAK_ORDERS", ""), os.environ.get("HOOKE_RANK")
    return orders != "" and Path(orders, f"{what}.{rank}").exists()


def loss(output: Tensor, labels: Tensor) -> Tensor:
    time.sleep(PAUSE)
    if told("raise"):
        raise ValueError("a fault of the user, planned")
    while told("memory") and len(held) < MOST:
        held.append(b"1" * (1 << 20))
    return nn.functional.cross_entropy(output, labels)
