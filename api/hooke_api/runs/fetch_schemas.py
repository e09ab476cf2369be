"""Requests and responses about fetched checkpoints."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import ConfigDict, Field

from hooke_api.base.schema import View

FetchState = Literal["waiting", "sending", "ready", "failed", "cancelled"]


class FetchRequest(View):
    """Which checkpoint of a run is to be fetched; nothing: the newest one of the latest attempt that has any."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    attempt: int | None = Field(None, ge=1, le=2**31 - 1, strict=True)
    samples: int | None = Field(None, ge=0, le=2**62, strict=True, description="As in `checkpoints` of the run.")


class FetchedFileView(View):
    """A file of a fetched checkpoint."""

    name: str
    size: int
    """Bytes."""
    sha256: str
    """As the rank that wrote it reported."""


class FetchView(View):
    """A checkpoint that the agent of its cluster sends to the server, from where it can be downloaded."""

    id: str
    run_id: str
    cluster: str
    attempt: int
    samples: int
    """Name of the checkpoint's folder: global samples when it was written."""
    state: FetchState
    """waiting: the agent has not begun; sending; ready: it can be downloaded; failed, cancelled: it cannot."""
    why: str
    """Why it failed."""
    size: int
    """Bytes of all files."""
    received: int
    """Bytes that the server has."""
    files: list[FetchedFileView]
    """One of each rank; `complete.json` comes with them."""
    created_at: datetime
    created_by: str
    ended_at: datetime | None
    expires_at: datetime | None
    """When the server removes it."""


class FetchList(View):
    """The fetched checkpoints of a run, newest first."""

    items: list[FetchView]
