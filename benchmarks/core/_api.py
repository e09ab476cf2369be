"""A temporary API process for benchmarks."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx


@dataclass
class Api:
    """A running API: address, tokens, start-up time in s, process id, home folder."""

    url: str
    token: str
    agents: str
    seconds: float
    pid: int
    home: Path

    def resident(self) -> float:
        """Return its resident memory, MB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1000


@contextmanager
def running_api(**settings: object) -> Iterator[Api]:
    """Start an API with SQLite in a new folder and no Redis; yield it when it responds."""
    with tempfile.TemporaryDirectory(prefix="hk-") as folder:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        chosen = {"home": folder, "port": port, "redis_url": f"unix://{folder}/absent.sock", "log_level": "error"}
        kinds = ("requests", "ingest", "streams", "anonymous")
        chosen |= {f"{name}_per_minute": 10**9 for name in kinds}  # they are counted, and none is refused
        environment = os.environ | {f"HOOKE_{k.upper()}": str(v) for k, v in (chosen | settings).items()}
        url = f"http://127.0.0.1:{port}"
        began = time.perf_counter()
        with Path(folder, "api.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "hooke_api"], env=environment, stdout=log, stderr=log
            )
        try:
            seconds = _wait(url, process, began)
            secrets = [Path(folder, name).read_text().strip() for name in ("token", "agent-token")]
            yield Api(url, *secrets, seconds, process.pid, Path(folder))
        finally:
            process.terminate()
            process.wait(20)


def _wait(url: str, process: subprocess.Popen[bytes], began: float) -> float:
    while True:
        try:
            if httpx.get(f"{url}/livez").status_code == 200:
                return time.perf_counter() - began
        except httpx.TransportError:
            pass
        if process.poll() is not None or time.perf_counter() > began + 60:
            raise TimeoutError(f"{url} does not answer")
        time.sleep(0.01)
