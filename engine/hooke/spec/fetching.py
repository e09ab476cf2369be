"""Messages between API and agent about the files of a checkpoint, which the agent sends piece by piece."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hooke.spec.events import Record

PIECE_BYTES = 4 << 20
"""Bytes of every piece of a file but its last one; pieces begin at multiples of this."""
COMPLETE = "complete.json"
"""The file that marks a checkpoint as complete."""
MOST_COMPLETE = 1 << 16
"""Characters of it."""
FetchId = Annotated[str, Field(pattern=r"^fet_[0-9a-f]{32}$")]
RankFile = Annotated[str, Field(pattern=r"^rank\.(0|[1-9][0-9]{0,4})\.npz$")]


class FetchedFile(Record):
    """A file of a checkpoint as its rank reported it."""

    name: RankFile
    size: int = Field(ge=0, lt=2**40)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class FetchOrder(Record):
    """An order to send the files of a checkpoint."""

    id: FetchId
    run: str
    attempt: int = Field(ge=1)
    samples: int = Field(ge=0)
    """Name of the checkpoint's folder."""
    files: list[FetchedFile] = Field(min_length=1)


class FetchBegin(Record):
    """The agent has opened all files, so that what happens to the folder from now on changes nothing."""

    id: FetchId
    agent: str | None = None
    """Identity of the agent."""
    complete: str = Field(max_length=MOST_COMPLETE)
    """Content of COMPLETE."""


class FetchStored(Record):
    """The API's answer: how many bytes of each file it has; the agent goes on there."""

    stored: dict[str, int]


class FetchEnd(Record):
    """The agent has sent all pieces, or says why it cannot."""

    id: FetchId
    agent: str | None = None
    """Identity of the agent."""
    why: str = Field("", max_length=2000)
    """Empty: all were sent."""
