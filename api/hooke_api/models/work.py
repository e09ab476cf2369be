"""Experiments, runs, attempts, their transitions and events."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hooke.spec.states import RunState
from sqlalchemy import JSON, BigInteger, Boolean, ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from hooke_api.models.base import FILTERED, Base, Owned, Serial, State


class NumberSequence(Base):
    """An increasing number. Its row is locked until the transaction ends, so numbers appear in order."""

    __tablename__ = "counters"

    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    """`events`: last position; `experiments:prj_default`: last number of an experiment, of whatever project."""
    value: Mapped[int] = mapped_column(BigInteger)


class Experiment(Owned, Base):
    """A comparison as submitted, or as extended since. Its state is derived from its runs."""

    __tablename__ = "experiments"
    __table_args__ = (
        UniqueConstraint("project_id", "number"),
        Index(None, "number", unique=True),  # lists over several projects
        Index(None, "project_id", "bundle_sha256", unique=True),
    )

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    number: Mapped[int]
    """1, 2, 3, ... over all projects, for display."""
    name: Mapped[str] = mapped_column(String(120))
    """What it is called, which users may change; `spec` keeps the name that it was submitted with."""
    description: Mapped[str] = mapped_column(Text)
    workload: Mapped[str] = mapped_column(String(64))
    variants: Mapped[list[str]]
    colors: Mapped[list[int]] = mapped_column(JSON(), default=list)
    """Place of each variant in the palette (`hooke_api.storage.colors`); empty: by their order."""
    clusters: Mapped[list[str]]
    baseline: Mapped[str] = mapped_column(String(120))
    spec: Mapped[dict[str, Any]]
    """ExperimentSpec as JSON, aliases included."""
    fingerprint: Mapped[str] = mapped_column(String(64))
    earlier: Mapped[list[dict[str, Any]]] = mapped_column(deferred=True, default=list)
    """What it was before each extension: `spec`, `fingerprint`, and `at` what time and `by` whom this was done."""
    warnings: Mapped[list[dict[str, Any]]] = mapped_column(default=list)
    """Warnings at its submission and extensions, each with pointer and message."""
    created_at: Mapped[datetime]
    priority: Mapped[int] = mapped_column(default=0)
    """A higher one goes first, on clusters whose policy says so; may be changed while it waits."""
    planning: Mapped[bool] = mapped_column(Boolean, default=False)
    """Whether runs will be added when its trials have ended."""
    cores: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """Cores of each registered cluster at its submission, which `workers: auto` refers to in every step."""
    finished_at: Mapped[datetime | None]
    """When the last run became terminal."""

    starred: Mapped[bool] = mapped_column(Boolean, default=False)
    archived: Mapped[bool] = mapped_column(Boolean, default=False)
    """Whether lists leave it out unless they are asked for archived ones."""
    protected: Mapped[bool] = mapped_column(Boolean, default=False)
    """Whether it cannot be deleted, by a user or by retention."""
    note: Mapped[str] = mapped_column(Text, default="")
    """What users write about it, as Markdown."""
    revision: Mapped[int] = mapped_column(default=0)
    """Number of changes of its name, tags, note and marks so far."""
    deleted_at: Mapped[datetime | None]
    """When it was deleted; it is hidden from then on."""
    deleted_by: Mapped[str | None] = mapped_column(String(120))
    purge_at: Mapped[datetime | None]
    """Until when it can be restored; after that its rows are removed."""
    headlines: Mapped[dict[str, Any] | list[str]] = mapped_column(JSON(), default=dict)
    """The answer of its comparison: `lines`, one for each place, `curve` of its best variant or null, and `rule`.

    `hooke_api.comparisons.headlines` computes it. A list: the lines alone, stored before there were curves.
    """
    headlines_at: Mapped[datetime | None]
    """When they were computed last."""

    restored_at: Mapped[datetime | None]
    """When it was restored last: retention counts from then on, or it would be deleted again at once."""
    imported_at: Mapped[datetime | None]
    """When it was imported; null: it was submitted here. Runs of an imported one are never tried again."""
    bundle_sha256: Mapped[str | None] = mapped_column(String(64))
    """Of the measurement in its bundle (`hooke_api.exchange.manifest`): a project has the same one once."""
    origin: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """Of an imported one: `from` where, by which `hooke`, `exported_at`, and the `algorithms` of its runs."""


class Run(Owned, Base):
    """One cell of an experiment, with the figures that lists show."""

    __tablename__ = "runs"
    __table_args__ = (
        UniqueConstraint("experiment_id", "number"),
        Index(None, "experiment_id", "state"),
        Index(None, "state", "id"),
        Index(None, "host", "state", "id"),
        # the queue: what waits on a cluster, by experiment, without reading rows; and its history
        Index(
            "ix_runs_waiting",
            "host",
            "state",
            "experiment_id",
            "algorithm",
            "simulated",
            "workers",
            "servers",
            "budget",
            "not_before",
        ),
        Index(None, "host", "finished_at"),
        Index("ix_runs_filters", *FILTERED),
        # lists with such a filter, newest first
        Index(None, "variant", "id"),
        Index(None, "cluster", "id"),
    )

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    experiment_id: Mapped[str] = mapped_column(String(40), ForeignKey("experiments.id"))
    number: Mapped[int]
    """1, 2, 3, ... within the experiment, in the order of the expansion."""
    variant: Mapped[str] = mapped_column(String(120))
    algorithm: Mapped[str] = mapped_column(String(64))
    cluster: Mapped[str] = mapped_column(String(64))
    host: Mapped[str] = mapped_column(String(64))
    """The registered cluster whose slots the run occupies."""
    simulated: Mapped[bool]
    workers: Mapped[int]
    servers: Mapped[int]
    seed: Mapped[int] = mapped_column(BigInteger)
    trial: Mapped[int | None]
    """The trial whose setting it has, from 1; null where parameters are as given."""
    rung: Mapped[int | None]
    """Of a trial: the rung of its search, from 0. Null: the run is reported."""
    spec: Mapped[dict[str, Any]] = mapped_column(deferred=True)
    """RunSpec as JSON; loaded on request only (`undefer(Run.spec)`)."""
    fingerprint: Mapped[str] = mapped_column(String(64))
    budget: Mapped[int] = mapped_column(BigInteger)
    """Samples."""

    state: Mapped[RunState] = mapped_column(State)
    attempt: Mapped[int] = mapped_column(default=1)
    """The attempt that owns the run; the figures below are those of this attempt."""
    failures: Mapped[int] = mapped_column(default=0)
    """Failed attempts that count for its retry policy, since it was submitted or retried by a user."""
    not_before: Mapped[datetime | None]
    """When its next attempt may start; null: at once."""
    resume_from: Mapped[int] = mapped_column(default=1)
    """The earliest attempt whose checkpoints and evaluations count: a later one started over."""
    cancel_requested: Mapped[bool] = mapped_column(Boolean, default=False)
    created_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]

    chunks: Mapped[int] = mapped_column(BigInteger, default=0)
    """Number of chunks of its steps, of all attempts, in rows or in its object."""
    evaluations: Mapped[int] = mapped_column(BigInteger, default=0)
    """Number of its evaluations, of all attempts."""
    samples: Mapped[int] = mapped_column(BigInteger, default=0)
    evaluated_part: Mapped[str | None] = mapped_column(String(16))
    """The part of the data that evaluations score: `validation`; `test` of a run made without one; null before it
    begins."""
    accuracy: Mapped[float | None]
    """Accuracy of the latest evaluation of the center, fraction."""
    loss: Mapped[float | None]
    test_accuracy: Mapped[float | None]
    """Of the final center on the test part, scored once, after the end; null before, and where it ended early."""
    test_loss: Mapped[float | None]
    time_to_target: Mapped[float | None]
    """Train clock of the first evaluation that met the target, s."""
    target_after: Mapped[float | None]
    """Train clock of the last evaluation before that one, s (0: there was none); null with time_to_target."""
    diverged: Mapped[bool] = mapped_column(Boolean, default=False)
    """Whether it ended with NaN or Inf."""
    communication_fraction: Mapped[float | None]
    clock: Mapped[float] = mapped_column(default=0.0)
    """Train clock of the latest point or evaluation, s."""
    staleness: Mapped[float | None]
    """Mean over all exchanges, if measured."""
    further_metrics: Mapped[list[dict[str, Any]] | None] = mapped_column(JSON(none_as_null=True), deferred=True)
    """What its workload declares of further metrics (`hooke.spec.further.FurtherMetric`); null: it has none."""
    lost_mass: Mapped[float | None]
    """Fraction of the pushed update mass lost by a lock-free method."""
    oversubscribed: Mapped[bool] = mapped_column(Boolean, default=False)
    overlap: Mapped[str | None] = mapped_column(String(64))
    """The other cluster whose run computed on the same machine at the same time; null: none, or not timed."""
    hardware: Mapped[dict[str, Any]] = mapped_column(deferred=True, default=dict)
    versions: Mapped[dict[str, Any]] = mapped_column(deferred=True, default=dict)


class Attempt(Base):
    """One execution of a run: its lease and the received data."""

    __tablename__ = "attempts"

    run_id: Mapped[str] = mapped_column(String(40), ForeignKey("runs.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    created_at: Mapped[datetime]
    sent_at: Mapped[datetime | None]
    """Time at which its launch order was last sent; null: not sent yet."""
    sends: Mapped[int] = mapped_column(default=0)
    """How often its launch order was sent; after a number of times without a report it counts as lost."""
    leased_until: Mapped[datetime | None]
    """End of the lease by the database's clock; null: its supervisor has not reported yet."""
    asked_at: Mapped[datetime | None]
    """Time at which its agent was last asked to cancel or to probe it."""
    reports: Mapped[int] = mapped_column(default=0)
    """Number of state reports applied."""
    logs: Mapped[int] = mapped_column(BigInteger, default=-1)
    """Highest log seq stored without gap."""
    checkpoints_asked: Mapped[int] = mapped_column(default=0)
    """Number of requested checkpoints."""
    log_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    """Size of the stored text of its output in UTF-8."""
    refused: Mapped[int] = mapped_column(default=0)
    """Number of its records and log lines that cannot be stored."""
    refusals: Mapped[list[dict[str, Any]]] = mapped_column(default=list)
    """The first of them: rank (null: a log line), seq, pointer and message of the fault."""
    restored_step: Mapped[int | None] = mapped_column(BigInteger)
    """The step of the checkpoint it resumed from; later points of earlier attempts are superseded."""


class AttemptToken(Base):
    """A random token with which the supervisor of an attempt reports; only its hash is stored.

    Each claim of its order makes one. The one that reports first stays, and the others of the attempt end.
    """

    __tablename__ = "attempt_tokens"
    __table_args__ = (Index(None, "run_id", "attempt"),)

    token_sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    run_id: Mapped[str] = mapped_column(String(40), ForeignKey("runs.id", ondelete="CASCADE"))
    attempt: Mapped[int]
    created_at: Mapped[datetime]


class Transition(Base):
    """One change of a run's state, with the evidence."""

    __tablename__ = "transitions"
    __table_args__ = (Index(None, "run_id", "id"),)

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    run_id: Mapped[str] = mapped_column(String(40), ForeignKey("runs.id"))
    attempt: Mapped[int]
    source: Mapped[RunState | None] = mapped_column(State)
    state: Mapped[RunState] = mapped_column(State)
    at: Mapped[datetime]
    """When the API made or received it, by the database's clock."""
    reported_at: Mapped[datetime | None]
    """When it happened by the clock of the host that reported it; only displayed."""
    who: Mapped[str] = mapped_column(String(120))
    why: Mapped[str] = mapped_column(Text)
    cause: Mapped[str | None] = mapped_column(String(16))
    """Of an end without a fault of the run: `hooke.spec.retry.RetryCause`."""
    exit_code: Mapped[int | None]
    signal: Mapped[int | None]
    rank: Mapped[int | None]
    host: Mapped[str | None] = mapped_column(String(255))


class IdempotencyKey(Base):
    """The result of a POST with an Idempotency-Key."""

    __tablename__ = "idempotency_keys"

    key: Mapped[str] = mapped_column(String(255), primary_key=True)
    created_by: Mapped[str] = mapped_column(String(120), primary_key=True)
    body_sha256: Mapped[str] = mapped_column(String(64))
    experiment_id: Mapped[str] = mapped_column(String(40), ForeignKey("experiments.id"))
    created_at: Mapped[datetime]


class Event(Base):
    """An event for streams. `position` comes from a NumberSequence, so positions become visible in order."""

    __tablename__ = "events"
    __table_args__ = (Index(None, "experiment_id", "position"), Index(None, "run_id", "position"))

    position: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    kind: Mapped[str] = mapped_column(String(16))
    """experiment, run, points, logs or clusters; for `data` of each kind see docs/http-api.md."""
    experiment_id: Mapped[str | None] = mapped_column(String(40))
    run_id: Mapped[str | None] = mapped_column(String(40))
    data: Mapped[dict[str, Any]]
    at: Mapped[datetime]
