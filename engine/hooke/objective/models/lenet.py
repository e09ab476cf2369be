"""Caffe's LeNet, as `examples/mnist/lenet_train_test.prototxt` describes it."""

from __future__ import annotations

from torch import nn


def lenet() -> nn.Module:
    """Return LeNet for inputs (b, 1, 28, 28): 431,080 parameters."""
    return nn.Sequential(
        nn.Conv2d(1, 20, 5),
        nn.MaxPool2d(2),
        nn.Conv2d(20, 50, 5),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(800, 500),
        nn.ReLU(),
        nn.Linear(500, 10),
    )
