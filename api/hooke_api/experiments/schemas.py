"""Responses about experiments."""

from __future__ import annotations

from datetime import datetime

from hooke.errors import Fault
from hooke.spec.specification import ExperimentSpec
from hooke.spec.states import RunState

from hooke_api.base.schema import View
from hooke_api.waiting.schemas import WaitingView


class PlannedRunView(View):
    """One run that an experiment would create."""

    variant: str
    cluster: str
    host: str
    simulated: bool
    workers: int
    servers: int
    seed: int
    trial: int | None
    """The trial whose setting it has, from 1; null where parameters are as given."""
    rung: int | None
    """Of a trial: the rung of its search, from 0; null of a run that is reported."""
    fingerprint: str


class DryRun(View):
    """The response to a valid dry run; nothing is stored."""

    runs: list[PlannedRunView]
    """Those of the first step: with tuning, of the first rung of all trials."""
    trial_runs: int
    """The largest number of runs of all trials; 0 without tuning."""
    reported_runs: int
    """Number of runs of the comparison itself."""
    warnings: list[Fault]
    """Settings that are allowed but probably not intended: more ranks than cores, fewer than 3 seeds, ..."""


class ExperimentSummary(View):
    """A row of the list, without specification. `state` is derived: running while any run is not terminal."""

    id: str
    number: int
    name: str
    description: str
    workload: str
    variants: list[str]
    clusters: list[str]
    baseline: str
    state: str
    """queued | running | succeeded | failed | cancelled"""
    runs: dict[RunState, int]
    priority: int
    """A higher one goes first on clusters whose policy is `priority`."""
    user: str
    """Who submitted it."""
    waiting: list[WaitingView]
    """Its waiting runs: position, reason and predicted times for each cluster; empty if none waits."""
    created_at: datetime
    finished_at: datetime | None


class ExperimentView(ExperimentSummary):
    """One experiment with all details."""

    spec: ExperimentSpec
    fingerprint: str
    warnings: list[Fault]
    """The warnings at its submission."""


class ExperimentPage(View):
    """One page of the list; `next_cursor` is opaque and null on the last page."""

    items: list[ExperimentSummary]
    next_cursor: str | None
