"""A client of a running Hooke's HTTP API, for commands."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import httpx

from hooke.errors import HookeError

WAIT_SECONDS = 30.0


class RemoteError(HookeError):
    """A request that was not answered or was refused; the message says where, why and what to do."""


class Remote:
    """Requests to the API below /api/v1; answers are parsed JSON, or text of other types."""

    def __init__(self, url: str, token: str) -> None:
        self.url = url.rstrip("/")
        self._headers = {"authorization": f"Bearer {token}"}

    @classmethod
    def connect(cls, api: str | None, home: Path | None) -> Remote:
        """Return a client of the API at an address: `api`, HOOKE_API, or that of the instance of a home folder.

        The token is HOOKE_TOKEN or the file `token` of the home folder. Raises RemoteError without either.
        """
        home = home or Path.home() / ".hooke"
        url = api or os.environ.get("HOOKE_API") or _noted(home / "up.json")
        token = os.environ.get("HOOKE_TOKEN") or _read(home / "token")
        if not url:
            raise RemoteError(
                f"no address of an API: give --api or HOOKE_API, or start one with `hooke up` ({home})"
            )
        if not token:
            raise RemoteError(f"no token: set HOOKE_TOKEN, or give the --home that has the file `token` ({home})")
        return cls(url, token)

    def get(self, path: str) -> Any:
        """Return the answer to GET. Raises RemoteError."""
        return self._ask("GET", path, None)

    def post(self, path: str, json: Any) -> Any:
        """Return the answer to POST. Raises RemoteError."""
        return self._ask("POST", path, json)

    def put(self, path: str, json: Any) -> Any:
        """Return the answer to PUT. Raises RemoteError."""
        return self._ask("PUT", path, json)

    def delete(self, path: str) -> Any:
        """Return the answer to DELETE. Raises RemoteError."""
        return self._ask("DELETE", path, None)

    def _ask(self, method: str, path: str, body: Any) -> Any:
        try:
            answer = httpx.request(
                method, f"{self.url}/api/v1{path}", json=body, headers=self._headers, timeout=WAIT_SECONDS
            )
        except httpx.HTTPError as error:
            raise RemoteError(
                f"{self.url} does not answer ({error}): is it up, and is the address right?"
            ) from error
        if answer.is_success:
            kind = answer.headers.get("content-type", "")
            return answer.json() if kind.startswith("application/json") else answer.text
        raise RemoteError(f"{method} {path}: {_reason(answer)}")


def _reason(answer: httpx.Response) -> str:
    try:
        problem = answer.json()
        faults = "".join(f"\n  {each['pointer'] or '/'}: {each['message']}" for each in problem.get("errors", []))
        return f"{problem['detail']}{faults}"
    except (ValueError, KeyError, TypeError):
        return f"status {answer.status_code}"


def _noted(path: Path) -> str:
    try:
        return str(json.loads(path.read_text())["url"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
