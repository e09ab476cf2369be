"""AlexNet for images of 32 x 32: five convolutions and three fully connected layers."""

from __future__ import annotations

from torch import nn

from hooke.objective.models.layers import Dropout


def alexnet(hidden: int, dropout: float, classes: int = 10) -> nn.Module:
    """Return AlexNet for inputs (b, 3, 32, 32).

    The five convolutions of Krizhevsky's network ("One weird trick", arXiv 1404.5997: 64, 192, 384, 256, 256
    channels), all of 3 x 3 without stride, because the images are 7 times smaller; pooling after the first, the
    second and the fifth, so that 256 x 4 x 4 are left for the fully connected layers.
    """
    return nn.Sequential(
        *_convolution(3, 64),
        nn.MaxPool2d(2),
        *_convolution(64, 192),
        nn.MaxPool2d(2),
        *_convolution(192, 384),
        *_convolution(384, 256),
        *_convolution(256, 256),
        nn.MaxPool2d(2),
        nn.Flatten(),
        Dropout(dropout),
        nn.Linear(256 * 4 * 4, hidden),
        nn.ReLU(),
        Dropout(dropout),
        nn.Linear(hidden, hidden),
        nn.ReLU(),
        nn.Linear(hidden, classes),
    )


def _convolution(before: int, after: int) -> tuple[nn.Module, nn.Module]:
    return nn.Conv2d(before, after, 3, padding=1), nn.ReLU()
