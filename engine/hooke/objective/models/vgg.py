"""VGG-19 (Simonyan and Zisserman, arXiv 1409.1556, configuration E): 16 convolutions, 3 fully connected layers."""

from __future__ import annotations

from torch import nn

from hooke.objective.models.layers import Dropout

STAGES = ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4))
"""(channels, convolutions of 3 x 3) of each stage; a stage ends with max-pooling."""


def vgg19(classes: int, dropout: float = 0.5) -> nn.Module:
    """Return VGG-19 for inputs (b, 3, 224, 224), or any size of at least 32, averaged to 7 x 7."""
    layers: list[nn.Module] = []
    before = 3
    for channels, count in STAGES:
        for _ in range(count):
            layers += [nn.Conv2d(before, channels, 3, padding=1), nn.ReLU()]
            before = channels
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(
        *layers,
        nn.AdaptiveAvgPool2d(7),
        nn.Flatten(),
        nn.Linear(512 * 7 * 7, 4096),
        nn.ReLU(),
        Dropout(dropout),
        nn.Linear(4096, 4096),
        nn.ReLU(),
        Dropout(dropout),
        nn.Linear(4096, classes),
    )
