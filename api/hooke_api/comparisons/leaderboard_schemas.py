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
    """The reason, in words."""


class BoardWorkload(View):
    """A workload of a board."""

    name: str
    """Its name, with its parameters."""
    target: str
    """Its target, in words."""
    trials: int
    """Number of trials of each variant: the effort that all methods had."""
    experiments: list[Counted]
    """The experiments that measured it, the newest first."""
    by_hand: str = ""
    """What each of them left to no search, or gave by hand, and how many parameters were searched, if the numbers
    differ, in words; empty: nothing."""
    extended: str = ""
    """What else a reader has to know of how they were measured, as their comparisons say it (`extended`), and by
    which programs and processors, where these differ between them; empty: nothing."""


class MethodResult(View):
    """One method on one workload: its best variant."""

    variant: str
    experiment: str
    variants: int
    """Number of equally tuned variants of the method, of which this is the fastest."""
    seconds: float | None
    """Median over seeds of the time to the target; null if half of the seeds or more missed it, or no trial gave a
    setting. Virtual seconds on a simulated cluster."""
    ratio: float | None
    """Performance ratio: the time over the least of all ranked methods; null where it is infinite."""
    reached: int
    """Number of these seeds that met the target."""
    seeds: int
    """Number of seeds that all ranked methods have there; 0 if no trial gave a setting."""


class RankedMethod(View):
    """A method that was measured on every workload of a board."""

    algorithm: str
    color: int = 0
    """Place in a palette of its variant on the first workload, as in the experiment."""
    score: float
    """Integral of its performance profile from 1 to `tau_max`, over tau_max - 1: from 0 to 1, the best."""
    low: float | None
    """Lower end of an interval of a bootstrap over seeds; null where a workload has fewer than 3 seeds."""
    high: float | None
    """Upper end of this interval, which contains the score; null where a workload has fewer than 3 seeds.

    It is meant to cover the true score in 95% of cases; with few seeds and close methods it covers it in fewer.
    """
    tau: list[float]
    """Performance ratios at the corners of the profile."""
    rho: list[float]
    """Share of workloads on which its performance ratio is at most `tau`, at these corners."""
    results: list[MethodResult]
    """Its result on each workload, in the order of the board."""


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
    """Methods that were measured on all of the workloads, the best score first."""
    unranked: list[UnrankedMethod]
    """Methods that were not."""


class BoardChoice(View):
    """A workload that can be asked for alone."""

    workload: str
    """Its name, with its parameters where several workloads have it."""
    targets: list[str]
    """The targets of its experiments that count, in words, those of the newest first."""


class Leaderboard(View):
    """All boards, those with the most workloads first."""

    tau_max: float
    """Largest performance ratio that counts."""
    choices: list[BoardChoice]
    """The workloads and targets of all experiments that count, whichever are asked for."""
    boards: list[Board]
    """One for each cluster, number of workers and set of workloads."""
    left_out: list[ExperimentLeftOut]
    """Experiments that do not count, the newest first."""
