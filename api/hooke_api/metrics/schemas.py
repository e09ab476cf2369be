"""Responses about series, by columns: x and y are arrays of equal length."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from hooke.spec.frozen import Frozen
from hooke.spec.further import MetricName
from pydantic import Field, StringConstraints, model_validator

from hooke_api.base.schema import View
from hooke_api.metrics.marks import MOST_LETTERS, PATTERN

CommonMetric = Literal[
    "validation_accuracy",
    "validation_loss",
    "test_accuracy",
    "test_loss",
    "train_loss",
    "communication_fraction",
    "throughput",
    "staleness",
]
"""The metrics of all runs. Evaluations are of the validation part; `test_accuracy` and `test_loss` are the
evaluations of runs made without one, and of no others."""
BYTES_SENT = "bytes_sent"
"""Bytes sent so far by all ranks, as a metric. It is an axis of the others, so stored levels leave it out, and
tables of points that do not ask for it."""
Metric = MetricName
"""A metric of all runs, `BYTES_SENT`, or a further one that the workload of a run declares."""
MOST_METRICS = 72
"""Of one query."""
Axis = Literal["clock", "wall", "samples", "step", "bytes"]
"""The x of a chart: train clock, wall, global samples, local gradients per worker (samples over workers and
batch), or bytes sent so far by all ranks. No epochs: these are samples over `training_items` of the experiment."""
RunId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]

Mark = Annotated[str, StringConstraints(pattern=PATTERN, max_length=MOST_LETTERS)]

MOST_ANSWERED = 2_000_000
"""Maximum number of points of a response, over all series."""


class FurtherMetricView(View):
    """A further metric that runs of an experiment report with their evaluations."""

    name: str
    """Its name, as `metric` of series, bands and points."""
    title: str
    unit: str
    """`share`: a fraction, shown in percent; empty: a plain number."""
    description: str
    """What it means."""
    better: Literal["higher", "lower"] | None
    """Which values are better; null: neither."""
    measured: bool
    """Whether values are real seconds of the machine, which runs in virtual time do not report."""


class FurtherMetricList(View):
    """The further metrics of an experiment, each once."""

    items: list[FurtherMetricView]


class SeriesQuery(Frozen):
    """Runs, metrics, axis and resolution of a query."""

    runs: list[RunId] = Field(min_length=1, max_length=500)
    """Ids of runs."""
    metrics: list[Metric] = Field(min_length=1, max_length=MOST_METRICS)
    """Names of metrics."""
    axis: Axis = "clock"
    points: int = Field(500, ge=16, le=10_000, strict=True, description="Maximum number of points per series.")
    marks: list[Mark] = Field(
        [], max_length=500 * MOST_METRICS, description="`mark` of each series that the client has, in their order."
    )
    """Then only the points behind those are returned. Empty: all points; an empty mark: all points of a series."""

    @model_validator(mode="after")
    def _not_too_much(self) -> SeriesQuery:
        if self.marks and len(self.marks) != len(self.runs) * len(self.metrics):
            raise ValueError("marks are one for each run and metric, or none")
        if len(self.runs) * len(self.metrics) * self.points > MOST_ANSWERED:
            raise ValueError(f"runs x metrics x points is more than {MOST_ANSWERED:,}: ask for fewer points")
        return self


class Series(View):
    """One metric of one run: min, max, first and last of every bucket; null is NaN."""

    run: str
    metric: Metric
    x: list[float]
    """Places on the axis."""
    y: list[float | None]
    """Values at these places; null: NaN."""
    n: int = Field(description="Points of this series, with those that the client has.")
    of: int = Field(description="Points stored.")
    kept_before: int = 0
    """Points that the client has, by the mark it sent, which come before these; 0 without one."""
    mark: str = ""
    """To be passed as its entry of `marks` the next time."""


class SeriesAnswer(View):
    """Series of several runs on one axis, in the order of the query."""

    axis: Axis
    unit: str
    series: list[Series]
    """One for each run and metric, in the order of the query."""


class Band(View):
    """One metric of one group of seeds (variant x cluster x workers) on a common grid."""

    variant: str
    cluster: str
    simulated: bool
    workers: int
    metric: Metric
    x: list[float]
    """Places on the axis."""
    mean: list[float | None]
    """Mean over seeds at each place; null: none has a value there."""
    low: list[float | None]
    """Lower end of the 95% t interval of the mean; null where n < 2."""
    high: list[float | None]
    """Upper end of the 95% t interval of the mean; null where n < 2."""
    n: list[int]
    """Number of seeds at each point, over which mean and band are computed."""
    runs: list[str]
    """Ids of its runs, one for each seed."""
    evaluations: list[int] = []
    """Number of points that each of the runs has, from which the band is interpolated."""
    kept_before: int = 0
    """Points of the same band in the answer `since` that come before these; 0 without one."""
    kept_after: int = 0
    """Points of the same band in the answer `since` that come after these; those between are replaced."""


class BandAnswer(View):
    """Mean and band over seeds for an experiment: whole, or what has changed since an earlier answer."""

    axis: Axis
    unit: str
    bands: list[Band]
    """One for each variant, cluster, number of workers and metric."""
    position: int
    """Event position up to which this response is complete; the stream continues after it."""
    version: str = ""
    """Version of these bands, to be passed as `since` the next time."""
    since: str | None = None
    """The version since which the bands have changed, the others being left out; null: all bands, whole."""


class PhasesRow(View):
    """The phases of one group of seeds (variant x cluster x workers) over the wall time of its runs."""

    variant: str
    cluster: str
    simulated: bool
    workers: int
    runs: list[str]
    """Ids of the runs that were read: all reported ones with steps, or the first seeds where steps are very many.
    """
    span: float
    """End of the last bin, s or virtual s; equal for all variants of a cluster and number of workers."""
    end: float
    """Wall time of the longest of the runs that were read, s."""
    shares: list[list[float]]
    """For each phase its share of the recorded time in each bin, over all workers that write steps; 0 in a bin in
    which nothing is recorded."""
    hidden: list[float]
    """Communication that ran behind computation, over the recorded time of each bin."""


class PhasesAnswer(View):
    """Where the time went over the time."""

    phases: list[str]
    """Names of the phases, in the order of `shares`."""
    bins: int
    """Number of equal parts of the time."""
    rows: list[PhasesRow]
    """One for each variant, cluster and number of workers."""


class WorkerView(View):
    """What one worker did in the newest attempt of a run."""

    worker: int
    """Its rank."""
    kind: str | None
    """Its kind as the form writes it: `v100`, `hogwild-cpu:8`, `cpu@0.5`; null where workers have no kinds."""
    steps: int
    """Steps that it has taken."""
    share_of_steps: float
    """Its share of the steps of all workers, fraction; with equal batches its share of the work."""
    computing: float | None
    """Utilization: share of its time, evaluations excluded, in which it computed gradients, fraction."""
    speed: float | None
    """Batches per second of computing, sleep of a slowed worker included, over those of the fastest worker."""
    throughput: float | None
    """Samples per second of its time, evaluations excluded."""
    updates: int | None
    """Exchanges with a server that brought steps, or the updates that these consist of where a reply grants
    several; null without a server, or if its rows are not recorded."""
    share_of_updates: float | None
    """Its share of the updates of all workers, fraction; null with `updates`."""
    staleness: float | None
    """Mean number of center updates between its reads and writes; null if not recorded."""
    x: list[float]
    """Seconds since the start at which its updates ended, downsampled as series are."""
    sizes: list[float]
    """Steps of each of these updates: its batch size over time."""
    times: list[float]
    """Ends of equal parts of its time, s since the start; empty if its rows are not recorded."""
    computing_over_time: list[float | None]
    """Utilization in each of these parts; null where the clock stood throughout."""
    throughput_over_time: list[float | None]
    """Samples per second in each of these parts."""


class KindView(View):
    """What all workers of one kind did together in the newest attempt of a run."""

    kind: str
    """The kind as the form writes it."""
    workers: int
    share_of_steps: float
    """Their share of the steps of all workers, fraction."""
    computing: float | None
    """Their mean utilization, fraction."""
    throughput: float | None
    """Samples per second of all of them together."""
    updates: int | None
    """Their exchanges with a server that brought steps, as far as these are recorded."""
    share_of_updates: float | None
    """Their share of the updates of all workers, fraction; null with `updates`."""
    staleness: float | None
    """Mean number of center updates between their reads and writes; null if not recorded."""


class WorkersAnswer(View):
    """The work of each worker of a run."""

    workers: list[WorkerView]
    """One for each worker, by rank."""
    kinds: list[KindView]
    """The same by kind; empty where workers have no kinds."""
    virtual_cluster: dict[str, Any] | None
    """A virtual cluster whose workers have the measured speeds, as an entry of an experiment's `clusters`; null
    where there is none."""
    no_virtual_cluster: str | None
    """Why there is none."""
