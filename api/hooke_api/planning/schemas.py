"""Responses about tuning."""

from __future__ import annotations

from typing import Any

from hooke.spec.spaces import Edge, Space
from hooke.spec.tuning import Tuning

from hooke_api.base.schema import View


class RungView(View):
    """A stage of every search."""

    trials: int
    """Number of trials that reach it."""
    samples: int
    """Budget of each of its runs, samples."""


class TrialView(View):
    """One setting of a search, with what it has shown."""

    trial: int
    """Its number, from 1."""
    rank: int | None
    """Its place among the trials of the search, from 1: the best; null before it has a result."""
    chosen: bool
    """Whether its setting is the chosen one."""
    parameters: dict[str, Any]
    """Values of the searched parameters."""
    rung: int
    """The last rung on which it ran, from 0."""
    experiment: str | None
    """Id of the experiment that made it, an earlier one where this one continues it; null before it has runs."""
    runs: list[str]
    """Ids of its runs, on all rungs."""
    open: int
    """Number of its runs that have not ended."""
    failed: int
    """Number of its runs that failed, diverged or were cancelled."""
    seconds: float | None
    """Geometric mean over tuning seeds of the train clock at the target, s; null if one missed it."""
    accuracy: float | None
    """Mean over its latest runs of the validation accuracy at the end, fraction."""
    loss: float | None
    """Mean over its latest runs of the validation loss at the end."""
    samples: int
    """Samples that all of its runs have taken together."""


class SearchView(View):
    """The search of one variant on one cluster with one number of workers."""

    variant: str
    algorithm: str
    cluster: str
    simulated: bool
    workers: int
    spaces: dict[str, Space]
    """The space of each searched parameter."""
    trials: list[TrialView]
    """Its trials, by number."""
    earlier_trials: int
    """Number of trials, the first ones, that are of experiments which this one continues."""
    ended: bool
    """Whether all of its trials have ended."""
    chosen: int | None
    """The best trial; null before the search has ended, or if no trial gave a result."""
    edges: dict[str, Edge]
    """Searched parameters whose chosen value lies at an end of its space: a better one may lie beyond."""
    wider: dict[str, Space]
    """For these parameters, a space that reaches further."""
    reached: float | None
    """Share of the trials with a result that met the target on every tuning seed; null without a target."""
    median_seconds: float | None
    """Time to the target of the median trial, s; null if half of the trials or more missed it."""
    samples: int
    """Cost of the search: samples of all its runs."""
    core_hours: float
    """Cost of the search: wall hours of its runs times their ranks; a simulated run counts one core."""


class TuningView(View):
    """How the settings of an experiment were, or are being, chosen."""

    experiment: str
    tuning: Tuning
    """How settings are searched, from the specification."""
    rungs: list[RungView]
    """The stages of each search; one where every trial has the whole budget."""
    seeds: list[int]
    """The tuning seeds, of which no reported run has one."""
    searches: list[SearchView]
    """One for each variant, cluster and number of workers."""
    complete: bool
    """Whether all searches have ended."""
