"""Delivers one attempt's records, logs and reports to the API, once per second, until all is acknowledged."""

from __future__ import annotations

import asyncio
import gzip
import random
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from hooke.cluster.accounts import own
from hooke.cluster.attempt import SupervisedAttempt
from hooke.cluster.http_client import Hooks, check, client_options, httpx, mark
from hooke.cluster.job import Timing
from hooke.cluster.places import described
from hooke.cluster.retrying import retry_after
from hooke.spec.events import Ingest, IngestAnswer


def make_client(api: str) -> httpx.AsyncClient:
    """Return an HTTP client for this API."""

    async def marking(request: httpx.Request) -> None:
        mark(request)

    async def checking(response: httpx.Response) -> None:
        check(response)

    hooks: Hooks = {"request": [marking], "response": [checking]}
    return httpx.AsyncClient(timeout=httpx.Timeout(10.0, connect=3.0), event_hooks=hooks, **client_options(api))


class Refused(Exception):
    """The API's response was not an IngestAnswer."""

    def __init__(self, why: str, retry_after: float = 0.0) -> None:
        """`retry_after`: seconds that the API asks to be left alone."""
        super().__init__(why)
        self.retry_after = retry_after


@dataclass
class Tokens:
    """The token of an attempt, and where another one is offered in its place."""

    present: str
    offered: Callable[[], str | None] = lambda: None
    """Returns the token of a later claim, if there was one."""
    adopted: Callable[[str], None] = lambda _: None
    """Is told that one was accepted, after the present one was refused."""


class Delivery:
    """Delivers one attempt until the API has acknowledged all of it. Training never waits for it."""

    def __init__(
        self, attempt: SupervisedAttempt, api: str, tokens: Tokens, timing: Timing, client: httpx.AsyncClient
    ) -> None:
        self._attempt, self._timing, self._client, self._tokens = attempt, timing, client, tokens
        self._url = f"{api.rstrip('/')}/api/v1/ingest"
        self._asked_to_wait = 0.0
        self._failures = 0
        self._complaint = ""

    async def run(self) -> bool:
        """Return True once everything is delivered, False after giving up."""
        give_up: float | None = None
        while True:
            self._attempt.news.clear()
            ended = (
                self._attempt.ended
            )  # read before the request, so that the request covers everything up to the end
            arrived = await self._send()
            if arrived and ended and self._complete():
                self._attempt.delivered = True
                self._mark(self._attempt.folder.delivered)
                return True
            if ended and give_up is None:
                give_up = time.monotonic() + self._timing.give_up
            if give_up is not None and time.monotonic() > give_up:
                self._complain("gave up; the next start of the agent tries again")
                return False
            await self._pause()

    def _complete(self) -> bool:
        with suppress(OSError):  # of a journal's disk: it is read again
            return self._attempt.shipper.complete(self._attempt.reports)
        return False

    async def _pause(self) -> None:
        if self._failures:
            await asyncio.sleep(self._retry_delay())
        elif not self._attempt.shipper.behind():
            waiting = not (self._attempt.witness.started or self._attempt.ended)
            delay = self._timing.idle_beat if waiting else self._timing.beat
            try:
                await asyncio.wait_for(self._attempt.news.wait(), delay)
            except TimeoutError:
                return

    def _retry_delay(self) -> float:
        delay = min(self._timing.longest_retry, self._timing.beat * float(1 << min(self._failures - 1, 16)))
        delay *= random.uniform(0.5, 1.0)  # noqa: S311 - so that attempts do not return all at once
        asked = min(self._asked_to_wait, 0.75 * self._timing.longest_retry)
        return max(delay, asked * random.uniform(1.0, 4 / 3))  # noqa: S311

    async def _send(self) -> bool:
        try:
            request = self._attempt.shipper.request(self._attempt.reports, renew=not self._attempt.ended)
            answer = await self._post(request)
        except (httpx.HTTPError, httpx.InvalidURL, Refused, OSError) as error:  # the last one: of a journal's disk
            self._failures += 1
            self._asked_to_wait = error.retry_after if isinstance(error, Refused) else 0.0
            self._complain(f"{type(error).__name__}: {error}")
            return False
        if self._failures:
            self._complain(f"reached again after {self._failures} failures")
            self._failures = 0
        self._apply(answer)
        return True

    async def _post(self, request: Ingest) -> IngestAnswer:
        body = gzip.compress(request.model_dump_json().encode(), compresslevel=1)
        response = await self._sent(body, self._tokens.present)
        if response.status_code == httpx.codes.UNAUTHORIZED:
            other = self._tokens.offered()
            if other is not None and other != self._tokens.present:
                response = await self._sent(body, other)
                if response.status_code == httpx.codes.OK:
                    self._tokens.present = other
                    self._tokens.adopted(other)
        if response.status_code == httpx.codes.REQUEST_ENTITY_TOO_LARGE:
            self._attempt.shipper.too_large()
        if response.status_code != httpx.codes.OK:
            raise Refused(f"status {response.status_code}: {response.text[:500]}", retry_after(response))
        try:
            return IngestAnswer.model_validate_json(response.content)
        except ValidationError as error:
            raise Refused(
                f"not an answer to ingest ({error.error_count()} faults): {response.text[:200]}"
            ) from None

    async def _sent(self, body: bytes, token: str) -> httpx.Response:
        headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        return await self._client.post(
            self._url, content=body, headers=headers | {"Authorization": f"Bearer {token}"}
        )

    def _apply(self, answer: IngestAnswer) -> None:
        self._attempt.shipper.apply(answer)
        self._attempt.fenced |= answer.fenced
        self._attempt.checkpoints = max(self._attempt.checkpoints, answer.checkpoints)
        if (answer.cancel or answer.fenced) and not self._attempt.ended and not self._attempt.cancelled:
            self._attempt.cancel_asked = True
            self._mark(self._attempt.folder.cancel)

    def _mark(self, marker: Path) -> None:
        """Write a marker for a later supervisor. Without space, or without its folder, this one knows it alone."""
        try:
            with own():
                marker.touch()
        except OSError as error:
            self._complain(f"the marker `{marker.name}` is not written: {described(error)}")

    def _complain(self, text: str) -> None:
        if text != self._complaint:  # once per reason: an API that is down for days must not fill the disk
            self._complaint = text
            now = time.strftime("%Y-%m-%d %H:%M:%S")
            with suppress(OSError):  # a full disk
                sys.stderr.write(f"{now} {self._attempt.folder.id}: {self._url}: {text}\n")
                sys.stderr.flush()
