"""Two spirals, multilayer perceptron.

Data: points of two interleaved spirals in the plane, made anew at every start from a fixed seed; the classic of
K. Lang and M. Witbrock (1988). One in five points is for testing; of the others one in ten is the validation part,
split off by Hooke.

Model: 2 - width - width - 2 with tanh.

Loss: mean cross-entropy. Licence: none needed, the data is computed.
"""

import math
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

target = 0.95


def model(width: Annotated[int, Field(ge=1, le=4096), "Units of each hidden layer."] = 64) -> nn.Module:
    """Return the perceptron, with PyTorch's own initial weights."""
    return nn.Sequential(
        nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 2)
    )  # fmt: skip


def data(
    points: Annotated[int, "Points, both spirals together."] = 2000,
    turns: Annotated[float, "How often each spiral winds around the origin."] = 1.0,
    noise: Annotated[float, "Standard deviation of the noise on both coordinates."] = 0.02,
) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Return (inputs, labels) for training and for testing: (n, 2) float32 and (n,) int64."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(points) % 2
    along = torch.rand(points, generator=generator).sqrt()
    angle = 2 * math.pi * turns * along + math.pi * labels
    inputs = torch.stack([along * angle.cos(), along * angle.sin()], 1)
    inputs += noise * torch.randn(inputs.shape, generator=generator)
    cut = points * 4 // 5
    return (inputs[:cut], labels[:cut]), (inputs[cut:], labels[cut:])


def loss(output: Tensor, labels: Tensor) -> Tensor:
    """Return the mean over a batch."""
    return functional.cross_entropy(output, labels)


def score(output: Tensor, labels: Tensor) -> float:
    """Return the share of a batch that is right."""
    return float((output.argmax(1) == labels).float().mean())
