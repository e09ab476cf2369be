"""Compacted runs: whose steps are in an object, and which objects no run has."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, Boolean, ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from hooke_api.models.base import Base


class CompactedRun(Base):
    """A run of which the steps that were rows of `chunks` are in an object; later ones are rows again."""

    __tablename__ = "compacted_runs"

    run_id: Mapped[str] = mapped_column(String(40), ForeignKey("runs.id"), primary_key=True)
    key: Mapped[str] = mapped_column(String(120))
    """Name of the object in the store (`hooke_api.storage.objects`)."""
    size: Mapped[int] = mapped_column(BigInteger)
    """Bytes of the object."""
    sha256: Mapped[str] = mapped_column(String(64))
    chunks: Mapped[int]
    """Number of the chunks in it."""
    last_chunk: Mapped[int] = mapped_column(BigInteger)
    """Highest id that any of them had."""
    steps: Mapped[int] = mapped_column(BigInteger)
    """Number of their steps, of all ranks and attempts."""
    raw: Mapped[int] = mapped_column(BigInteger)
    """Bytes of their columns as rows."""
    at: Mapped[datetime]
    """When it was compacted."""


class LooseObject(Base):
    """An object that no run has: it is being written, or is to be removed."""

    __tablename__ = "loose_objects"

    key: Mapped[str] = mapped_column(String(120), primary_key=True)
    at: Mapped[datetime]
    """Since when."""
    discarded: Mapped[bool] = mapped_column(Boolean)
    """Whether no run can get it any more; False: it is being written, or its writer has ended."""
