"""Long-running processes of an installation, each started again when it ends, as systemd does."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

RESTART_SECONDS = 1.0
"""From the end of a service to its next start."""
_LOOK = 0.1
_PATIENCE = 15.0


class Service:
    """One program with its log; `user`: as whom it runs."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log: Path,
        environment: Mapping[str, str],
        user: str | None = None,
    ) -> None:
        self.name, self.command, self.log, self.user = name, list(command), log, user
        self._environment = dict(environment)
        self.process: subprocess.Popen[bytes] | None = None
        self.starts = 0
        self._lock = threading.Lock()
        self._not_before = 0.0
        self._wanted = False

    @property
    def pid(self) -> int | None:
        """Return the id of its living process."""
        return self.process.pid if self.process is not None and self.process.poll() is None else None

    def pids(self) -> list[int]:
        """Return the ids of its process and of all below it."""
        if (pid := self.pid) is None:
            return []
        with suppress(psutil.Error):
            return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
        return [pid]

    def hold(self, seconds: float) -> None:
        """Start it no earlier than in so many seconds."""
        with self._lock:
            self._not_before = time.monotonic() + seconds

    def start(self) -> None:
        """Have it run from now on."""
        self._wanted = True
        self.keep()

    def keep(self) -> None:
        """Start it if it should run and does not; called again and again."""
        with self._lock:
            if not self._wanted or self.pid is not None:
                return
            now = time.monotonic()
            if self.process is not None and self._not_before == 0.0:
                self._not_before = now + RESTART_SECONDS
            if now < self._not_before:
                return
            self._not_before = 0.0
            with self.log.open("ab") as log:
                log.write(f"--- started at {time.time():.1f}\n".encode())
                log.flush()
                self.process = subprocess.Popen(
                    self.command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=self._environment,
                    cwd="/",
                    start_new_session=True,
                    user=self.user,
                )
            self.starts += 1

    def end(self, number: int = signal.SIGTERM) -> None:
        """End it for good."""
        self._wanted = False
        pid = self.pid
        if pid is None or self.process is None:
            return
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
            os.kill(pid, number)
        try:
            self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Keeper(threading.Thread):
    """Keeps services running until it is stopped."""

    def __init__(self, services: Sequence[Service]) -> None:
        super().__init__(name="keeper", daemon=True)
        self._services = services
        self._ended = threading.Event()

    def run(self) -> None:
        """Start what has ended, again and again."""
        while not self._ended.wait(_LOOK):
            for service in self._services:
                with suppress(OSError):  # a full disk
                    service.keep()

    def stop(self) -> None:
        """Return when it has ended."""
        self._ended.set()
        self.join()
