"""The heartbeat of a cluster: registers it with the API every ten seconds."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
from pydantic import ValidationError

from hooke.catalogue import discovery as catalogue
from hooke.catalogue.items import Kind
from hooke.hardware import description
from hooke.spec.calibrating import CalibrationReport
from hooke.spec.events import AgentHello, AgentProof

EVERY = 10.0
READING = 60.0
"""Time limit for reading user files, s."""
SOON = 1.0
"""Delay after a failure, s: a cluster is online soon after its API."""

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_log = logging.getLogger(__name__)


class ApiClient:
    """The agent's client of the API. The token is read for every request, so a new one needs no restart."""

    def __init__(self, api: str, token_file: Path) -> None:
        self._base = f"{api.rstrip('/')}/api/v1/agents"
        self._token_file = token_file
        self._client = httpx.Client(timeout=5.0, trust_env=urlsplit(api).hostname not in _LOOPBACK)

    def hello(self, hello: AgentHello) -> None:
        """Send the hello. Raises httpx.HTTPError or OSError."""
        self._post("hello", hello.model_dump_json())

    def proof(self, proof: AgentProof) -> None:
        """Send the response to a probe. Raises httpx.HTTPError or OSError."""
        self._post("proof", proof.model_dump_json())

    def calibration(self, report: CalibrationReport) -> None:
        """Send the result of a calibration. Raises httpx.HTTPError or OSError."""
        self._post("calibration", report.model_dump_json())

    def _post(self, what: str, body: str) -> None:
        headers = {
            "Authorization": f"Bearer {self._token_file.read_text().strip()}",
            "Content-Type": "application/json",
        }
        response = self._client.post(f"{self._base}/{what}", content=body, headers=headers)
        response.raise_for_status()


def describe(name: str, catalogues: dict[str, Any] | None = None) -> AgentHello:
    """Return the description of this cluster; `catalogues` as returned by `discovery.everything`."""
    machine, versions = description.describe()
    cores = description.usable_cores()
    return AgentHello.model_validate(
        {
            "name": name,
            "cores": cores,
            "slots": cores,
            "launcher": "local",
            "hardware": machine,
            "versions": versions,
            **(catalogues or {}),
        }
    )


def read_catalogues() -> dict[str, Any]:
    """Return both catalogues and their problems, read in a separate process that a user's file may crash.

    If it crashes, return the built-in ones and the reason.
    """
    command = [sys.executable, "-m", "hooke.catalogue.discovery"]
    try:
        result = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=READING, check=False
        )
        if result.returncode == 0:
            return json.loads(result.stdout)  # type: ignore[no-any-return]
        why = f"status {result.returncode}: {result.stderr.strip()[-500:]}"
    except (subprocess.TimeoutExpired, OSError, ValueError) as error:
        why = str(error)
    told: dict[str, Any] = {f"{kind}s": _built_in(kind) for kind in catalogue.KINDS}
    said = f"the process that reads these files failed, so none is offered: {why}"[:2000]
    broken = {
        "kind": "algorithm",
        "name": catalogue.PATH,
        "file": os.environ.get(catalogue.PATH, ""),
        "error": said,
    }
    return told | {"problems": [broken]}


def _built_in(kind: Kind) -> list[dict[str, Any]]:
    return [item.description for item in catalogue.built_in(kind).values()]


class Heartbeat(threading.Thread):
    """Repeats the hello until stopped. The first one, and every one after a failure, includes the catalogues."""

    def __init__(self, name: str, client: ApiClient) -> None:
        super().__init__(name="heartbeat", daemon=True)
        self._cluster, self._line = name, client
        self._stopped = threading.Event()

    def run(self) -> None:
        """Send the hello every ten seconds, with the catalogues after a failure, because the API may have lost
        them.

        User files are checked each time; new or changed ones are included.
        """
        told: str | None = None
        catalogues: dict[str, Any] = {}
        complaint = ""
        while not self._stopped.is_set():
            try:
                stamp = catalogue.stamp()
                if stamp != told:
                    catalogues = read_catalogues()
                    _complain(catalogues["problems"])
                self._line.hello(describe(self._cluster, catalogues if stamp != told else None))
                if complaint:
                    _log.warning("the API answers again")
                told, complaint = stamp, ""
            except (httpx.HTTPError, OSError, ValidationError) as error:
                told = None
                if str(error) != complaint:
                    complaint = str(error)
                    _log.warning("the API rejects the hello: %s", error)
            self._stopped.wait(SOON if complaint else EVERY)

    def stop(self) -> None:
        """Request the end of the thread without waiting for it."""
        self._stopped.set()


def _complain(problems: list[dict[str, Any]]) -> None:
    for problem in problems:
        _log.warning("%s %s is not offered: %s: %s", *(problem[key] for key in ("kind", "name", "file", "error")))
