"""The tables. Migrations in `migrations/` create them; a test proves that both say the same.

Conventions: ids are text (`run_` + UUIDv7); times are UTC; owned tables carry `project_id` and `created_by`; there
are no lazy relationships, so a query is always visible where it is made. Points are stored as columns
(`Chunk`), and everything that a list or a table shows is a plain column kept up to date at ingest.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hooke.events import RunState
from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    DateTime,
    Dialect,
    Double,
    Enum,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Text,
    TypeDecorator,
    UniqueConstraint,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

DEFAULT_PROJECT = "prj_default"
"""The one project there is until users can make more."""


def now() -> datetime:
    """Return the time, in UTC."""
    return datetime.now(UTC)


class Moment(TypeDecorator[datetime]):
    """A point in time; SQLite forgets that it is UTC, so it is said again on the way out."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - the signature is SQLAlchemy's
        """Return the time in UTC; refuse one that does not say its zone."""
        if value is not None and value.tzinfo is None:
            raise ValueError(f"a time without zone: {value}")
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - the signature is SQLAlchemy's
        """Return the stored time with its zone."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


State = Enum(RunState, native_enum=False, length=16, values_callable=lambda kind: [state.value for state in kind])
"""A RunState, stored as its word."""

Serial = BigInteger().with_variant(Integer, "sqlite")
"""A number that the database allots; only INTEGER does so in SQLite."""


class Base(DeclarativeBase):
    """Names for every constraint, so that migrations can name what they change."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy reads it once, at class creation
        datetime: Moment(),
        dict[str, Any]: JSON(),
        list[str]: JSON(),
        float: Double(),
    }


class Project(Base):
    """What owns experiments and clusters; one, `prj_default`, for now."""

    __tablename__ = "projects"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    name: Mapped[str] = mapped_column(String(120))
    created_at: Mapped[datetime]


class Owned:
    """Columns of every table that belongs to somebody."""

    project_id: Mapped[str] = mapped_column(String(40), ForeignKey("projects.id"), default=DEFAULT_PROJECT)
    created_by: Mapped[str] = mapped_column(String(120))


class Counter(Base):
    """A number that only grows. Its row is locked until the transaction ends, so numbers appear in order."""

    __tablename__ = "counters"

    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    """`events`: last position; `experiments:<project>`: last number."""
    value: Mapped[int] = mapped_column(BigInteger)


class Experiment(Owned, Base):
    """A comparison as submitted. Its state is derived from its runs."""

    __tablename__ = "experiments"
    __table_args__ = (UniqueConstraint("project_id", "number"),)

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    number: Mapped[int]
    """1, 2, 3, ... within the project: what people say to each other."""
    name: Mapped[str] = mapped_column(String(120))
    description: Mapped[str] = mapped_column(Text)
    workload: Mapped[str] = mapped_column(String(64))
    variants: Mapped[list[str]]
    clusters: Mapped[list[str]]
    baseline: Mapped[str] = mapped_column(String(120))
    spec: Mapped[dict[str, Any]]
    """ExperimentSpec as JSON, aliases included."""
    fingerprint: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]
    """When the last run became terminal."""


class Run(Owned, Base):
    """One cell of an experiment, with the figures that lists show."""

    __tablename__ = "runs"
    __table_args__ = (
        UniqueConstraint("experiment_id", "number"),
        Index(None, "experiment_id", "state"),
        Index(None, "state", "id"),
        Index(None, "host", "state"),
    )

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    experiment_id: Mapped[str] = mapped_column(String(40), ForeignKey("experiments.id"))
    number: Mapped[int]
    """1, 2, 3, ... within the experiment, in the order of the expansion."""
    variant: Mapped[str] = mapped_column(String(120))
    algorithm: Mapped[str] = mapped_column(String(64))
    cluster: Mapped[str] = mapped_column(String(64))
    host: Mapped[str] = mapped_column(String(64))
    """The registered cluster whose slots the run takes."""
    simulated: Mapped[bool]
    workers: Mapped[int]
    servers: Mapped[int]
    seed: Mapped[int] = mapped_column(BigInteger)
    spec: Mapped[dict[str, Any]] = mapped_column(deferred=True)
    """RunSpec as JSON; loaded only when asked for (`undefer(Run.spec)`)."""
    fingerprint: Mapped[str] = mapped_column(String(64))
    budget: Mapped[int] = mapped_column(BigInteger)
    """Samples."""

    state: Mapped[RunState] = mapped_column(State)
    attempt: Mapped[int] = mapped_column(default=1)
    """The attempt that owns the run; figures below are of this one."""
    cancel_requested: Mapped[bool] = mapped_column(Boolean, default=False)
    created_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]

    samples: Mapped[int] = mapped_column(BigInteger, default=0)
    accuracy: Mapped[float | None]
    loss: Mapped[float | None]
    time_to_target: Mapped[float | None]
    communication_fraction: Mapped[float | None]
    clock: Mapped[float] = mapped_column(default=0.0)
    """Train clock of the latest point or evaluation, s."""
    oversubscribed: Mapped[bool] = mapped_column(Boolean, default=False)
    hardware: Mapped[dict[str, Any]] = mapped_column(deferred=True, default=dict)
    versions: Mapped[dict[str, Any]] = mapped_column(deferred=True, default=dict)


class Attempt(Base):
    """One execution of a run: its secret, its lease and what has been received of it."""

    __tablename__ = "attempts"

    run_id: Mapped[str] = mapped_column(String(40), ForeignKey("runs.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    token_sha256: Mapped[str] = mapped_column(String(64), unique=True)
    created_at: Mapped[datetime]
    sent_at: Mapped[datetime | None]
    """When its launch order was last put on the queue; null: it still has to be."""
    leased_until: Mapped[datetime | None]
    """By the API's own clock, from its supervisor's last beat; null: it never spoke."""
    asked_at: Mapped[datetime | None]
    """When its agent was last asked to end it, or whether it lives."""
    reports: Mapped[int] = mapped_column(default=0)
    """State reports applied."""
    logs: Mapped[int] = mapped_column(BigInteger, default=-1)
    """Highest log seq stored without gap."""
    restored_step: Mapped[int | None] = mapped_column(BigInteger)
    """The step it went on from; points of earlier attempts after it are superseded."""


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
    who: Mapped[str] = mapped_column(String(120))
    why: Mapped[str] = mapped_column(Text)
    exit_code: Mapped[int | None]
    signal: Mapped[int | None]
    rank: Mapped[int | None]
    host: Mapped[str | None] = mapped_column(String(255))


class Chunk(Base):
    """Consecutive steps of one rank as columns: `hooke_api.blocks` packs and reads them."""

    __tablename__ = "chunks"
    __table_args__ = (UniqueConstraint("run_id", "attempt", "rank", "seq"),)

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    run_id: Mapped[str] = mapped_column(String(40), ForeignKey("runs.id"))
    attempt: Mapped[int]
    rank: Mapped[int]
    seq: Mapped[int] = mapped_column(BigInteger)
    """Seq of its first journal record; several blocks of one request become one chunk."""
    n: Mapped[int]
    """Steps."""
    header: Mapped[dict[str, Any]]
    """column -> [offset in bytes, dtype]; a column that is absent is all NaN."""
    data: Mapped[bytes] = mapped_column(LargeBinary)


class EvaluationPoint(Base):
    """One scoring of the center."""

    __tablename__ = "evaluations"

    run_id: Mapped[str] = mapped_column(String(40), ForeignKey("runs.id"), primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True)
    rank: Mapped[int] = mapped_column(primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    step: Mapped[int] = mapped_column(BigInteger)
    samples: Mapped[int] = mapped_column(BigInteger)
    clock: Mapped[float]
    wall: Mapped[float]
    loss: Mapped[float | None]
    """Null: NaN or infinite."""
    accuracy: Mapped[float | None]
    seconds: Mapped[float]
    reached: Mapped[bool]


class RankTotals(Base):
    """One rank of one attempt: who it is, how far its journal is stored, and its phase totals, s."""

    __tablename__ = "phase_totals"

    run_id: Mapped[str] = mapped_column(String(40), ForeignKey("runs.id"), primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True)
    rank: Mapped[int] = mapped_column(primary_key=True)
    role: Mapped[str] = mapped_column(String(8), default="worker")
    stored: Mapped[int] = mapped_column(BigInteger, default=-1)
    """Highest seq stored without gap."""
    ended: Mapped[str | None] = mapped_column(String(16))
    """The reason in its `done` record; from then on the totals are the rank's own, exact ones."""
    host: Mapped[str | None] = mapped_column(String(255))
    pid: Mapped[int | None]
    unix: Mapped[float | None]
    monotonic: Mapped[float | None]
    steps: Mapped[int] = mapped_column(BigInteger, default=0)
    samples: Mapped[int] = mapped_column(BigInteger, default=0)
    clock: Mapped[float] = mapped_column(default=0.0)
    wall: Mapped[float] = mapped_column(default=0.0)
    data: Mapped[float] = mapped_column(default=0.0)
    compute: Mapped[float] = mapped_column(default=0.0)
    communicate: Mapped[float] = mapped_column(default=0.0)
    update: Mapped[float] = mapped_column(default=0.0)
    evaluate: Mapped[float] = mapped_column(default=0.0)
    idle: Mapped[float] = mapped_column(default=0.0)
    hidden: Mapped[float] = mapped_column(default=0.0)
    payload: Mapped[int] = mapped_column(BigInteger, default=0)
    wire: Mapped[int] = mapped_column(BigInteger, default=0)
    messages: Mapped[int] = mapped_column(BigInteger, default=0)


class Summary(Base):
    """One metric of one attempt in six numbers, over all finite values of all its workers."""

    __tablename__ = "summaries"

    run_id: Mapped[str] = mapped_column(String(40), ForeignKey("runs.id"), primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True)
    metric: Mapped[str] = mapped_column(String(64), primary_key=True)
    """test_accuracy, test_loss, train_loss, staleness."""
    first: Mapped[float]
    last: Mapped[float]
    min: Mapped[float]
    max: Mapped[float]
    argmin: Mapped[int] = mapped_column(BigInteger)
    """Samples at the minimum."""
    count: Mapped[int] = mapped_column(BigInteger)


class Log(Base):
    """One line of output."""

    __tablename__ = "logs"
    __table_args__ = (UniqueConstraint("run_id", "attempt", "seq"), Index(None, "run_id", "position"))

    position: Mapped[int] = mapped_column(Serial, primary_key=True)
    run_id: Mapped[str] = mapped_column(String(40), ForeignKey("runs.id"))
    attempt: Mapped[int]
    seq: Mapped[int] = mapped_column(BigInteger)
    rank: Mapped[int]
    stream: Mapped[str] = mapped_column(String(16))
    at: Mapped[datetime]
    text: Mapped[str] = mapped_column(Text)


class Checkpoint(Base):
    """A checkpoint that lies on the cluster."""

    __tablename__ = "checkpoints"

    run_id: Mapped[str] = mapped_column(String(40), ForeignKey("runs.id"), primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True)
    rank: Mapped[int] = mapped_column(primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    step: Mapped[int] = mapped_column(BigInteger)
    samples: Mapped[int] = mapped_column(BigInteger)
    path: Mapped[str] = mapped_column(Text)
    bytes: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str] = mapped_column(String(64))


class Event(Base):
    """What changed, for streams. `position` comes from a Counter, so positions become visible in order."""

    __tablename__ = "events"
    __table_args__ = (Index(None, "experiment_id", "position"), Index(None, "run_id", "position"))

    position: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    kind: Mapped[str] = mapped_column(String(16))
    """experiment, run, points, logs or clusters; docs/http-api.md says what `data` holds for each."""
    experiment_id: Mapped[str | None] = mapped_column(String(40))
    run_id: Mapped[str | None] = mapped_column(String(40))
    data: Mapped[dict[str, Any]]
    at: Mapped[datetime]


class Cluster(Owned, Base):
    """A named place where runs execute, as its agent describes it."""

    __tablename__ = "clusters"

    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    cores: Mapped[int]
    slots: Mapped[int]
    launcher: Mapped[str] = mapped_column(String(16))
    hardware: Mapped[dict[str, Any]]
    versions: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]
    seen_at: Mapped[datetime]


class CatalogueEntry(Base):
    """An algorithm or workload that a cluster's agent reported."""

    __tablename__ = "catalogue"

    cluster: Mapped[str] = mapped_column(String(64), ForeignKey("clusters.name"), primary_key=True)
    kind: Mapped[str] = mapped_column(String(16), primary_key=True)
    """algorithm or workload."""
    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    document: Mapped[dict[str, Any]]
    """One item of `hooke.algorithm.describe()` or `hooke.workload.describe()`."""


class IdempotencyKey(Base):
    """The answer to a POST that carried an Idempotency-Key."""

    __tablename__ = "idempotency_keys"

    key: Mapped[str] = mapped_column(String(255), primary_key=True)
    created_by: Mapped[str] = mapped_column(String(120), primary_key=True)
    body_sha256: Mapped[str] = mapped_column(String(64))
    experiment_id: Mapped[str] = mapped_column(String(40), ForeignKey("experiments.id"))
    created_at: Mapped[datetime]


class Leader(Base):
    """Which process schedules; whoever renews the row before it expires."""

    __tablename__ = "leaders"

    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    holder: Mapped[str] = mapped_column(String(120))
    until: Mapped[datetime]
