"""Notifications over Redis after commits.

The events themselves are in the database, so a lost notification only causes a delay. Scheduler and streams react
to notifications, and also poll.
"""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import redis
import structlog
from hooke.spec.protocol import BROKER_KEY

CHANNEL = "hooke.events"
"""Messages are JSON: {"position": highest event position, "wake": whether the scheduler should look}."""

_CAUSES = (
    (redis.AuthenticationError, "it refuses the password"),
    (redis.TimeoutError, "it does not answer in time"),
    (redis.ConnectionError, "it cannot be reached"),
)
log = structlog.get_logger("hooke.bus")

PAUSE_SECONDS = 5.0
"""Seconds without another attempt after a failure."""
REST_SECONDS = 0.02
"""Minimum interval between two notifications: of many commits at a time, one tells of all."""


class Bus:
    """A publisher that never raises: without Redis, notifications are dropped, with an occasional warning.

    A thread of its own sends them, so no request waits for Redis.
    """

    def __init__(self, url: str) -> None:
        self._redis = redis.Redis.from_url(url, socket_timeout=0.5, socket_connect_timeout=0.5)
        self._silent_until = 0.0
        self._complaint = ""
        """What was logged last."""
        self._refused = ""
        """Why it refused a command, as was logged last."""
        self._waiting = threading.Condition()
        self._told: tuple[int, bool] | None = None
        """Position and whether to wake schedulers, of what is not published yet."""
        self._sending: threading.Thread | None = None
        self._closed = False
        self.wake = threading.Event()
        """Set when the scheduler of this process should check the queue at once."""

    def ping(self, position: int, wake: bool = False) -> None:
        """Notify every process that events up to `position` are committed, and whether the queue has changed."""
        if wake:
            self.wake.set()
        with self._waiting:
            told = self._told or (0, False)
            self._told = (max(position, told[0]), wake or told[1])
            if self._sending is None or not self._sending.is_alive():
                self._sending = threading.Thread(target=self._send, name="notifications", daemon=True)
                self._sending.start()
            self._waiting.notify()

    def _send(self) -> None:
        """Publish what has been told until this is closed."""
        while True:
            with self._waiting:
                self._waiting.wait_for(lambda: self._told is not None or self._closed)
                told, self._told = self._told, None
            if told is None:
                return
            self._publish(*told)
            time.sleep(0 if self._closed else REST_SECONDS)

    def _publish(self, position: int, wake: bool) -> None:
        if time.monotonic() < self._silent_until:
            return
        message: dict[str, Any] = {"position": position, "wake": wake}
        try:
            self._redis.publish(CHANNEL, json.dumps(message))
        except Exception as error:  # any error: the thread must not end
            self._silent_until = time.monotonic() + PAUSE_SECONDS
            log.warning("redis does not respond: streams poll the database", error=str(error))

    def mark(self, server: str) -> bool:
        """Write which server uses this Redis, so that agents notice another one.

        Return False if it refuses that, as one without memory does, and there is nothing that agents can compare.
        """
        if time.monotonic() < self._silent_until:
            return True
        try:
            self._redis.set(BROKER_KEY, server)
            self._refused = ""  # the next time is told again
        except redis.ResponseError as error:  # it answers: notifications need no memory
            if str(error) != self._refused:
                self._refused = str(error)
                log.warning("redis refuses a command: agents cannot check their broker", error=self._refused)
            return False
        except redis.RedisError as error:
            self._silent_until = time.monotonic() + PAUSE_SECONDS
            log.warning("redis does not respond: agents cannot check their broker", error=str(error))
        return True

    def answers(self) -> str | None:
        """Return None if Redis responds, otherwise why not, in words that name no host: anybody may read them."""
        try:
            self._redis.ping()
        except redis.RedisError as error:
            if str(error) != self._complaint:
                self._complaint = str(error)
                log.warning("redis does not respond", error=self._complaint)
            return next((said for kind, said in _CAUSES if isinstance(error, kind)), "it refuses a command")
        self._complaint = ""
        return None

    def close(self) -> None:
        """Publish what was told, and close the connections."""
        with self._waiting:
            self._closed = True
            self._waiting.notify()
        if self._sending is not None:
            self._sending.join(2)
        self._redis.close()
