"""The agent's side of an order: claim it at the API, then do what the API answers.

An order on the broker says nothing that is acted upon, so it may come twice, late, or from anybody.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Any, Protocol

from pydantic import ValidationError

from hooke.cluster import calibrating, fetching, forgetting, orders
from hooke.cluster.accounts import Account
from hooke.cluster.launchers.settings import LauncherSettings
from hooke.cluster.places import Home
from hooke.cluster.retrying import repeated
from hooke.errors import HookeError
from hooke.spec.attempts import AgentProof, FailedLaunch, ForgetReport
from hooke.spec.calibrating import CalibrationReport
from hooke.spec.fetching import FetchBegin, FetchEnd, FetchStored
from hooke.spec.orders import (
    BrokerOrder,
    Calibrate,
    Cancel,
    CancelCalibration,
    ClaimedOrder,
    Fetch,
    Forget,
    Launch,
    Probe,
    Work,
)

_log = logging.getLogger(__name__)


class Api(Protocol):
    """The part of the agent's client that this needs. Methods raise httpx.HTTPError, OSError or HookeError."""

    agent: str | None
    """Identity of this agent."""

    def claim(self, order: str) -> ClaimedOrder:
        """Return what an order is about; raises Refused if there is nothing to do for this agent."""

    def proof(self, proof: AgentProof) -> None:
        """Answer a probe."""

    def failed_launch(self, failed: FailedLaunch) -> None:
        """Report attempts that could not be started."""

    def forgotten(self, report: ForgetReport) -> None:
        """Report which deleted runs have left nothing here."""

    def calibration(self, report: CalibrationReport) -> None:
        """Report the result of a calibration."""

    def fetch_begin(self, begin: FetchBegin) -> FetchStored:
        """Announce the files of a checkpoint; return what the API has of them."""

    def fetch_piece(self, fetch: str, name: str, start: int, piece: bytes) -> FetchStored:
        """Send a piece of a file; return what the API has now."""

    def fetch_end(self, end: FetchEnd) -> None:
        """Report that all was sent, or why it was not."""


class Claiming:
    """Takes the orders of the broker."""

    def __init__(
        self,
        home: Home,
        api: str,
        client: Api,
        launcher: LauncherSettings | None = None,
        account: Account | None = None,
    ) -> None:
        """`api`: where supervisors report; `launcher`: by default `local`; `account`: that of users' code."""
        self._home, self._api, self._client, self._launcher = home, api, client, launcher
        self._account = account

    def take(self, document: dict[str, Any]) -> None:
        """Claim an order of the broker and carry it out; the task of every kind of order."""
        try:
            order = BrokerOrder.model_validate(document)
        except ValidationError:  # of a version before protocol 5, or forged: what it holds is not logged
            _log.warning("a message on the broker is not an order and was ignored")
            return
        if order.agent not in (None, self._client.agent):  # this one was replaced, and could not hear of it
            _log.warning("order %s for another agent of this cluster is left to it", order.id)
            return
        claimed = claim(self._client, order.id)
        if claimed is not None:
            self._carry_out(claimed.work)

    def _carry_out(self, work: Work) -> None:
        match work:
            case Launch():
                for failed in self._launch(work):
                    _log.warning("a launch failed: %s", failed.why)
                    repeated(partial(self._client.failed_launch, failed), "the report of a failed launch")
            case Cancel():
                orders.cancel(self._home, self._api, work.run, work.attempt)
            case Probe():
                proof = orders.prove(self._home, self._api, work.run, work.attempt)
                repeated(partial(self._client.proof, proof), f"the answer to a probe of {work.run}")
            case Calibrate():
                calibrating.calibrate(
                    self._home, work.calibration, self._client, self._launcher, separated=self._account is not None
                )
            case CancelCalibration():
                calibrating.cancel(work.calibration, self._client)
            case Forget():
                report = forgetting.forget(self._home, work.runs)
                repeated(partial(self._client.forgotten, report), "the report of a removal")
            case Fetch():
                fetching.start(self._home, work.fetch, self._client)

    def _launch(self, work: Launch) -> list[FailedLaunch]:
        return orders.launch(self._home, self._api, work.attempts, self._launcher, self._account)


def claim(client: Api, order: str) -> ClaimedOrder | None:
    """Claim an order, again while the API does not answer; None if it refuses, or stays away.

    Nothing is lost by giving up: the API sends again what it still wants.
    """
    try:
        return repeated(partial(client.claim, order), f"the claim of order {order}")
    except HookeError as error:
        _log.warning("order %s is refused: %s", order, error)
        return None
