"""Responses about runs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hooke.spec.retry import RetryCause
from hooke.spec.specification import Part
from hooke.spec.states import RunState
from pydantic import ConfigDict, Field, StrictBool

from hooke_api.base.schema import View
from hooke_api.waiting.schemas import WaitingView


class TransitionView(View):
    """One change of state: time, actor, reason and evidence."""

    attempt: int
    source: RunState | None
    state: RunState
    at: datetime
    """When the server made or received it, by the clock of its database."""
    reported_at: datetime | None
    """When it happened, by the clock of the host that reported it; only displayed."""
    who: str
    why: str
    cause: RetryCause | None
    """Of an end without a fault of the run, which `retry` of its experiment decides about; null: other changes."""
    exit_code: int | None
    signal: int | None
    rank: int | None
    host: str | None


class PhaseTotals(View):
    """Seconds per phase of one rank since the start of its loop, and its traffic."""

    rank: int
    role: str
    host: str | None
    notes: dict[str, str]
    """Choices made for this rank, with reasons: device, placement, exchange path, ..."""
    steps: int
    wall: float
    data: float
    compute: float
    communicate: float
    update: float
    evaluate: float
    idle: float
    hidden: float
    payload: int
    wire: int
    messages: int


class DroppedView(View):
    """A worker that was dropped from the run."""

    attempt: int
    worker: int
    step: int
    why: str
    at: datetime


class CheckpointView(View):
    """A checkpoint of all ranks together; a cluster keeps the newest two of an attempt."""

    attempt: int
    samples: int
    """Global samples at the checkpoint."""
    path: str
    """Its folder on the cluster."""
    ranks: int
    """Number of its files reported so far, one per rank."""
    bytes: int
    at: datetime | None


class RefusedView(View):
    """A record that could not be stored."""

    attempt: int
    rank: int | None
    """Null: a line of output, or a report of a state."""
    seq: int
    """Its number in the journal of its rank, or among the lines or reports."""
    pointer: str
    """Place of the fault in the record, a JSON Pointer; that of a report begins with /reports."""
    message: str


class RunSummary(View):
    """A row of the list; its figures are computed at ingest, so lists do not read points."""

    id: str
    experiment_id: str
    number: int
    variant: str
    algorithm: str
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
    state: RunState
    attempt: int
    failures: int
    """Failed attempts that count for its experiment's `retry`, since it was submitted or retried."""
    not_before: datetime | None
    """When its next attempt may start; null: at once."""
    cancel_requested: bool
    waiting: WaitingView | None = None
    """Why it waits, in the queue or for its turn on its cluster, and predicted times; null if it does not."""
    samples: int
    budget: int
    evaluated_part: Part | None
    """Part of the data that evaluations score: validation, or test if there was none; null before the start."""
    accuracy: float | None
    """Accuracy of the latest evaluation of the center, fraction."""
    loss: float | None
    test_accuracy: float | None
    """Accuracy of the final center on the test part, fraction: scored once, after the end, not used for any
    decision. Null before the end, if the run ended early, and for runs made without a validation part."""
    test_loss: float | None
    time_to_target: float | None
    """Train clock, s; null if the target has not been reached."""
    communication_fraction: float | None
    """Exposed communication / (wall - evaluate), mean over workers."""
    staleness: float | None
    """Mean over all exchanges; null if the method has none, or before the end."""
    lost_mass: float | None
    """Fraction of the pushed update mass lost by a lock-free method; null for other methods."""
    oversubscribed: bool
    overlap: str | None
    """The other cluster whose run computed on the same machine at the same time, so that times of this one cannot
    be trusted; null: none, or the run is virtual."""
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    energy_j: float | None = None
    """As in `RunView`; in lists only if they were asked for it with `energy=true`."""
    energy_note: str = ""
    """As in `RunView`; may be empty."""


class RunView(RunSummary):
    """One run with all details."""

    spec: dict[str, Any]
    fingerprint: str
    history: list[TransitionView]
    phases: list[PhaseTotals]
    staleness_histogram: dict[int, int]
    """Staleness (center updates between a worker's read and its write) -> number of exchanges, over all ranks."""
    dropped: list[DroppedView]
    checkpoints: list[CheckpointView]
    refused: int
    """Number of records and lines of output, of all attempts, that could not be stored."""
    refusals: list[RefusedView]
    """The first of them, at most 20 of each attempt."""
    hardware: dict[str, str | int | float]
    versions: dict[str, str]
    energy_j: float | None
    """Joules of processors and memory of its whole machine while its ranks ran, over the attempts that its result
    stands on; null: not known."""
    energy_seconds: float | None
    """Wall clock for which these were counted."""
    energy_note: str
    """Why they are not known, whether others used the machine meanwhile, or that it still runs; may be empty."""


class RunPage(View):
    """One page of the list."""

    items: list[RunSummary]
    next_cursor: str | None


class RetryRequest(View):
    """How a run is tried again."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    resume: StrictBool = Field(True, description="From the latest complete checkpoint; false: from the beginning.")


class LogLineView(View):
    """One line of output; pass `position` as `after` to continue."""

    position: int
    attempt: int
    rank: int
    stream: str
    at: datetime
    text: str


class LogPage(View):
    """Lines in order; `next_after` is the position of the last one."""

    lines: list[LogLineView]
    next_after: int
    more: bool
