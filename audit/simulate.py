"""Shared by all simulations: the batches of the workers, a worker's step, the moving rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audit import problem
from audit.problem import Array

Parameters = Mapping[str, Any]

DEFAULTS: dict[str, Any] = {
    "lr": 0.05, "momentum": 0.0, "momentum_kind": "heavy-ball", "period": 1, "momentum_at": "master",
    "rho": 1.0, "alpha": None, "beta": None, "beta_per": "P",
    "reduction": "mean", "parts": 2, "center_momentum": 0.9, "switch": 100,
    "slow_momentum": 0.5, "slow_lr": 1.0, "optimizer": "adamw", "weight_decay": 0.1, "outer_lr": 0.7,
    "outer_momentum": 0.9,
    "rank": 2, "pull": 0.6, "anchor_momentum": 0.7,
    "gap": 1.0, "clip": None, "fragments": 4, "delay": 1, "mixing": 0.5, "fraction": 0.005,
    "b1": 0.9, "b2": 0.999, "at_once": 0.5, "predict": "none", "share": 1.0,
    "rate_exponent": 1.0,
}  # fmt: skip
"""Default values of parameters, from docs/algorithms.md; only DiLoCo and its relatives read the optimizer."""


@dataclass
class Seen:
    """The notes of a run: the items and the weights of every gradient.

    `items[i]` (steps, batch) and `points[i]` (steps, 51) of worker i; `order`: the workers of a server's
    exchanges, in order, including the last ones.
    """

    items: list[NDArray[np.int64]]
    points: list[Array]
    order: list[int]
    seed: int = 0
    start: Array = field(default_factory=problem.start)
    """The initial weights of the simulation."""
    apart: float = 0.0
    """Largest difference so far between a simulated and a recorded point, relative to the largest weight."""
    done: list[int] = field(default_factory=list)
    one_output: int = 0
    """k > 0: an item has a loss in one output only; see `problem.gradient`."""

    def __post_init__(self) -> None:
        self.done = [0] * len(self.items)

    def anew(self, start: Array) -> Seen:
        """Return the same notes for another simulation with different initial weights."""
        return Seen(self.items, self.points, list(self.order), self.seed, start, one_output=self.one_output)

    @property
    def workers(self) -> int:
        """Return P."""
        return len(self.items)

    @property
    def rounds(self) -> int:
        """Return the steps of each worker. Raises ValueError if they differ."""
        (steps,) = {len(items) for items in self.items}
        return steps

    def left(self, i: int) -> int:
        """Return the number of remaining steps of worker i."""
        return len(self.items[i]) - self.done[i]

    def gradient(self, i: int, x: Array) -> Array:
        """Return worker i's next gradient at x; record the distance of the run's own point from x."""
        self.apart = max(self.apart, difference(self.points[i][self.done[i]], x))
        return self._next(i, x)

    def found(self, i: int) -> Array:
        """Return worker i's next gradient at the recorded point, if the equations do not determine it."""
        return self._next(i, self.points[i][self.done[i]])

    def _next(self, i: int, x: Array) -> Array:
        items = self.items[i][self.done[i]]
        self.done[i] += 1
        return problem.gradient(x, items, self.one_output)


def difference(one: Array, other: Array) -> float:
    """Return the largest difference of two vectors over the largest element of `other` (infinite for NaN)."""
    found = float(np.max(np.abs(one - other)) / np.max(np.abs(other)))
    return found if np.isfinite(found) else np.inf


class Step:
    """v' = mu v - lr g,  x' = x + v': g at x (heavy ball), or at x + mu v (Nesterov)."""

    def __init__(self, p: Parameters) -> None:
        self.lr, self.mu = p["lr"], p["momentum"]
        self.ahead = self.mu if p["momentum_kind"] == "nesterov" else 0.0
        self.v: Array = np.zeros(problem.SIZE)

    def at(self, x: Array) -> Array:
        """Return where the gradient is taken."""
        return x + self.ahead * self.v

    def move(self, g: Array) -> Array:
        """Return v'."""
        self.v = self.mu * self.v - self.lr * g
        return self.v


class AdamW:
    """m' = b1 m + (1 - b1) g,  v' = b2 v + (1 - b2) g^2,  x' = x - lr w x - lr m^ / (sqrt(v^) + 1e-8)."""

    def __init__(self, p: Parameters) -> None:
        self.lr, self.decay, self.t = float(p["lr"]), float(p["weight_decay"]), 0
        self.m: Array = np.zeros(problem.SIZE)
        self.v: Array = np.zeros(problem.SIZE)

    def at(self, x: Array) -> Array:
        """Return where the gradient is taken."""
        return x

    def stepped(self, x: Array, g: Array) -> Array:
        """Return x'."""
        self.t += 1
        self.m, self.v = 0.9 * self.m + 0.1 * g, 0.999 * self.v + 0.001 * g * g
        m, v = self.m / (1 - 0.9**self.t), self.v / (1 - 0.999**self.t)
        return x - self.lr * self.decay * x - self.lr * m / (np.sqrt(v) + 1e-8)


def rate(p: Parameters, workers: int) -> float:
    """Return the moving rate a: alpha; or beta / P, or beta / (P tau); or lr rho."""
    if p["alpha"] is not None:
        return float(p["alpha"])
    if p["beta"] is not None:
        return float(p["beta"] / workers / (p["period"] if p["beta_per"] == "P tau" else 1))
    return float(p["lr"] * p["rho"])
