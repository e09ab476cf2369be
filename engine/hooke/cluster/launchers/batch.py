"""What the launchers of batch schedulers have in common: a launch is a job that waits in a queue.

The job belongs to the scheduler: it goes on when the supervisor dies, and the next supervisor finds it again. All
methods return at once, because the event loop that calls them also delivers journals.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from hooke.cluster.launchers.base import Launch, Launcher
from hooke.cluster.verdict import Outside

Phase = Literal["waiting", "running", "ended"]


@dataclass(frozen=True)
class View:
    """A job as its scheduler tells it."""

    phase: Phase
    words: str = ""
    """Why it waits, or where it runs, with the scheduler's own words."""
    paused: bool = False
    """Whether the scheduler has stopped its processes for a while."""
    outside: Outside | None = None
    """When it has ended: the end that the scheduler made of it, if it did."""
    status: int | None = None
    """When it has ended: its status as the scheduler knows it; negative: a signal."""


class BatchJob(Protocol):
    """One job, from its submission to its end."""

    @property
    def id(self) -> str:
        """Return the scheduler's name of it; empty before it is known."""

    def look(self) -> View:
        """Return what is known now, and ask for news when it is time to."""

    def signal(self, number: int) -> None:
        """Send a signal to every rank; before they have started, SIGTERM removes the job from the queue."""

    def kill(self) -> None:
        """End the job at once."""


class BatchLauncher(Launcher):
    """A launcher whose ranks a scheduler starts."""

    def submit(self, launch: Launch, folder: Path) -> BatchJob:
        """Return a new job, whose submission has begun. Raises LaunchError if it cannot be.

        `folder`: that of the first attempt, for its script, its output and the files of `in_job`.
        """
        raise NotImplementedError

    def attach(self, launch: Launch, folder: Path, known: str) -> BatchJob:
        """Return the job that an earlier supervisor has begun to submit; `known`: its id, or empty.

        A launch that had not been submitted is submitted now.
        """
        raise NotImplementedError
