"""Responses about rows of several experiments."""

from __future__ import annotations

from hooke_api.base.schema import View
from hooke_api.comparisons.schemas import ComparisonRow, SpeedUp

SettingValue = bool | int | float | str | None


class ComparedExperiment(View):
    """An experiment of which rows are compared, and what can be chosen of it."""

    id: str
    number: int
    name: str
    workload: str
    """With the parameters that were given."""
    target: str | None
    """In words, or null."""
    tuning: str
    """How its settings were chosen, in words."""
    note: str | None
    """Remark on all of its figures: it was made without a validation part."""
    complete: bool
    clusters: list[str]
    workers: list[int]
    variants: list[str]
    """Those that have rows: none before the first reported run."""


class ComparedRow(ComparisonRow):
    """One variant of an experiment on one cluster with one number of workers."""

    experiment: str
    number: int
    """Of its experiment."""
    task: int
    """Position in `tasks`: figures of rows with the same one may share an axis, measured and simulated apart."""


class Setting(View):
    """A setting of the runs behind the rows, all defaults and tuned values included."""

    name: str
    """JSON Pointer into the specification of a run, such as /algorithm/parameters/lr; /tuning is that of the
    experiment."""
    differs: bool
    values: list[SettingValue]
    """Of each row, in their order, if it differs; else the only one. Null where a row does not have it."""


class ContrastView(View):
    """Two rows whose times to the target are compared, paired by seed."""

    first: int
    second: int
    """Positions in `rows`."""
    speed_up: SpeedUp | None
    """Time of the first over that of the second; null if they are not compared, and the sentence says why."""
    sentence: str


class ComparedRows(View):
    """Rows of several experiments side by side."""

    experiments: list[ComparedExperiment]
    """In the order of the request."""
    tasks: list[str]
    """Workloads with their targets, in words."""
    rows: list[ComparedRow]
    settings: list[Setting]
    contrasts: list[ContrastView]
    """Each variant on two clusters, or the row `against` with all others; corrected for the number of ratios."""
    note: str | None
    """Why there are no contrasts, if there are too many."""
