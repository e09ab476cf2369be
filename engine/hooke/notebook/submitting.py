"""Sends the experiment of a comparison to a server."""

from __future__ import annotations

import json
import secrets
import time
import urllib.error
import urllib.request
from http.client import HTTPException, IncompleteRead
from typing import Any
from urllib.parse import urlsplit

from hooke.errors import ArgumentError
from hooke.spec.lost_answers import PASSING, PAUSES
from hooke.spec.specification import ExperimentSpec

WAIT_SECONDS = 30.0


def submit(spec: ExperimentSpec, url: str, token: str, cluster: str) -> str:
    """Create the experiment; return the address of its page. Raises ArgumentError with all faults."""
    base, bearer = _base(url), token.strip() if isinstance(token, str) else ""
    if not (bearer.isascii() and bearer.isprintable() and bearer):
        raise ArgumentError("`token` is the one line of text that `hooke up` prints")
    document = spec.model_dump(mode="json", by_alias=True)
    for place in document["clusters"]:
        place["computed_on" if place["virtual"] else "name"] = cluster
    headers = {"Authorization": f"Bearer {bearer}", "Content-Type": "application/json"}
    headers["Idempotency-Key"] = secrets.token_urlsafe(16)  # sent again, it makes no second experiment
    request = urllib.request.Request(  # noqa: S310 - the scheme has been checked
        f"{base}/api/v1/experiments", data=json.dumps(document).encode(), headers=headers, method="POST"
    )
    try:
        created = _sent(request)
    except urllib.error.HTTPError as error:
        if 300 <= error.code <= 399:  # noqa: PLR2004 - the codes of redirects
            raise ArgumentError(f"`url`: {base} leads on to {error.headers['Location']}: give that one") from None
        raise ArgumentError(_refused(error, spec, cluster)) from None
    except (OSError, HTTPException) as error:
        raise ArgumentError(f"`url`: {base} cannot be reached: {error}") from None
    if not isinstance(created.get("id"), str):
        raise ArgumentError(f"`url`: the answer of {base} is not that of a Hooke server")
    return f"{base}/experiments/{created['id']}"


def _sent(request: urllib.request.Request) -> dict[str, Any]:
    """Return the answer to a request; sent again where it was lost, or a proxy says that its server is gone."""
    lost = False
    for pause in PAUSES:
        try:
            with _opener().open(request, timeout=WAIT_SECONDS) as answer:
                return _mapping(answer)
        except urllib.error.HTTPError as error:
            if error.code not in PASSING:
                raise
        except urllib.error.URLError as error:
            if not lost and not isinstance(error.reason, ConnectionResetError | BrokenPipeError):
                raise
            lost = True
        except (ConnectionResetError, IncompleteRead):
            lost = True
        time.sleep(pause)
    with _opener().open(request, timeout=WAIT_SECONDS) as answer:
        return _mapping(answer)


def _opener() -> urllib.request.OpenerDirector:
    """Return what follows no redirect: it would ask by GET, and take the token along to wherever it leads."""

    class Stays(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None

    return urllib.request.build_opener(Stays)


def _base(url: object) -> str:
    """Return scheme, host and port of an address."""
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        if parts and parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return f"{parts.scheme}://{parts.netloc}"
    except ValueError:  # a port that is none, half of an IPv6 address
        pass
    raise ArgumentError(f"`url` is the address of a Hooke server, such as http://127.0.0.1:7450, not {url!r}")


def _mapping(answer: Any) -> dict[str, Any]:
    """Return the JSON object of an answer; anything else as an empty one."""
    try:
        found = json.load(answer)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _refused(error: urllib.error.HTTPError, spec: ExperimentSpec, cluster: str) -> str:
    """Return what the server refuses, in its words, and what to do about a workload that it lacks."""
    problem = _mapping(error)
    listed = problem.get("errors")
    faults = [fault for fault in listed if isinstance(fault, dict)] if isinstance(listed, list) else []
    pairs = [(str(fault.get("pointer") or "/"), str(fault.get("message"))) for fault in faults]
    said = "; ".join(f"{pointer}: {message}" for pointer, message in pairs)
    told = str(said or problem.get("detail") or f"status {error.code}")
    if any(pointer.startswith("/workload") for pointer, _ in pairs):
        name = spec.workload.name
        told += (
            f". Write model(), data() and loss() to a file {name.replace('-', '_')}.py, in the subfolder "
            f"`workloads` of a folder that HOOKE_PATH names on the cluster {cluster} (docs/workloads.md)"
        )
    return f"the server refused the experiment: {told}"
