"""What the API says of runs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hooke.spec.specification import Part
from hooke.spec.states import RunState

from hooke_api.base.schema import View


class TransitionView(View):
    """One change of state: when, who, why, and the evidence."""

    attempt: int
    source: RunState | None
    state: RunState
    at: datetime
    who: str
    why: str
    exit_code: int | None
    signal: int | None
    rank: int | None
    host: str | None


class PhaseTotals(View):
    """Seconds per phase of one rank since its loop began, and what it moved."""

    rank: int
    role: str
    host: str | None
    notes: dict[str, str]
    """What was chosen for this rank and why: device, placement, exchange path, ..."""
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
    """A worker without which the run went on."""

    attempt: int
    worker: int
    step: int
    why: str
    at: datetime


class CheckpointView(View):
    """A checkpoint of all ranks together; a cluster keeps the newest two of an attempt."""

    attempt: int
    samples: int
    """Global samples that it stands for."""
    path: str
    """Its folder on the cluster."""
    ranks: int
    """Files in it, as far as their ranks have said so."""
    bytes: int
    at: datetime | None


class RunSummary(View):
    """A row of the list; the figures are kept up to date at ingest, so no list touches points."""

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
    state: RunState
    attempt: int
    cancel_requested: bool
    samples: int
    budget: int
    evaluated_part: Part | None
    """What evaluations score: the validation part; the test part where there was none; null before it began."""
    accuracy: float | None
    """Of the latest evaluation of the center, fraction."""
    loss: float | None
    test_accuracy: float | None
    """Of the final center on the test part, fraction: scored once, after the end; nothing was chosen by it. Null
    before, where the run ended early, and of runs made without a validation part."""
    test_loss: float | None
    time_to_target: float | None
    """Train clock, s; null where the target was not (yet) reached."""
    communication_fraction: float | None
    """Exposed / (wall - evaluate), mean over workers."""
    staleness: float | None
    """Mean over all exchanges; null where the method has none, or before its end."""
    lost_mass: float | None
    """Share of the pushed update mass that a lock-free method lost; null elsewhere."""
    oversubscribed: bool
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class RunView(RunSummary):
    """One run, whole."""

    spec: dict[str, Any]
    fingerprint: str
    history: list[TransitionView]
    phases: list[PhaseTotals]
    staleness_histogram: dict[int, int]
    """Exchanges by staleness, all ranks together: center updates between a worker's read and its write."""
    dropped: list[DroppedView]
    checkpoints: list[CheckpointView]
    hardware: dict[str, str | int | float]
    versions: dict[str, str]


class RunPage(View):
    """One page of the list."""

    items: list[RunSummary]
    next_cursor: str | None


class LogLineView(View):
    """One line of output; `position` goes into `after` to read on."""

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
