"""The learning rate over a worker's share of the budget."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Kind = Literal["constant", "cosine", "step"]


@dataclass(frozen=True)
class Schedule:
    """Factor of the learning rate at local step t (from 0) of a worker whose share of the budget is T `steps`.

    With W = round(warmup T) it is min(1, (t + 1) / (W + 1)) times

    cosine:  f + (1 - f) (1 + cos(pi (t - W) / (T - W))) / 2 from step W on, f = `final_share`
    step:    `milestone_factor` to the power of the number of milestones m with m T <= t

    The first is SGDR without restarts (Loshchilov and Hutter 2017, equation (5)). A worker that takes more than T
    steps, because others took fewer, keeps the value at the end.
    """

    kind: Kind
    steps: int
    warmup: float = 0.0
    final_share: float = 0.0
    milestones: tuple[float, ...] = ()
    milestone_factor: float = 1.0

    def at(self, t: int) -> float:
        """Return the factor at step t."""
        warm = round(self.warmup * self.steps)
        rise = min(1.0, (t + 1) / (warm + 1))
        if self.kind == "cosine":
            share = min(max(t - warm, 0) / max(self.steps - warm, 1), 1.0)
            return rise * (self.final_share + (1 - self.final_share) * (1 + math.cos(math.pi * share)) / 2)
        if self.kind == "step":
            passed = sum(t / self.steps >= milestone for milestone in self.milestones)
            return rise * float(self.milestone_factor**passed)
        return rise
