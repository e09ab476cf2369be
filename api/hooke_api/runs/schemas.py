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
    """Number of the attempt that it is about, from 1."""
    source: RunState | None
    """The state before; null: the run was created."""
    state: RunState
    """The state after."""
    at: datetime
    """When the server made or received it, by the clock of its database."""
    reported_at: datetime | None
    """When it happened, by the clock of the host that reported it; only displayed."""
    who: str
    """Who or what changed it: a user, the agent of a cluster, the scheduler, the supervisor."""
    why: str
    """The reason, in words; may be empty."""
    cause: RetryCause | None
    """Of an end without a fault of the run, which `retry` of its experiment decides about; null: other changes."""
    exit_code: int | None
    """Exit status of the process that ended first; null: none is known."""
    signal: int | None
    """Number of the signal that ended that process; null: none did."""
    rank: int | None
    """The rank of that process; null: none is known."""
    host: str | None
    """The host of that process; null: none is known."""


class PhaseTotals(View):
    """Seconds per phase of one rank since the start of its loop, and its traffic."""

    rank: int
    role: str
    """`worker` or `server`."""
    host: str | None
    """Name of its host; null: not reported yet."""
    notes: dict[str, str]
    """Choices made for this rank, with reasons: device, placement, exchange path, ..."""
    steps: int
    """Steps that it has taken."""
    wall: float
    """Wall time, s: the sum of the phases."""
    data: float
    """Time spent on reading batches, s."""
    compute: float
    """Time spent on computing gradients, s."""
    rebuild: float
    """Time spent on building the hash tables of a wide output layer, s."""
    communicate: float
    """Exposed communication, s: time blocked in the communicator."""
    update: float
    """Time spent on updating weights, s."""
    evaluate: float
    """Time spent on evaluations, s."""
    idle: float
    """Rest of the wall time, s."""
    hidden: float
    """Hidden communication, s: transfers that ran behind computation; no part of `wall`."""
    payload: int
    """Bytes that it asked to send."""
    wire: int
    """Bytes that it sent, as the schedule of each operation makes of them."""
    messages: int
    """Messages that it sent."""


class DroppedView(View):
    """A worker that was dropped from the run."""

    attempt: int
    worker: int
    """Its rank."""
    step: int
    """The step in which it was dropped."""
    why: str
    """What was wrong with it, in words."""
    at: datetime
    """When it was reported."""


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
    """Size of these files together, bytes."""
    at: datetime | None
    """When the last of them was reported; null: not known."""


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
    """What is wrong with it, in words."""


class RunSummary(View):
    """A row of the list; its figures are computed at ingest, so lists do not read points."""

    id: str
    """Id of the run."""
    experiment_id: str
    """Id of its experiment."""
    experiment_number: int = 0
    """Number of its experiment."""
    experiment_name: str = ""
    """Name of its experiment."""
    number: int
    """Its number within its experiment, from 1."""
    variant: str
    algorithm: str
    cluster: str
    host: str
    """The registered cluster that computes it: its cluster, or the one that simulates it."""
    simulated: bool
    """Whether it runs in virtual time."""
    workers: int
    servers: int
    seed: int
    trial: int | None
    """The trial whose setting it has, from 1; null where parameters are as given."""
    rung: int | None
    """Of a trial: the rung of its search, from 0; null of a run that is reported."""
    state: RunState
    """Its state."""
    attempt: int
    """Number of its latest attempt, from 1; its figures are of this one."""
    failures: int
    """Failed attempts that count for its experiment's `retry`, since it was submitted or retried."""
    not_before: datetime | None
    """When its next attempt may start; null: at once."""
    cancel_requested: bool
    """Whether it has been asked to end."""
    waiting: WaitingView | None = None
    """Why it waits, in the queue or for its turn on its cluster, and predicted times; null if it does not."""
    samples: int
    """Samples that all workers together have computed gradients of."""
    budget: int
    """Samples after which it ends."""
    evaluated_part: Part | None
    """Part of the data that evaluations score: validation, or test if there was none; null before the start."""
    accuracy: float | None
    """Accuracy of the latest evaluation of the center, fraction."""
    loss: float | None
    """Loss of the latest evaluation of the center."""
    test_accuracy: float | None
    """Accuracy of the final center on the test part, fraction: scored once, after the end, not used for any
    decision. Null before the end, if the run ended early, and for runs made without a validation part."""
    test_loss: float | None
    """Loss of the final center on the test part; null in the same cases as `test_accuracy`."""
    time_to_target: float | None
    """Train-clock seconds until the target was met, virtual ones of a simulated run; null: it has not been met."""
    communication_fraction: float | None
    """Exposed communication / (wall - evaluate), mean over workers, fraction."""
    staleness: float | None
    """Mean number of center updates between a worker's read and its write; null: the method has none, or the run
    goes on."""
    lost_mass: float | None
    """Fraction of the pushed update mass lost by a lock-free method; null for other methods."""
    oversubscribed: bool
    overlap: str | None
    """The other cluster whose run computed on the same machine at the same time, so that times of this one cannot
    be trusted; null: none, or the run is virtual."""
    created_at: datetime
    started_at: datetime | None
    """When its first attempt started; null: not yet."""
    finished_at: datetime | None
    """When it ended; null: not yet."""
    energy_j: float | None = None
    """As in `RunView`; in lists only if they were asked for it with `energy=true`."""
    energy_note: str = ""
    """As in `RunView`; may be empty."""


class RunView(RunSummary):
    """One run with all details."""

    spec: dict[str, Any]
    """Its specification (`hooke.run/1`), with every default filled in."""
    fingerprint: str
    history: list[TransitionView]
    """Every change of its state, the first one first."""
    phases: list[PhaseTotals]
    """Where the time of each rank of its latest attempt went."""
    staleness_histogram: dict[int, int]
    """Staleness (center updates between a worker's read and its write) -> number of exchanges, over all ranks."""
    dropped: list[DroppedView]
    """Workers that were dropped from it."""
    checkpoints: list[CheckpointView]
    """Its checkpoints, by attempt and samples."""
    refused: int
    """Number of records and lines of output, of all attempts, that could not be stored."""
    refusals: list[RefusedView]
    """The first of them, at most 20 of each attempt."""
    hardware: dict[str, str | int | float]
    versions: dict[str, str]
    energy_j: float | None
    """Joules of processors and memory of its whole machine, and of the GPUs that its ranks used, while these ran,
    over the attempts that its result stands on; null: not known."""
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
    """Its position among the lines of the run."""
    attempt: int
    rank: int
    """Number of the rank, from 0; -1: mpirun, or the supervisor."""
    stream: str
    """`stdout` or `stderr`."""
    at: datetime
    """When it was written, by the clock of its host."""
    text: str
    """The line, without its end."""


class LogPage(View):
    """Lines in order; `next_after` is the position of the last one."""

    lines: list[LogLineView]
    """Lines in the order in which they arrived."""
    next_after: int
    """To be passed as `after` for the next lines."""
    more: bool
    """Whether further lines are there already."""
