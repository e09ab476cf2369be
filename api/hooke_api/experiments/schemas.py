"""Responses about experiments."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from hooke.errors import Fault
from hooke.spec.specification import MAX_VARIANTS, ExperimentSpec, Variant
from hooke.spec.states import RunState
from pydantic import ConfigDict, Field, StrictBool, StringConstraints

from hooke_api.base.names import ProjectName
from hooke_api.base.schema import View
from hooke_api.experiments.filter_fields import Kind
from hooke_api.waiting.schemas import DurationView, WaitingView


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


class MemoryView(View):
    """The memory that the largest planned run of one cluster needs, bytes; predicted from sizes and counts."""

    cluster: str
    host: str
    """The registered cluster that computes it."""
    variant: str | None = None
    """Of that run."""
    workers: int | None = None
    processes: int | None = None
    """Programs that share the host; the ranks of a simulated run are one."""
    bytes: int | None = None
    """Of all ranks together; null: nobody knows the sizes of the workload before it is built."""
    program: int | None = None
    """Of it: Python, PyTorch and MPI."""
    data: int | None = None
    vectors: int | None = None
    """Weights, gradients, what method and optimizer keep, messages."""
    activations: int | None = None
    available: int | None
    """Usable memory of the host; null: its agent does not tell, or ranks may be on several hosts."""
    assumed: list[str] = Field(default_factory=list)
    """What the prediction assumes about data, method or device."""


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
    durations: list[DurationView]
    """How long `runs` would take for each cluster, without what waits before them."""
    memory: list[MemoryView]
    """What the largest of `runs` needs on each cluster."""


class Origin(View):
    """Where an imported experiment was made."""

    server: str
    """Address or host name of that server."""
    experiment: str
    """Its id there."""
    number: int
    user: str
    """Who submitted it there."""
    hooke: str
    """Version of the Hooke that exported it."""
    exported_at: datetime
    imported_at: datetime


class BestCurve(View):
    """The judged metric of the best variant over train-clock time, small enough for a list.

    The best variant is the fastest one of the first place that has one; without a target, that of the highest mean
    accuracy.
    """

    variant: str
    cluster: str
    simulated: bool
    metric: str
    target: float | None
    seconds: float
    """End of the time axis, which begins at 0: the median of the ends of the seeds, s; virtual s if simulated."""
    seeds: int
    values: list[float]
    """Median over seeds at equal distances from 0 to `seconds`; a seed that has ended keeps its last value."""


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
    project: str
    """Name of the project that it is in; what is in another one than `default` exists for its members only."""
    waiting: list[WaitingView]
    """Its waiting runs: position, reason and predicted times for each cluster; empty if none waits."""
    created_at: datetime
    finished_at: datetime | None
    headlines: list[str]
    """The answer of its comparison, a line for each cluster and number of workers; computed a few seconds after
    runs have ended."""
    curve: BestCurve | None = None
    """Of its best variant, computed with the headlines; null while none is known to be best."""
    tags: list[str]
    starred: bool
    archived: bool
    """Lists leave it out unless their filter mentions `archived`."""
    protected: bool
    """It cannot be deleted, by a user or by retention."""
    note_line: str
    """The first line of its note, at most 200 characters."""
    revision: int
    """Number of changes of tags, note and marks: for If-Match."""
    origin: Origin | None = None
    """Where it was made, if it was imported; null: here."""
    version: int = 1
    """One more with each extension by seeds or variants (`extend_experiment`)."""


class ExperimentView(ExperimentSummary):
    """One experiment with all details."""

    spec: ExperimentSpec
    fingerprint: str
    warnings: list[Fault]
    """The warnings at its submission and extensions."""
    note: str
    """What users wrote about it, Markdown."""


class ExperimentPage(View):
    """One page of the list; `next_cursor` is opaque and null on the last page."""

    items: list[ExperimentSummary]
    next_cursor: str | None


Tag = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9À-ɏ][A-Za-z0-9À-ɏ .:/+_-]*$", min_length=1, max_length=40)
]
"""A tag: letters, digits and a few signs."""


class ExperimentChange(View):
    """What is to be changed of an experiment; what is left out stays."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    starred: StrictBool | None = None
    archived: StrictBool | None = None
    protected: StrictBool | None = None
    note: str | None = Field(None, max_length=10_000, description="Markdown; an empty text removes it.")
    add_tags: list[Tag] = Field(default_factory=list, max_length=20)
    remove_tags: list[Tag] = Field(default_factory=list, max_length=100)


class Extension(View):
    """What is to be added to an experiment that has ended."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seeds: int = Field(0, ge=0, le=99, description="Further runs of each variant at each place.")
    variants: list[Variant] = Field(
        default_factory=list,
        max_length=MAX_VARIANTS,
        description="Further variants; those that there are stay as they are.",
    )
    version: int | None = Field(None, ge=1, description="The version that is extended; 409 if it is another one.")


class ExperimentVersion(View):
    """An experiment as it was submitted, or as an extension made it."""

    version: int
    spec: ExperimentSpec
    fingerprint: str
    created_at: datetime
    user: str
    """Who submitted it, or extended the version before."""


class VersionList(View):
    """All versions of an experiment, the first one first; the last one is the present one."""

    items: list[ExperimentVersion]


class ProjectChoice(View):
    """The project that an experiment is to be in."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    project: ProjectName


class DeletedExperiment(View):
    """An experiment that is deleted and can be restored."""

    id: str
    number: int
    name: str
    workload: str
    created_at: datetime
    deleted_at: datetime
    deleted_by: str
    """A user, or `retention`."""
    purge_at: datetime
    """Until then it can be restored."""


class DeletedPage(View):
    """One page of the deleted experiments."""

    items: list[DeletedExperiment]
    next_cursor: str | None


class FilterFieldView(View):
    """A field of the filter language."""

    name: str
    kind: Kind
    description: str
    example: str
    operators: list[str]
    values: list[str]
    """All values of a choice; known ones of tags, workloads, clusters and algorithms; otherwise empty."""


class FilterLanguage(View):
    """What a filter of `list_experiments` may name."""

    fields: list[FilterFieldView]
