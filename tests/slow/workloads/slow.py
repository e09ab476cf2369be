"""Two classes of points, and steps that wait.

A run of it goes on for as long as a test lets it, and leaves the processors to others meanwhile.
"""

import time

import torch

PAUSE = 0.002
"""Seconds that a step waits at least."""


def model():
    return torch.nn.Linear(2, 2)


def data():
    x = torch.randn(64, 2, generator=torch.Generator().manual_seed(0))
    return (x, (x[:, 0] > 0).long()), (x, (x[:, 0] > 0).long())


def loss(output, labels):
    time.sleep(PAUSE)
    return torch.nn.functional.cross_entropy(output, labels)


def score(output, labels):
    return float((output.argmax(1) == labels).float().mean())
