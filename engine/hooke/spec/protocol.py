"""Versions of the messages between agents and API.

A version that adds what the other side need not understand keeps the number; one that changes the meaning of what
exists raises `PROTOCOL`, and `OLDEST` once it no longer understands former messages.
"""

from __future__ import annotations

PROTOCOL = 2
"""1: agents without identity. 2: hello with identity and protocol, answered by a welcome."""
OLDEST = 1
"""The oldest protocol that this version understands."""


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
            f"{whose} understands protocol {oldest} and later; this version speaks {PROTOCOL}: install the same "
            "version of hooke here"
        )
    return None
