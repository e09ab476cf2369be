"""Latency of an event from its commit to a browser: `python -m benchmarks.core.stream`.

A real API process and a private Redis; this process commits events as ingest does and reads the streams.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
from hooke_api.events.bus import Bus
from hooke_api.local.parts import redis_server
from hooke_api.storage.database import Database
from hooke_api.storage.outbox import announce

TOKEN = "benchmark-" + "0" * 32
EVENTS, GAP_SECONDS = 60, 0.05

Result = tuple[str, float, str, float | None]
"""Name, value, unit, and the most it may be."""


class Reader(threading.Thread):
    """One open stream; records the arrival time of each event."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self.url = url
        self.arrived: dict[int, float] = {}
        self.open = threading.Event()

    def run(self) -> None:
        with httpx.stream("GET", self.url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=None) as answer:
            position = 0
            for line in answer.iter_lines():
                self.open.set()
                if line.startswith("id: "):
                    position = int(line[4:])
                    self.arrived.setdefault(position, time.perf_counter())


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for(url: str) -> None:
    for _ in range(600):
        try:
            if httpx.get(url).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    raise TimeoutError(f"{url} does not answer")


def delays(database: Database, url: str, streams: int) -> np.ndarray:
    """Return ms from the beginning of each event's transaction to its arrival at each stream."""
    readers = [Reader(url) for _ in range(streams)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.open.wait(30)
    begun = {}
    for n in range(EVENTS):
        begun[n] = time.perf_counter()
        with database.write() as session:
            announce(session, "run", {"id": f"run_{n}", "experiment_id": "e", "state": "running", "attempt": 1})
        time.sleep(GAP_SECONDS)
    time.sleep(1)
    found = []
    for reader in readers:
        ids = sorted(reader.arrived)[-EVENTS:]
        assert len(ids) == EVENTS, f"{len(ids)} of {EVENTS} events arrived"
        found += [reader.arrived[position] - begun[n] for n, position in enumerate(ids)]
    return 1e3 * np.array(found)


def measure() -> Iterator[Result]:
    """Yield delays with one stream and with many."""
    with tempfile.TemporaryDirectory(prefix="hk-") as folder:
        redis_socket, port = Path(folder) / "redis.sock", free_port()
        redis = subprocess.Popen(
            [redis_server(), "--port", "0", "--unixsocket", str(redis_socket), "--save", ""],
            stdout=subprocess.DEVNULL,
            cwd=folder,
        )
        environment = os.environ | {"HOOKE_HOME": folder, "HOOKE_PORT": str(port), "HOOKE_TOKEN": TOKEN}
        environment |= {"HOOKE_REDIS_URL": f"unix://{redis_socket}", "HOOKE_LOG_LEVEL": "warning"}
        api = subprocess.Popen([sys.executable, "-m", "hooke_api"], env=environment)
        try:
            wait_for(f"http://127.0.0.1:{port}/livez")
            database = Database(f"sqlite:///{folder}/hooke.db", committed=Bus(f"unix://{redis_socket}").ping)
            for streams in (1, 50):
                found = delays(database, f"http://127.0.0.1:{port}/api/v1/events", streams)
                name = f"event to {streams} stream{'s' if streams > 1 else ''}"
                yield f"{name}, median", float(np.median(found)), "ms", None
                yield f"{name}, 99 of 100", float(np.percentile(found, 99)), "ms", 500.0
            began = time.perf_counter()
            api.terminate()
            api.wait(30)
            yield "end of the API with 51 open streams", 1e3 * (time.perf_counter() - began), "ms", 2000.0
        finally:
            for process in (api, redis):
                process.kill()
                process.wait()


def main() -> None:
    """Print every figure beside its budget."""
    for name, value, unit, most in measure():
        print(f"{name:<60} {value:10.1f} {unit}" + (f"   (budget {most:g})" if most else ""), flush=True)


if __name__ == "__main__":
    main()
