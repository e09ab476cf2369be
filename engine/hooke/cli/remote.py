"""The API as seen by commands: address, token, and problems as sentences."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, NoReturn
from urllib.parse import urlencode, urlsplit

import typer

from hooke.cli.sendable import as_json
from hooke.cli.text import plain, problem
from hooke.errors import ArgumentError, ServerAway
from hooke.spec.lost_answers import PASSING, PAUSES

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    import httpx

ApiOption = Annotated[
    str | None,
    typer.Option(
        "--api", envvar="HOOKE_API", help="Base URL of the server.", show_default="the one that runs here"
    ),
]
HomeOption = Annotated[
    Path | None,
    typer.Option("--home", envvar="HOOKE_HOME", help="Folder of the server here.", show_default="~/.hooke"),
]
WAIT_SECONDS = 30.0
TRANSFER_SECONDS = 600.0
"""Seconds in which a server answers after a file, or sends its next part."""
_LATER = (408, 425, 429)
"""Statuses below 500 that ask for the same request later (RFC 9110, 8470, 6585)."""
PATIENCE = 60.0
"""Seconds for which a request is put off, in all, because the server asks for that."""
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def in_project(project: str | None) -> str:
    """Return the query of an address for what is put into a project; empty for the default one."""
    return f"?{urlencode({'project': project})}" if project is not None else ""


class Remote:
    """An API with a token. Answers are parsed JSON, or text; all methods raise ArgumentError with a sentence.

    Where the same request may succeed later, the error is a ServerAway.
    """

    def __init__(self, base: str, token: str) -> None:
        self.base = base.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}"}

    @classmethod
    def connect(cls, api: str | None, home: Path | None) -> Remote:
        """Return the API at an address, by default that of `hooke up` with this home.

        The token is HOOKE_TOKEN, otherwise that of the server here: the file that HOOKE_TOKEN_FILE names for it,
        or `token` in the home folder. Raises ArgumentError.
        """
        place = (home or Path(os.environ.get("HOOKE_HOME") or Path.home() / ".hooke")).expanduser()
        base = api or _running(place)
        host = _host(base)
        if host is None:
            raise ArgumentError(
                f"--api {base!r} is not the address of a server, such as https://hooke.example.org"
            )
        if "HOOKE_TOKEN" not in os.environ and api and host not in _LOOPBACK and base.rstrip("/") != _noted(place):
            raise ArgumentError(
                f"the token in {_token_file(place).parent} belongs to a server on this host, not to {base}: set "
                "HOOKE_TOKEN"
            )
        token = os.environ.get("HOOKE_TOKEN") or _token(place)
        if not (token.isascii() and token.isprintable() and token):
            raise ArgumentError("the token of the server must be one line of text: see HOOKE_TOKEN")
        return cls(base, token)

    def get(self, path: str) -> Any:
        """Return the document at a path below /api/v1."""
        return self._ask("GET", path)

    def post(self, path: str, body: Any = None, *, key: str | None = None) -> Any:
        """Send a document, or nothing; return the answer.

        `key`: with which the server does it once, however often it is sent; for what changes nothing, any.
        """
        return self._ask("POST", path, body, key)

    def put(self, path: str, body: Any) -> Any:
        """Replace a document; return the answer."""
        return self._ask("PUT", path, body)

    def patch(self, path: str, body: Any) -> Any:
        """Change a part of a document; return the answer."""
        return self._ask("PATCH", path, body)

    def delete(self, path: str) -> Any:
        """Delete what is at a path; return the answer."""
        return self._ask("DELETE", path)

    def download(self, path: str, target: IO[bytes]) -> None:
        """Write the file at a path below /api/v1."""
        from hooke.cluster.http_client import httpx

        try:
            with self._stream("GET", path) as answer:
                if not answer.is_success:
                    answer.read()
                    self._refused(answer)
                for part in answer.iter_bytes():
                    target.write(part)
        except httpx.HTTPError as error:
            raise ServerAway(f"{self.base} was lost during the transfer: {error}; try again") from None

    def upload(self, path: str, source: IO[bytes]) -> Any:
        """Send a file; return the answer."""
        from hooke.cluster.http_client import httpx

        try:
            with self._stream("POST", path, content=source) as answer:
                answer.read()
        except httpx.HTTPError as error:
            raise ServerAway(f"{self.base} was lost during the transfer: {error}; try again") from None
        return answer.json() if answer.is_success else self._refused(answer)

    def _stream(self, method: str, path: str, **body: Any) -> AbstractContextManager[httpx.Response]:
        from hooke.cluster.http_client import client_options, httpx

        return httpx.stream(
            method,
            f"{self.base}/api/v1{path}",
            headers=self._headers | ({"content-type": "application/zip"} if body else {}),
            timeout=TRANSFER_SECONDS,
            **client_options(self.base),
            **body,
        )

    def _ask(self, method: str, path: str, body: Any = None, key: str | None = None) -> Any:
        answer = self._answer(method, path, body, key)
        if not answer.is_success:
            self._refused(answer)
        kind = answer.headers.get("content-type", "application/json")
        return _document(answer) if kind.startswith("application/json") else answer.text

    def _refused(self, answer: httpx.Response) -> NoReturn:
        """Raise what an answer says that is no success."""
        document = _document(answer)
        failure = ServerAway if answer.status_code >= 500 or answer.status_code in _LATER else ArgumentError
        told = f"{self.base} answered with status {answer.status_code}{_doubt(answer)}"
        raise failure(problem(document) or told)

    def _answer(self, method: str, path: str, body: Any, key: str | None) -> httpx.Response:
        """Return the answer to a request; it is sent again when the server says so, for PATIENCE seconds in all.

        After a lost answer, or a status of PASSING, only what may be done twice is: a change may have been made.
        """
        from hooke.cluster.retrying import retry_after

        repeatable = method in ("GET", "PUT") or key is not None
        left, pauses, lost = PATIENCE, iter(PAUSES if repeatable else ()), ""
        while True:
            answer: httpx.Response | None = None
            try:
                answer = self._send(method, path, body, key)
            except _Lost as error:
                lost = str(error)
            except ServerAway:
                if not lost:  # nothing was sent before
                    raise
            passing = answer is None or answer.status_code in PASSING
            later = answer is not None and (answer.status_code == 429 or (repeatable and passing))
            asked = retry_after(answer) if answer is not None and later else 0.0
            more = next(pauses, None) if passing and not asked else None
            pause = asked if 0 < asked <= left else more
            if pause is None and answer is not None:
                return answer
            if pause is None:
                raise ServerAway(lost)
            left -= asked
            time.sleep(pause)

    def _send(self, method: str, path: str, body: Any, key: str | None) -> httpx.Response:
        """Send a request once. Raises ServerAway, and _Lost if it may have been heard."""
        from hooke.cluster.http_client import client_options, httpx

        content = as_json(body)
        kind = {"Content-Type": "application/json"} if content else {}
        doubt = "" if method == "GET" else "; the change may have been made: look before you try again"
        try:
            return httpx.request(
                method,
                f"{self.base}/api/v1{path}",
                content=content,
                headers=self._headers | kind | ({"Idempotency-Key": key} if key else {}),
                timeout=WAIT_SECONDS,
                **client_options(self.base),
            )
        except (httpx.ReadTimeout, httpx.WriteTimeout):
            raise ServerAway(f"{self.base} has not answered for {WAIT_SECONDS:.0f} s{doubt}") from None
        except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError) as error:
            raise _Lost(f"{self.base} was lost before it answered: {error}{doubt}") from None
        except httpx.HTTPError as error:
            why = f"{error}; check that it is running and that --api is right"
            raise ServerAway(f"{self.base} cannot be reached: {why}") from None


class _Lost(Exception):
    """The connection ended before the answer came."""


def _doubt(answer: httpx.Response) -> str:
    """Return what follows from a status of a proxy for a change."""
    unknown = answer.status_code in PASSING and answer.request.method != "GET"
    return ": the change may have been made; look before you try again" if unknown else ""


def _document(answer: httpx.Response) -> Any:
    """Return the JSON of an answer; None if it has none."""
    try:
        return answer.json() if answer.content else None
    except ValueError:
        return None


def tell(name: str, command: Callable[[Remote], str], api: str | None, home: Path | None) -> None:
    """Print what a command returns, or the reason why it failed, with exit status 1."""
    try:
        print(plain(command(Remote.connect(api, home))))
    except ArgumentError as error:
        typer.echo(f"hooke {name}: {plain(str(error))}", err=True)
        raise typer.Exit(1) from None


def write_secret(out: Path, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Write the `token` of what is made into a new file that only its owner can read; return what was made.

    The file is created first, because a token is told only once. Raises ArgumentError.
    """
    try:
        descriptor = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise ArgumentError(f"--out {out}: {error.strerror}") from None
    with os.fdopen(descriptor, "w") as file:
        try:
            made = make()
        except ArgumentError:
            out.unlink()
            raise
        file.write(made["token"] + "\n")
    return made


def _host(base: str) -> str | None:
    """Return the host of an HTTP address, or None if it is none."""
    try:
        parts = urlsplit(base)
        return parts.hostname if parts.scheme in ("http", "https") and parts.port != 0 else None
    except ValueError:
        return None


def _noted(home: Path) -> str:
    """Return the address of the latest server with this home folder; empty if there was none."""
    try:
        url = json.loads((home / "up.json").read_text())["url"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return url if isinstance(url, str) else ""


def _running(home: Path) -> str:
    url = _noted(home)
    if not url:
        raise ArgumentError(
            f"no server has run with the folder {home}: start one with `hooke up`, or give --api, or --home "
            "(that of `make up` is .hooke in the clone)"
        )
    return url


def _token_file(home: Path) -> Path:
    return Path(os.environ.get("HOOKE_TOKEN_FILE") or home / "token")


def _token(home: Path) -> str:
    path = _token_file(home)
    try:
        return path.read_text().strip()
    except PermissionError:
        raise ArgumentError(f"only the server's account and root can read {path}: set HOOKE_TOKEN") from None
    except (OSError, UnicodeDecodeError):
        raise ArgumentError(f"there is no token in {path}: set HOOKE_TOKEN, or give --home") from None
