"""Draws the faults of a soak: a function of the seed."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

LEAST_PAUSE = 0.3
"""Seconds between two faults, at least."""


@dataclass(frozen=True)
class Kind:
    """How often a fault comes, relative to others, and how long it may last."""

    weight: int
    seconds: tuple[float, ...] = (0.0,)


@dataclass(frozen=True)
class Planned:
    """One fault: when (s after the beginning), which, for how long, and which of its possible targets.

    `pick` is in [0, 1): of n targets the one numbered floor(n pick) is hit.
    """

    at: float
    fault: str
    seconds: float
    pick: float


def draw(seed: int, seconds: float, every: float, kinds: Mapping[str, Kind]) -> list[Planned]:
    """Return the faults of a soak, in order of time: pauses are exponential with the mean `every`, s.

    Kinds are dealt from a shuffled deck that holds each as often as its weight, so that all come early on.
    """
    chance = random.Random(seed)
    deck: list[str] = []
    planned: list[Planned] = []
    at = 0.0
    while True:
        at += max(LEAST_PAUSE, chance.expovariate(1 / every))
        if at >= seconds:
            return planned
        if not deck:
            deck = [name for name in sorted(kinds) for _ in range(kinds[name].weight)]
            chance.shuffle(deck)
        name = deck.pop()
        planned.append(Planned(at, name, chance.choice(kinds[name].seconds), chance.random()))
