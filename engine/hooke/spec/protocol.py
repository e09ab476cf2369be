"""Versions of the messages between agents and API.

A version that adds what the other side need not understand keeps the number; one that changes the meaning of what
exists raises `PROTOCOL`, and `OLDEST` once it no longer understands former messages.
"""

from __future__ import annotations

from hooke.spec.frozen import Frozen

PROTOCOL = 2
"""1: agents without identity. 2: hello with identity and protocol, answered by a welcome."""
OLDEST = 1
"""The oldest protocol that this version understands."""


class AgentWelcome(Frozen):
    """The API's answer to a hello."""

    protocol: int
    oldest: int
    version: str
    """Version of the API's distribution."""
    draining: bool = False
    """Whether no new runs are sent to the cluster."""
    broker: str | None = None
    """What the key BROKER_KEY holds in the Redis that the server uses; None: not told."""


BROKER_KEY = "hooke.server"
"""Key in Redis by which an agent knows that its broker is that of the server, and the database the same."""


def refusal(there: tuple[int, int], whose: str, remedy: str) -> str | None:
    """Return why this side cannot work with another one, or None if it can.

    `there`: protocol and oldest understood protocol of the other side; `whose`: what it is, as "the agent of hpc";
    `remedy`: what to do if it is the older one.
    """
    protocol, oldest = there
    if protocol < OLDEST:
        return f"{whose} speaks protocol {protocol}; this version understands {OLDEST} to {PROTOCOL}: {remedy}"
    if oldest > PROTOCOL:
        return (
            f"{whose} understands protocol {oldest} and later, and the other side speaks {PROTOCOL}: "
            "install the same version of hooke on both"
        )
    return None
