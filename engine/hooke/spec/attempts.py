"""What an agent tells the API of attempts: alive or dead, not started, or removed with all that was left of it."""

from __future__ import annotations

from pydantic import Field, StrictBool

from hooke.spec.events import Record

MOST_FORGOTTEN = 100
"""Runs of one order to remove what is left of them."""


class AttemptId(Record):
    """One attempt of a run."""

    run: str
    attempt: int = Field(ge=1)


class FailedLaunch(Record):
    """Report of an agent that it could not start attempts, which now can never start."""

    agent: str | None = None
    """Identity of the agent."""
    attempts: list[AttemptId] = Field(min_length=1, max_length=1000)
    why: str = Field(max_length=2000)


class AgentProof(Record):
    """An agent's response to a probe of an attempt; death is reported only if nothing of it is left."""

    run: str
    attempt: int = Field(ge=1)
    agent: str | None = None
    """Identity of the agent that says so; only that of the cluster's present agent counts."""
    alive: StrictBool
    """True: its supervisor or one of its processes is alive. False: it is dead and can never start again."""
    token_sha256: str | None = Field(None, pattern=r"^[0-9a-f]{64}$")
    """SHA-256 of the attempt's token: shows that the agent has received the attempt. None: it never has."""
    why: str


class KeptRun(Record):
    """A run whose files could not be removed."""

    run: str
    why: str = Field(max_length=2000)


class ForgetReport(Record):
    """An agent's answer to the order to remove what its home folder holds of deleted runs."""

    agent: str | None = None
    """Identity of the agent."""
    forgotten: list[str] = Field(max_length=MOST_FORGOTTEN)
    """Runs of which nothing is left there."""
    kept: list[KeptRun] = Field(max_length=MOST_FORGOTTEN)
