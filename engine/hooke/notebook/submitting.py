"""Sends the experiment of a comparison to a server."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlsplit

from hooke.errors import ArgumentError
from hooke.spec.specification import ExperimentSpec

WAIT_SECONDS = 30.0


def submit(spec: ExperimentSpec, url: str, token: str, cluster: str) -> str:
    """Create the experiment; return the address of its page. Raises ArgumentError with all faults."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ArgumentError(f"`url` is the address of a Hooke server, such as http://127.0.0.1:7450, not {url!r}")
    base = f"{parts.scheme}://{parts.netloc}"
    document = spec.model_dump(mode="json", by_alias=True)
    for place in document["clusters"]:
        place["computed_on" if place["virtual"] else "name"] = cluster
    request = urllib.request.Request(  # noqa: S310 - the scheme has been checked
        f"{base}/api/v1/experiments",
        data=json.dumps(document).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        method="POST",
    )
    try:
        with urllib.request.urlopen(request, timeout=WAIT_SECONDS) as answer:  # noqa: S310 - as above
            created = json.load(answer)
    except urllib.error.HTTPError as error:
        raise ArgumentError(_refused(error, spec, cluster)) from None
    except OSError as error:
        raise ArgumentError(f"`url`: {base} cannot be reached: {error}") from None
    return f"{base}/experiments/{created['id']}"


def _refused(error: urllib.error.HTTPError, spec: ExperimentSpec, cluster: str) -> str:
    """Return what the server refuses, in its words, and what to do about a workload that it lacks."""
    try:
        problem: dict[str, Any] = json.load(error)
    except ValueError:
        problem = {}
    faults = problem.get("errors", [])
    said = "; ".join(f"{fault['pointer'] or '/'}: {fault['message']}" for fault in faults)
    told = said or problem.get("detail") or f"status {error.code}"
    if any(fault["pointer"].startswith("/workload") for fault in faults):
        name = spec.workload.name
        told += (
            f". Write model(), data() and loss() to a file {name.replace('-', '_')}.py, in the subfolder "
            f"`workloads` of a folder that HOOKE_PATH names on the cluster {cluster} (docs/workloads.md)"
        )
    return f"the server refused the experiment: {told}"
