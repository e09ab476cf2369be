"""Orders of the API to agents: what the broker carries, and what an agent gets for it from the API.

The broker carries the id of an order and nothing that could be run. The agent claims the order at the API, with
its own token, and gets the work. So who reads the broker learns ids, and who writes to it makes an agent ask the
API, which refuses.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hooke.spec.calibrating import CalibrationOrder
from hooke.spec.events import Record
from hooke.spec.fetching import FetchOrder

OrderKind = Literal["launch", "cancel", "probe", "calibrate", "cancel_calibration", "forget", "fetch"]
AgentId = Annotated[str, Field(pattern=r"^agt_[0-9a-f]{32}$")]
OrderId = Annotated[str, Field(pattern=r"^ord_[0-9a-f]{32}$")]


class LaunchOrder(Record):
    """One attempt that an agent is to start; several virtual ones may share a process."""

    run: str
    attempt: int = Field(ge=1)
    token: str
    """Secret of this attempt; written to a 0600 file, never to a log or a command line."""
    spec: dict[str, object]
    """A RunSpec as JSON."""
    resume_from: int = Field(1, ge=1, exclude_if=lambda value: value == 1)
    """The earliest attempt whose checkpoints this one may go on from; its own number: it starts over."""


class BrokerOrder(Record):
    """All that the broker carries of an order, besides its kind."""

    id: OrderId
    agent: AgentId | None
    """Identity of the agent that it is for; another one, which still takes the cluster's orders, leaves it."""
    made: float
    """When it was made, s since 1970 by the clock of the API's database; for logs, nothing depends on it."""


class OrderClaim(Record):
    """An agent's question for the work of an order; it may be repeated."""

    order: OrderId
    agent: AgentId | None = None
    """Identity of the agent."""


class Launch(Record):
    """Start attempts; several share processes."""

    kind: Literal["launch"] = "launch"
    attempts: list[LaunchOrder] = Field(min_length=1)


class Cancel(Record):
    """End an attempt; the response to its next ingest does so, too."""

    kind: Literal["cancel"] = "cancel"
    run: str
    attempt: int = Field(ge=1)


class Probe(Record):
    """Say whether an attempt is alive: answered with a `hooke.spec.attempts.AgentProof`."""

    kind: Literal["probe"] = "probe"
    run: str
    attempt: int = Field(ge=1)


class Calibrate(Record):
    """Calibrate the cluster, on which no run is active: answered with a `CalibrationReport`."""

    kind: Literal["calibrate"] = "calibrate"
    calibration: CalibrationOrder


class CancelCalibration(Record):
    """End a calibration: answered in the same way."""

    kind: Literal["cancel_calibration"] = "cancel_calibration"
    calibration: str


class Forget(Record):
    """Remove what is left of deleted runs: answered with a `hooke.spec.attempts.ForgetReport`."""

    kind: Literal["forget"] = "forget"
    runs: list[str] = Field(min_length=1)


class Fetch(Record):
    """Send the files of a checkpoint: answered with a `FetchBegin`, pieces, and a `FetchEnd`."""

    kind: Literal["fetch"] = "fetch"
    fetch: FetchOrder


Work = Annotated[
    Launch | Cancel | Probe | Calibrate | CancelCalibration | Forget | Fetch,
    Field(discriminator="kind"),
]
"""What an order is about."""


class ClaimedOrder(Record):
    """The API's answer to a claim."""

    id: OrderId
    work: Work
