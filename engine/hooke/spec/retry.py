"""Retry policy of an experiment: after which ends a run gets a further attempt, how many, and when."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hooke.spec.frozen import Frozen

RetryCause = Literal["infrastructure", "lost", "time_limit"]
"""Why an attempt ended without a fault of its own.

`infrastructure`: a rank, mpirun, a host or a disk died. `lost`: its supervisor became silent, and the agent has
proven its death. `time_limit`: the batch scheduler's time limit ended it.
"""


class RetryPolicy(Frozen):
    """When a run gets a further attempt, which goes on from its latest complete checkpoint.

    An attempt that the scheduler's time limit ended is followed by another one at once, and does not count, if it
    has written a checkpoint with more samples than those before; without one it would end at the same place again.
    """

    attempts: int = Field(
        3,
        ge=1,
        le=100,
        title="Attempts",
        description="Attempts of a run that may fail; 1: no further attempt. Those that a scheduler's time limit "
        "ended, and those whose launch failed, do not count.",
    )
    backoff_seconds: float = Field(
        10.0,
        ge=0,
        le=86400,
        title="Pause",
        description="Seconds before the attempt that follows a failed one; doubled after each further failure.",
    )
    longest_backoff_seconds: float = Field(
        600.0, ge=0, le=86400, title="Longest pause", description="Seconds at most."
    )
    causes: Annotated[list[RetryCause], Field(max_length=3)] = Field(
        default=["infrastructure", "lost", "time_limit"],
        title="Causes",
        description="Ends after which there is a further attempt.",
    )

    def backoff(self, failures: int) -> float:
        """Return the seconds to wait after so many failed attempts (at least 1)."""
        return min(self.longest_backoff_seconds, self.backoff_seconds * 2.0 ** min(failures - 1, 32))
