"""Versions of the messages between agents and API.

A version that adds what the other side need not understand keeps the number; one that changes the meaning of what
exists raises `PROTOCOL`, and `OLDEST` once it no longer understands former messages.
"""

from __future__ import annotations

from hooke.spec.frozen import Frozen

PROTOCOL = 9
"""1: agents without identity. 2: hello with identity and protocol, answered by a welcome. 3: causes of ends,
failed launches, proofs with the attempt's token, attempts that start over. 4: the machines of a cluster, orders
for one agent, orders to remove what is left of deleted runs. 5: the broker carries ids, agents claim orders.
6: ingest takes files of attempts: traces, samples of the system. 7: orders to send the files of a checkpoint.
8: ranks have the phase `rebuild`, in the records of their steps and ends. 9: steps of methods whose replies grant
several updates say where each begins."""
FETCHES = 7
"""The oldest protocol of an agent that sends checkpoints."""
OLDEST = 5
"""The oldest protocol of an agent that this version's server understands: earlier ones do not claim orders."""
OLDEST_SERVER = 9
"""The oldest protocol of a server that this version's agent can work with: install the server first."""


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


class RenewedToken(Frozen):
    """A token in place of the one that its agent has asked with."""

    token: str


CLOCK = "Hooke-Clock"
"""Header with an agent's clock, seconds since 1970, in its messages to the API."""
RENEW = "Hooke-Renew-Token"
"""Header of the answer to a hello: the agent should ask for another token in place of its own. A header, since
earlier agents accept no answer with a field that they do not know."""
ANSWERS = "Hooke-Answers"
"""Header of a request of an agent or supervisor, with a text that its answer repeats: where a proxy answers one
twice, each following one would otherwise get the answer to the one before it."""
BROKER_KEY = "hooke.server"
"""Key in Redis by which an agent knows that its broker is that of the server, and the database the same."""


def refusal(there: tuple[int, int], whose: str, remedy: str, oldest_here: int = OLDEST) -> str | None:
    """Return why this side cannot work with another one, or None if it can.

    `there`: protocol and oldest understood protocol of the other side; `whose`: what it is, as "the agent of hpc";
    `remedy`: what to do if it is the older one; `oldest_here`: the oldest protocol that this side understands.
    """
    protocol, oldest = there
    if protocol < oldest_here:
        known = f"{oldest_here} to {PROTOCOL}" if oldest_here < PROTOCOL else f"{PROTOCOL}"
        return f"{whose} speaks protocol {protocol}; this version understands {known}: {remedy}"
    if oldest > PROTOCOL:
        return (
            f"{whose} understands protocol {oldest} and later, and the other side speaks {PROTOCOL}: "
            "install the same version of hooke on both"
        )
    return None
