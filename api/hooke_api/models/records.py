"""Tables of data reported by attempts: chunks of steps, evaluations, totals, logs, checkpoints."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, Boolean, ForeignKey, Index, LargeBinary, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from hooke_api.models.base import Base, Serial


class Chunk(Base):
    """Consecutive steps of one rank as columns: `hooke_api.storage.blocks` packs and reads them."""

    __tablename__ = "chunks"
    __table_args__ = (
        UniqueConstraint("run_id", "attempt", "rank", "seq"),
        Index(None, "run_id", "id"),  # what is new of a run: without it all of its chunks are looked at
    )

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    run_id: Mapped[str] = mapped_column(String(40), ForeignKey("runs.id"))
    attempt: Mapped[int]
    rank: Mapped[int]
    seq: Mapped[int] = mapped_column(BigInteger)
    """Seq of its first journal record; the blocks of one request are joined to one chunk."""
    n: Mapped[int]
    """Number of steps."""
    header: Mapped[dict[str, Any]]
    """column -> [offset in bytes, dtype]; for missing columns see `hooke.spec.events.ABSENT`."""
    data: Mapped[bytes] = mapped_column(LargeBinary)


class StoredEvaluation(Base):
    """An evaluation of the center, from its journal record."""

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
    further: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """Name of a further metric -> its value, all finite; null: none."""


class RankTotals(Base):
    """One rank of one attempt: identity, stored part of its journal, phase totals in s."""

    __tablename__ = "phase_totals"

    run_id: Mapped[str] = mapped_column(String(40), ForeignKey("runs.id"), primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True)
    rank: Mapped[int] = mapped_column(primary_key=True)
    role: Mapped[str] = mapped_column(String(8), default="worker")
    stored: Mapped[int] = mapped_column(BigInteger, default=-1)
    """Highest seq stored without gap."""
    notes: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """Choices made for this rank, with reasons: device, placement, exchange path, ..."""
    staleness: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """Staleness -> number of exchanges, from its `done` record."""
    ended: Mapped[str | None] = mapped_column(String(16))
    """The reason in its `done` record; after that, the totals are the exact ones of that record."""
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
    rebuild: Mapped[float] = mapped_column(default=0.0)
    communicate: Mapped[float] = mapped_column(default=0.0)
    update: Mapped[float] = mapped_column(default=0.0)
    evaluate: Mapped[float] = mapped_column(default=0.0)
    idle: Mapped[float] = mapped_column(default=0.0)
    hidden: Mapped[float] = mapped_column(default=0.0)
    payload: Mapped[int] = mapped_column(BigInteger, default=0)
    wire: Mapped[int] = mapped_column(BigInteger, default=0)
    messages: Mapped[int] = mapped_column(BigInteger, default=0)


class LogBlock(Base):
    """Consecutive lines of output of one attempt, compressed: `hooke_api.storage.lines` packs and reads them.

    The position of a line is the number of its block times `LINES` plus its place.
    """

    __tablename__ = "log_blocks"
    __table_args__ = (Index(None, "run_id", "id"),)

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    run_id: Mapped[str] = mapped_column(String(40), ForeignKey("runs.id"))
    attempt: Mapped[int]
    n: Mapped[int]
    """Number of lines."""
    size: Mapped[int] = mapped_column(BigInteger)
    """Bytes of their text in UTF-8; 0 of a mark where lines were cut."""
    cut_lines: Mapped[int] = mapped_column(BigInteger, default=0)
    """Number of lines in whose place this block stands; its one line says so."""
    cut_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    data: Mapped[bytes] = mapped_column(LargeBinary)


class StoredFilePart(Base):
    """Consecutive bytes of a file of an attempt: `hooke_api.storage.files` stores and reads them."""

    __tablename__ = "file_parts"

    run_id: Mapped[str] = mapped_column(String(40), ForeignKey("runs.id"), primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(16), primary_key=True)
    """`trace.<rank>` or `system`."""
    first: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    """Place of its first byte in the file."""
    size: Mapped[int] = mapped_column(BigInteger)
    """Number of bytes."""
    data: Mapped[bytes] = mapped_column(LargeBinary)
    """They are compressed by zlib; empty: behind the limit of an attempt, and not kept."""


class Checkpoint(Base):
    """A checkpoint on the cluster."""

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
    at: Mapped[datetime | None]
    """Time of arrival of its record."""


class DroppedWorker(Base):
    """A worker that was dropped from an attempt."""

    __tablename__ = "dropped_workers"

    run_id: Mapped[str] = mapped_column(String(40), ForeignKey("runs.id"), primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True)
    rank: Mapped[int] = mapped_column(primary_key=True)
    """The rank that recorded it; `worker` is the dropped one."""
    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    worker: Mapped[int]
    step: Mapped[int] = mapped_column(BigInteger)
    why: Mapped[str] = mapped_column(Text)
    at: Mapped[datetime]
    """Time of arrival of its record."""


class ThinnedSeries(Base):
    """A metric of an ended run at a limited resolution, so that a look at a long run reads little.

    `hooke_api.metrics.thinning` writes and reads it; it is derived from the rows of the tables above. A row whose
    limit is 0 has what `hooke_api.metrics.stored_growth` keeps of a run in progress, one below zero what
    `hooke_api.metrics.stored_brackets` and `hooke_api.storage.evaluated` keep.
    """

    __tablename__ = "thinned_series"

    run_id: Mapped[str] = mapped_column(String(40), ForeignKey("runs.id"), primary_key=True)
    most: Mapped[int] = mapped_column(primary_key=True)
    """Maximum number of points that it answers."""
    metric: Mapped[str] = mapped_column(String(40), primary_key=True)
    of_data: Mapped[str] = mapped_column(String(120))
    """From what it was computed: it is ignored if the run has other data now."""
    n: Mapped[int] = mapped_column(BigInteger)
    """Number of points of the whole series."""
    gaps: Mapped[bool] = mapped_column(Boolean)
    """Whether any of them is a gap."""
    data: Mapped[bytes] = mapped_column(LargeBinary)
    """Little-endian float64, shape (7, points kept): place in the series, the five axes, value."""
