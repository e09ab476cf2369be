"""Says to the API, every ten seconds, that this cluster is there."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from hooke import algorithm, hardware, workload
from hooke.events import AgentHello, AgentProof, Described

EVERY = 10.0
SOON = 1.0
"""After a failure, so that a cluster is online as soon as its API is."""

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_log = logging.getLogger(__name__)


class Line:
    """The agent's own line to the API; the token is read each time, so a new one needs no restart."""

    def __init__(self, api: str, token_file: Path) -> None:
        self._base = f"{api.rstrip('/')}/api/v1/agents"
        self._token_file = token_file
        self._client = httpx.Client(timeout=5.0, trust_env=urlsplit(api).hostname not in _LOOPBACK)

    def hello(self, hello: AgentHello) -> None:
        """Say hello; raises httpx.HTTPError or OSError where that fails."""
        self._post("hello", hello.model_dump_json())

    def proof(self, proof: AgentProof) -> None:
        """Answer a probe; raises httpx.HTTPError or OSError where that fails."""
        self._post("proof", proof.model_dump_json())

    def _post(self, what: str, body: str) -> None:
        headers = {
            "Authorization": f"Bearer {self._token_file.read_text().strip()}",
            "Content-Type": "application/json",
        }
        response = self._client.post(f"{self._base}/{what}", content=body, headers=headers)
        response.raise_for_status()


def describe(name: str, *, catalogues: bool) -> AgentHello:
    """Return what there is to say of this cluster."""
    machine, versions = hardware.describe()
    cores = hardware.usable_cores()
    return AgentHello(
        name=name,
        cores=cores,
        slots=cores,
        launcher="local",
        hardware=machine,
        versions=versions,
        algorithms=[Described(**entry) for entry in algorithm.describe()] if catalogues else None,
        workloads=[Described(**entry) for entry in workload.describe()] if catalogues else None,
    )


class Herald(threading.Thread):
    """Repeats the hello until stopped; with the catalogues first, and again after each failure."""

    def __init__(self, name: str, line: Line) -> None:
        super().__init__(name="herald", daemon=True)
        self._cluster, self._line = name, line
        self._stopped = threading.Event()

    def run(self) -> None:
        """Say hello every ten seconds; an API that was away may have forgotten us, so tell it all again."""
        catalogues, complaint = True, ""
        while not self._stopped.is_set():
            try:
                self._line.hello(describe(self._cluster, catalogues=catalogues))
                if complaint:
                    _log.warning("the API answers again")
                catalogues, complaint = False, ""
            except (httpx.HTTPError, OSError) as error:
                catalogues = True
                if str(error) != complaint:
                    complaint = str(error)
                    _log.warning("the API does not take our hello: %s", error)
            self._stopped.wait(SOON if complaint else EVERY)

    def stop(self) -> None:
        """End soon; does not wait."""
        self._stopped.set()
