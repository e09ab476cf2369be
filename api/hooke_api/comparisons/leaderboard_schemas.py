"""Responses about methods over several workloads."""

from __future__ import annotations

from hooke_api.base.schema import View


class Counted(View):
    """An experiment that counts."""

    id: str
    number: int
    name: str


class ExperimentLeftOut(Counted):
    """An experiment, or a part of it, that does not count."""

    why: str


class BoardWorkload(View):
    """A workload of a board."""

    name: str
    """With its parameters."""
    target: str
    trials: int
    """Per variant: the effort that all methods had."""
    experiments: list[Counted]
    """The newest first."""


class MethodResult(View):
    """One method on one workload: its best variant."""

    variant: str
    experiment: str
    variants: int
    """Equally tuned variants of the method, of which this is the fastest."""
    seconds: float | None
    """Median over seeds of the time to the target; null if half of the seeds or more missed it, or no trial gave a
    setting. Virtual seconds on a simulated cluster."""
    ratio: float | None
    """Performance ratio: the time over the least of all ranked methods; null where it is infinite."""
    reached: int
    seeds: int
    """Those that all ranked methods have there; `reached` of them met the target. 0 if no trial gave a setting."""


class RankedMethod(View):
    """A method that was measured on every workload of a board."""

    algorithm: str
    score: float
    """Integral of its performance profile from 1 to `tau_max`, over tau_max - 1: from 0 to 1, the best."""
    low: float | None
    high: float | None
    """Interval of a bootstrap over seeds, which contains the score; null where a workload has fewer than 3.

    It is meant to cover the true score in 95% of cases; with few seeds and close methods it covers it in fewer.
    """
    tau: list[float]
    rho: list[float]
    """Corners of the profile: share of workloads on which its performance ratio is at most tau."""
    results: list[MethodResult]
    """By workload, in the order of the board."""


class UnrankedMethod(View):
    """A method that was not measured on every workload of a board."""

    algorithm: str
    lacking: list[str]
    """Workloads on which it was not measured."""


class Board(View):
    """The methods on one cluster with one number of workers."""

    cluster: str
    workers: int
    simulated: bool
    oversubscribed: bool
    workloads: list[BoardWorkload]
    methods: list[RankedMethod]
    """The best score first."""
    unranked: list[UnrankedMethod]


class Leaderboard(View):
    """All boards, those with the most workloads first."""

    tau_max: float
    boards: list[Board]
    left_out: list[ExperimentLeftOut]
    """Experiments that do not count, the newest first."""
