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
    """Its workload, with the parameters that were given."""
    target: str | None
    """Its target, in words; null: none."""
    tuning: str
    """How its settings were chosen, in words."""
    note: str | None
    """A remark on all of its figures, where it was made without a validation part; otherwise null."""
    complete: bool
    """Whether every reported run has ended."""
    clusters: list[str]
    """Names of its clusters."""
    workers: list[int]
    """Its numbers of workers."""
    variants: list[str]
    """Names of the variants that have rows: none before the first reported run."""
    colors: list[int] = []
    """Place of each of these in a palette, as in the experiment."""


class ComparedRun(View):
    """The only run of a row."""

    id: str
    number: int
    """Its number within its experiment."""
    seed: int
    trial: int | None
    """The trial that it is of, if it is not a reported run."""


class ComparedRow(ComparisonRow):
    """One variant of an experiment on one cluster with one number of workers, or a single run of it."""

    experiment: str
    number: int
    """Number of its experiment."""
    task: int
    """Position in `tasks`: rows of one task may share an axis, measured and simulated ones apart."""
    run: ComparedRun | None = None
    """The run, if a single one was asked for; null: all reported runs of the row."""


class Setting(View):
    """A setting of the runs behind the rows, all defaults and tuned values included."""

    name: str
    """JSON Pointer into the specification of a run, such as /algorithm/parameters/lr; /tuning is that of the
    experiment."""
    differs: bool
    """Whether rows have different values."""
    values: list[SettingValue]
    """Value of each row, in their order, if it differs; else the only one. Null where a row does not have it."""


class ContrastView(View):
    """Two rows whose times to the target are compared, paired by seed."""

    first: int
    """Position in `rows` of the row whose time is divided."""
    second: int
    """Position in `rows` of the row by whose time it is divided."""
    speed_up: SpeedUp | None
    """Time of the first over that of the second; null: they are not compared, and `sentence` says why."""
    sentence: str
    """The conclusion in words."""


class ComparedRows(View):
    """Rows of several experiments side by side."""

    experiments: list[ComparedExperiment]
    """Their experiments, in the order of the request."""
    tasks: list[str]
    """Workloads with their targets, in words."""
    rows: list[ComparedRow]
    """The rows, in the order of the request."""
    settings: list[Setting]
    """All settings of the runs behind the rows."""
    contrasts: list[ContrastView]
    """Each variant on two clusters, or the row `against` with all others; corrected for the number of ratios."""
    note: str | None
    """Why there are no contrasts, if there would be too many; otherwise null."""
