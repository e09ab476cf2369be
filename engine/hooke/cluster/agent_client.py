"""The agent's client of the API."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlencode

from hooke.cluster.agent_token import AgentToken
from hooke.cluster.http_client import Hooks, check, client_options, httpx, mark
from hooke.errors import HookeError
from hooke.spec.attempts import AgentProof, FailedLaunch, ForgetReport
from hooke.spec.calibrating import CalibrationReport
from hooke.spec.events import AgentHello
from hooke.spec.fetching import FetchBegin, FetchEnd, FetchStored
from hooke.spec.orders import ClaimedOrder, OrderClaim
from hooke.spec.protocol import CLOCK, RENEW, AgentWelcome, RenewedToken

SECONDS = 5.0
"""Time limit for a message, s."""
PIECE_SECONDS = 60.0
"""Time limit for a piece of a file, s: 4 MiB over a slow line."""
CHECK_SECONDS = 600.0
"""Time limit for the end of a checkpoint, s: the API reads all of it again."""
NO_CONTENT = 204
UNAUTHORIZED = 401
REFUSALS = frozenset({401, 403, 404, 409, 410, 422})
"""Status codes with which the API refuses an agent; all others are failures that may pass."""


class Refused(HookeError):
    """The API answers, but does not accept this agent; the message is the server's."""


class ApiClient:
    """The agent's client of the API. The token is read for every request, so a new one needs no restart."""

    def __init__(self, api: str, token_file: Path, agent: str | None = None, home: Path | None = None) -> None:
        """`agent`: the identity with which it proves deaths. `home`: its folder; None: no token is renewed."""
        self._base = f"{api.rstrip('/')}/api/v1/agents"
        self.agent = agent
        self._token = AgentToken(token_file, home)
        self.renewal_due = False
        """Whether the answer to the latest hello asks for another token."""
        hooks: Hooks = {"request": [mark], "response": [check]}
        self._client = httpx.Client(timeout=SECONDS, event_hooks=hooks, **client_options(api))

    def hello(self, hello: AgentHello) -> AgentWelcome:
        """Send the hello; return the answer. Raises Refused, ArgumentError (the token) or httpx.HTTPError."""
        answer = self._post("hello", hello.model_dump_json())
        self.renewal_due = RENEW in answer.headers and self._token.may_be_renewed
        if answer.status_code == NO_CONTENT:  # an API of protocol 1
            return AgentWelcome(protocol=1, oldest=1, version="0.1")
        return AgentWelcome.model_validate_json(answer.content)

    def renew_token(self) -> None:
        """Get another token in place of the present one, and use it. Raises Refused, httpx.HTTPError or OSError.

        The present one is valid until the other one is used, so that an answer may be lost.
        """
        answer = self._post("token", "{}")
        self._token.renew(RenewedToken.model_validate_json(answer.content).token)
        self.renewal_due = False

    def claim(self, order: str) -> ClaimedOrder:
        """Return what an order is about. Raises Refused, httpx.HTTPError, OSError or ValidationError."""
        asked = OrderClaim(order=order, agent=self.agent)
        return ClaimedOrder.model_validate_json(self._post("claim", asked.model_dump_json()).content)

    def proof(self, proof: AgentProof) -> None:
        """Send the response to a probe. Raises Refused, httpx.HTTPError or OSError."""
        self._post("proof", proof.model_copy(update={"agent": self.agent}).model_dump_json())

    def failed_launch(self, failed: FailedLaunch) -> None:
        """Report attempts that could not be started. Raises Refused, httpx.HTTPError or OSError."""
        self._post("failed-launch", failed.model_copy(update={"agent": self.agent}).model_dump_json())

    def forgotten(self, report: ForgetReport) -> None:
        """Report which deleted runs have left nothing here. Raises Refused, httpx.HTTPError or OSError."""
        self._post("forgotten", report.model_copy(update={"agent": self.agent}).model_dump_json())

    def calibration(self, report: CalibrationReport) -> None:
        """Send the result of a calibration. Raises Refused, httpx.HTTPError or OSError."""
        self._post("calibration", report.model_dump_json())

    def fetch_begin(self, begin: FetchBegin) -> FetchStored:
        """Announce the files of a checkpoint; return what the API has of them.

        Raises Refused, httpx.HTTPError or OSError.
        """
        body = begin.model_copy(update={"agent": self.agent}).model_dump_json()
        return FetchStored.model_validate_json(self._post("fetch-begin", body).content)

    def fetch_piece(self, fetch: str, name: str, start: int, piece: bytes) -> FetchStored:
        """Send a piece of a file; return what the API has now. Raises as `fetch_begin`."""
        asked = {"fetch": fetch, "name": name, "start": f"{start}", "agent": self.agent or ""}
        # an iterator lets go of the piece: requests and answers of httpx are cycles, which are collected late
        length = {"Content-Type": "application/octet-stream", "Content-Length": f"{len(piece)}"}
        answer = self._post(f"fetch-piece?{urlencode(asked)}", iter([piece]), PIECE_SECONDS, length)
        return FetchStored.model_validate_json(answer.content)

    def fetch_end(self, end: FetchEnd) -> None:
        """Report that all pieces were sent, or why not. Raises as `fetch_begin`."""
        self._post("fetch-end", end.model_copy(update={"agent": self.agent}).model_dump_json(), CHECK_SECONDS)

    def close(self) -> None:
        """Close its connections."""
        self._client.close()

    def _post(
        self,
        what: str,
        body: str | Iterator[bytes],
        seconds: float = SECONDS,
        more: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        response = self._send(self._token.read(), what, body, seconds, more or {})
        if response.status_code == UNAUTHORIZED and isinstance(body, str) and (former := self._token.former()):
            again = self._send(former, what, body, seconds, more or {})
            if again.is_success:  # the server was restored, and does not know that the token was renewed
                self._token.go_back()
                response = again
        if response.status_code in REFUSALS:
            raise Refused(_detail(response))
        return response.raise_for_status()

    def _send(
        self, token: str, what: str, body: str | Iterator[bytes], seconds: float, more: Mapping[str, str]
    ) -> httpx.Response:
        headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            CLOCK: f"{time.time():.3f}",  # measured and shown by the server, not believed
            **more,
        }
        return self._client.post(f"{self._base}/{what}", content=body, headers=headers, timeout=seconds)


def _detail(response: httpx.Response) -> str:
    """Return the reason in the server's words (RFC 9457), with the faults of the document."""
    try:
        told = response.json()
        faults = "".join(f"; {fault['pointer']}: {fault['message']}" for fault in told["errors"])
        return f"{told['detail']}{faults}"
    except (ValueError, KeyError, TypeError):
        return f"status {response.status_code}, but not the answer of a Hooke server: check --api"
