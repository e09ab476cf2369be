"""Hints over Redis: after a commit, say that there is something new.

The database is the truth; a lost hint only costs time. The scheduler listens for hints to look at once,
streams to send at once; both also look by themselves.
"""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import redis
import structlog

CHANNEL = "hooke.events"
"""Messages are JSON: {"position": highest event position, "wake": whether the scheduler should look}."""

log = structlog.get_logger("hooke.bus")

PAUSE_SECONDS = 5.0
"""Seconds without another try after a failure: a request must not wait for a Redis that is down."""


class Bus:
    """A publisher that never fails: when Redis is down, pings are dropped and said so once in a while."""

    def __init__(self, url: str) -> None:
        self._redis = redis.Redis.from_url(url, socket_timeout=0.5, socket_connect_timeout=0.5)
        self._silent_until = 0.0
        self.wake = threading.Event()
        """Set when the scheduler of this process should look at the queue now."""

    def ping(self, position: int, wake: bool = False) -> None:
        """Tell every process that events up to `position` are committed, and whether the queue changed."""
        if wake:
            self.wake.set()
        if time.monotonic() < self._silent_until:
            return
        message: dict[str, Any] = {"position": position, "wake": wake}
        try:
            self._redis.publish(CHANNEL, json.dumps(message))
        except redis.RedisError as error:
            self._silent_until = time.monotonic() + PAUSE_SECONDS
            log.warning("redis does not answer: streams go on by looking themselves", error=str(error))

    def answers(self) -> str | None:
        """Return null where Redis answers, else why not."""
        try:
            self._redis.ping()
        except redis.RedisError as error:
            return str(error)
        return None

    def close(self) -> None:
        """Close the connections."""
        self._redis.close()
