"""A real `hooke up` or `hooke demo`, started by a test, and what /proc says is left of it."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
from hooke.cluster.places import Home
from hooke.cluster.processes import members

from tests.waiting import LIMIT, wait_for

HOOKE = str(Path(sys.executable).with_name("hooke"))
QUICK = {
    "name": "quick",
    "workload": {"name": "digits-mlp"},
    "variants": [{"name": "Sync SGD", "algorithm": "sync-sgd"}],
    "baseline": "Sync SGD",
    "clusters": [{"name": "local", "workers": [2], "seeds": 1}],
    "budget": {"samples": 4000},
    "evaluation": {"every": 1000},
    "target": {"value": 0.8},
}
"""One run of a second."""
ENDLESS = QUICK | {
    "name": "endless",
    "clusters": [{"name": "local", "workers": [{"kind": "cpu", "count": 2, "speed": 0.05}], "seeds": 2}],
    "budget": {"samples": 10**9},
    "evaluation": {"every": 10**6},
    "target": None,
}
"""Two runs that nobody waits for: slow, because they would take all cores from what is started meanwhile."""


class Running:
    """One started command with a home of its own."""

    def __init__(
        self,
        home: Path,
        *arguments: str,
        port: int | None = None,
        environment: dict[str, str] | None = None,
        database: Path | None = None,
    ) -> None:
        """`database`: a migrated one for a new home; without, the start migrates."""
        self.home = home
        home.parent.mkdir(parents=True, exist_ok=True)
        if database is not None and not home.exists():
            home.mkdir(mode=0o700)
            shutil.copy(database, home / "hooke.db")
        self.output = home.parent / f"{home.name}.out"
        ports = ["--port", str(port)] if port else []
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("HOOKE_")}
        with self.output.open("w") as file:
            self.process = subprocess.Popen(
                [HOOKE, *arguments, "--home", str(home), *ports],
                stdout=file,
                stderr=subprocess.STDOUT,
                env=inherited | (environment or {}),
                start_new_session=True,
            )

    def said(self) -> str:
        return self.output.read_text()

    def ready(self) -> httpx.Client:
        """Wait until it has said where it is; return a client of its API."""

        def address() -> re.Match[str] | None:
            assert self.process.poll() is None, self.said()
            return re.search(r"ready: (http://[^/]+)/login\?token=(\S+)", self.said())

        found = wait_for(address, lambda: f"the platform to be ready: {self.said()}")
        self.url, self.token = found[1], found[2]
        headers = {"authorization": f"Bearer {self.token}"}
        return httpx.Client(base_url=f"{self.url}/api/v1", headers=headers, timeout=LIMIT, trust_env=False)

    def end(self, number: int) -> int:
        """Send a signal; return the exit status."""
        self.process.send_signal(number)
        return self.process.wait(LIMIT)

    def stop(self) -> None:
        """End it in order, if it still runs."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def sweep(self) -> None:
        """Kill whatever a failed test has left."""
        for pid in processes(self.home):
            os.kill(pid, signal.SIGKILL)


def processes(home: Path) -> dict[int, str]:
    """Return every living process that has to do with a home: named by its arguments or its environment."""
    name = os.fsencode(home)
    runtime = os.fsencode(
        hashlib.sha256(name).hexdigest()[:12]
    )  # Redis rewrites its arguments to its socket's path
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            command = (entry / "cmdline").read_bytes()
            if name in command or runtime in command or b"HOOKE_HOME=" + name in (entry / "environ").read_bytes():
                found[int(entry.name)] = command.replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it ended, or is another user's
            continue
    attempts = members([attempt.id for attempt in Home(home).attempts()])
    return dict.fromkeys(attempts, "a process of an attempt") | found


def stored(home: Path, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query of the database that an instance has left; starting one anew takes seconds."""
    with closing(sqlite3.connect(home / "hooke.db")) as database:
        return database.execute(query).fetchall()


def submit(client: httpx.Client, document: dict[str, Any]) -> str:
    answer = client.post("/experiments", json={"schema": "hooke.experiment/1", **document})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def runs(client: httpx.Client, experiment: str) -> list[dict[str, Any]]:
    answer = client.get("/runs", params={"experiment": experiment})
    assert answer.status_code == 200, answer.text
    return list(answer.json()["items"])


def states(client: httpx.Client, experiment: str) -> list[str]:
    return [run["state"] for run in runs(client, experiment)]
