"""Responses about experiments."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from hooke.errors import Fault
from hooke.spec.frozen import Label
from hooke.spec.specification import MAX_VARIANTS, ExperimentSpec, Variant
from hooke.spec.states import RunState
from pydantic import ConfigDict, Field, StrictBool, StringConstraints

from hooke_api.base.names import ProjectName
from hooke_api.base.schema import View
from hooke_api.waiting.schemas import DurationView, WaitingView


class PlannedRunView(View):
    """One run that an experiment would create."""

    variant: str
    cluster: str
    host: str
    """The registered cluster that computes it."""
    simulated: bool
    """Whether it runs in virtual time."""
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
    """The variant of that run; null: nothing is known of its memory."""
    workers: int | None = None
    """Its number of workers; null with `variant`."""
    processes: int | None = None
    """Programs that share the host; the ranks of a simulated run are one."""
    bytes: int | None = None
    """What all ranks together need, bytes; null: the sizes of the workload are not known before it is built."""
    program: int | None = None
    """The part of Python, PyTorch and MPI, bytes."""
    data: int | None = None
    """The part of the data set, bytes."""
    vectors: int | None = None
    """The part of weights, gradients, messages, and what method and optimizer keep, bytes."""
    activations: int | None = None
    """The part of activations, bytes."""
    available: int | None
    """Usable memory of the host, bytes; null: its agent does not tell, or ranks may be on several hosts."""
    assumed: list[str] = Field(default_factory=list)
    """What the prediction assumes about data, method or device."""


class DryRun(View):
    """The response to a valid dry run; nothing is stored."""

    runs: list[PlannedRunView]
    """The runs of the first step: with tuning, of the first rung of all trials."""
    trial_runs: int
    """The largest number of runs of all trials; 0 without tuning."""
    reported_runs: int
    """Number of runs of the comparison itself."""
    warnings: list[Fault]
    """Settings that are allowed but probably not intended: more ranks than cores, fewer than 3 seeds, ..."""
    durations: list[DurationView]
    """How long `runs` would take on each cluster, without what waits before them."""
    memory: list[MemoryView]
    """What the largest of `runs` needs on each cluster."""
    waiting: list[WaitingView] = []
    """Place, reason and predicted times in the queue of each registered cluster, if it were submitted now."""


class Origin(View):
    """Where an imported experiment was made."""

    server: str
    """Address or host name of that server."""
    experiment: str
    """Its id there."""
    number: int
    """Its number there."""
    user: str
    """Who submitted it there."""
    hooke: str
    """Version of the Hooke that exported it."""
    exported_at: datetime
    """When it was exported there."""
    imported_at: datetime
    """When it was imported here."""


class BestCurve(View):
    """The judged metric of the best variant over train-clock time, small enough for a list.

    The best variant is the fastest one of the first place that has one; without a target, that of the highest mean
    accuracy.
    """

    variant: str
    cluster: str
    simulated: bool
    metric: str
    """The metric of `values`, such as `validation_accuracy`."""
    target: float | None
    """Value of the metric at which runs end; null: there is no target."""
    seconds: float
    """End of the time axis, which begins at 0: the median of the ends of the seeds, s; virtual s if simulated."""
    seeds: int
    """Number of seeds."""
    values: list[float]
    """Median over seeds at equal distances from 0 to `seconds`; a seed that has ended keeps its last value."""


class ExperimentSummary(View):
    """A row of the list, without specification. `state` is derived: running while any run is not terminal."""

    id: str
    """Id of the experiment."""
    number: int
    """Its number on this server, which never changes."""
    name: str
    """Its name, which can be changed (`change_experiment`); `spec` keeps the one that it was submitted with."""
    description: str
    """What it is for, in the words of who submitted it."""
    workload: str
    variants: list[str]
    """Names of its variants, in the order of the specification."""
    colors: list[int] = []
    """Place of each variant in a palette: the same for a name in all experiments, as far as they differ in one."""
    clusters: list[str]
    """Names of its clusters, in the order of the specification."""
    baseline: str
    """Name of the variant that the others are compared with."""
    state: str
    """`queued`, `running`, `succeeded`, `failed` or `cancelled`."""
    runs: dict[RunState, int]
    """Number of its runs in each state; states without runs are left out."""
    cancelling: bool = False
    """Whether every run that has not ended has been asked to end, and there are such runs."""
    priority: int
    """A higher one goes first on clusters whose policy is `priority`."""
    user: str
    """Who submitted it."""
    project: str
    """Name of its project; what is in another one than `default` exists for its members only."""
    waiting: list[WaitingView]
    """Its waiting runs: position, reason and predicted times for each cluster; empty if none waits."""
    created_at: datetime
    finished_at: datetime | None
    """When its last run ended; null: not yet."""
    headlines: list[str]
    """The answer of its comparison, a line for each cluster and number of workers; computed a few seconds after
    runs have ended."""
    curve: BestCurve | None = None
    """Of its best variant, computed with the headlines; null while none is known to be best."""
    tags: list[str]
    """Its tags, which users give it."""
    starred: bool
    """Whether a user has marked it with a star."""
    archived: bool
    """Whether lists leave it out unless their filter mentions `archived`."""
    protected: bool
    """Whether neither a user nor retention can delete it."""
    note_line: str
    """The first line of its note, at most 200 characters."""
    revision: int
    """Number of changes of name, tags, note and marks, for `If-Match`."""
    origin: Origin | None = None
    """Where it was made, if it was imported; null: here."""
    version: int = 1
    """1, and one more with each extension by seeds or variants (`extend_experiment`)."""


class ExperimentView(ExperimentSummary):
    """One experiment with all details."""

    spec: ExperimentSpec
    """Its specification (`hooke.experiment/1`), with its extensions."""
    fingerprint: str
    warnings: list[Fault]
    """The warnings at its submission and its extensions."""
    note: str
    """What users wrote about it, Markdown."""
    training_items: int | None = None
    """Number of training items, so that samples over it are epochs; null: no run has reported it."""


class ExperimentPage(View):
    """One page of the list; `next_cursor` is opaque and null on the last page."""

    items: list[ExperimentSummary]
    next_cursor: str | None


Tag = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9À-ɏ][A-Za-z0-9À-ɏ .:/+_-]*$", min_length=1, max_length=40)
]
"""A tag: letters, digits and a few signs."""


NewName = Annotated[Label, StringConstraints(pattern=r"^[^\x00]*[^\s\x00][^\x00]*$")]


class ExperimentChange(View):
    """What is to be changed of an experiment; what is left out stays."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: NewName | None = None
    """Its name from now on: any text that is not blank. Specification and fingerprint stay."""
    starred: StrictBool | None = None
    """Whether it has a star."""
    archived: StrictBool | None = None
    """Whether lists leave it out unless their filter mentions `archived`."""
    protected: StrictBool | None = None
    """Whether neither a user nor retention can delete it."""
    note: str | None = Field(None, max_length=10_000, description="Markdown; an empty text removes it.")
    add_tags: list[Tag] = Field(default_factory=list, max_length=20)
    """Tags that it gets."""
    remove_tags: list[Tag] = Field(default_factory=list, max_length=100)
    """Tags that it loses."""


class Extension(View):
    """What is to be added to an experiment that has ended."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seeds: int = Field(0, ge=0, le=99, strict=True)
    """Seeds to add for each variant, cluster and number of workers."""
    variants: list[Variant] = Field(default_factory=list, max_length=MAX_VARIANTS)
    """Variants to add; the present ones stay as they are."""
    version: int | None = Field(None, ge=1, strict=True)
    """The version that is extended; 409 if it is another one."""


class ExperimentVersion(View):
    """An experiment as it was submitted, or as an extension made it."""

    version: int
    """Its number, from 1."""
    spec: ExperimentSpec
    """The specification as it then was."""
    fingerprint: str
    created_at: datetime
    """When it was submitted or extended."""
    user: str
    """Who submitted it, or extended the version before."""


class VersionList(View):
    """All versions of an experiment, the first one first; the last one is the present one."""

    items: list[ExperimentVersion]


class ProjectChoice(View):
    """The project that an experiment is to be in."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    project: ProjectName
    """Name of the project."""


class DeletedExperiment(View):
    """An experiment that is deleted and can be restored."""

    id: str
    number: int
    """Its number on this server."""
    name: str
    workload: str
    created_at: datetime
    deleted_at: datetime
    """When it was deleted."""
    deleted_by: str
    """A user, or `retention`."""
    purge_at: datetime
    """Until when it can be restored."""


class DeletedPage(View):
    """One page of the deleted experiments."""

    items: list[DeletedExperiment]
    next_cursor: str | None
