"""Two moons, drawn once from a fixed seed: a model learns them in a few hundred samples."""

import numpy as np
from torch import nn


def moons(count: int, seed: int):
    """Return (inputs, labels) as arrays: (n, 2) float32, (n,) int64."""
    random = np.random.default_rng(seed)
    labels = np.arange(count) % 2
    angle = np.pi * (random.random(count) + labels)
    inputs = np.stack([np.cos(angle) + labels, np.sin(angle) + labels / 2], 1)
    return (inputs + 0.1 * random.standard_normal(inputs.shape)).astype(np.float32), labels


def model():
    """Return the perceptron, with PyTorch's own initial weights."""
    return nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))


TRAIN, TEST = moons(600, 1), moons(100, 2)
GIVEN = {"model": model, "train": TRAIN, "test": TEST}
QUICK = {"workers": 2, "seeds": 1, "batch": 8, "samples": 1600, "evaluate_every": 400, "progress": False}
QUICK |= {"seconds_per_sample": 2e-5}
METHODS = {"sync-easgd": {"lr": 0.2}, "async-easgd": {"lr": 0.2, "period": 2}}
