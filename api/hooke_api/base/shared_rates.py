"""Limits of requests that hold for all API processes together: buckets in Redis, from which each process draws.

A process draws one request from a bucket, then as many as it used, and at most those of a second: a busy client
costs a message to Redis now and then, a quiet one is not charged for what it does not send. What was drawn is of
use for a second. So all processes together let a client send the requests of its bucket, plus at most those that
each has drawn: for N processes less than N / 60 of the limit. The clock is that of Redis.

Nothing needs Redis: while it does not answer, every process counts by itself (`hooke_api.base.rates`).
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import redis
import redis.asyncio
import structlog

MINUTE_US = 60_000_000
SECONDS = 0.5
"""Longest time for which a request waits for Redis, and for others that wait for it, s."""
PAUSE_SECONDS = 5.0
"""Seconds without another attempt after that: no request waits meanwhile."""
SHARE = 60
"""A process draws at most one part in so many of a bucket: the requests of a second."""
DRAWN_SECONDS = 1.0
"""How long what was drawn may be used, s."""
MOST = 20_000
"""Buckets of which a process keeps what it has drawn; beyond that, the one used longest ago is forgotten."""
AWAY = (
    "redis does not respond: the limits of requests per minute count for each API process by itself, so that "
    "several processes allow as much each"
)

# The generic cell rate algorithm: the only number of a bucket is the time at which it is full again, µs. A clock
# that was set back leaves the bucket empty, not closed for hours.
_SCRIPT = """
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local each, size, wanted = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local full_at = tonumber(redis.call('GET', KEYS[1]) or now)
full_at = math.min(math.max(full_at, now), now + each * size)
local given = math.min(wanted, math.floor((now + each * size - full_at) / each))
if given > 0 then
  full_at = full_at + given * each
  redis.call('SET', KEYS[1], string.format('%.0f', full_at), 'PX', math.ceil((full_at - now) / 1000))
  return {given, 0}
end
return {0, full_at + each - now - each * size}
"""

log = structlog.get_logger("hooke.rates")


@dataclass
class _Drawn:
    """What this process has of a bucket."""

    size: int = 0
    left: int = 0
    until: float = 0.0
    """When it expires."""
    refused_until: float = 0.0
    """Before that there is nothing to draw."""

    def next(self, most: int, now: float) -> int:
        """Return how many requests to draw: twice as many as were used up in time, else as many as were used."""
        used = self.size - self.left
        return max(1, min(most, 2 * used if used == self.size and now < self.until else used))


class SharedBuckets:
    """Buckets by name, in Redis. Used by one event loop only."""

    def __init__(self, url: str, secret: str, clock: Callable[[], float] = time.monotonic) -> None:
        """`secret`: of the installation; names in Redis tell nothing of tokens and addresses without it."""
        self._redis = redis.asyncio.Redis.from_url(url, socket_timeout=SECONDS, socket_connect_timeout=SECONDS)
        self._draw_script = self._redis.register_script(_SCRIPT)
        self._secret = hashlib.sha256(f"limits of requests {secret}".encode()).digest()
        self._clock = clock
        self._drawn: OrderedDict[str, _Drawn] = OrderedDict()
        self._lock = asyncio.Lock()
        self._silent_until = 0.0
        self._away = False

    def __len__(self) -> int:
        """Return the number of buckets of which something is kept here."""
        return len(self._drawn)

    def warnings(self) -> list[str]:
        """Return a sentence while this process counts by itself."""
        return [AWAY] if self._away else []

    async def take(self, kind: str, key: str, size: int) -> float:
        """Take one of `size` requests a minute; return 0, or the seconds until there is one.

        Returns 0 also if Redis does not answer in time.
        """
        name = self._name(kind, key)
        wait = self._take_drawn(name)
        if wait is not None or self._clock() < self._silent_until:
            return wait or 0.0
        try:
            async with asyncio.timeout(SECONDS), self._lock:
                wait = self._take_drawn(name)  # another request may have drawn meanwhile
                if wait is None and self._clock() >= self._silent_until:
                    wait = await self._draw(name, size)
        except (redis.RedisError, OSError) as error:  # a time-out is an OSError
            self._note(error)
        return wait or 0.0

    async def close(self) -> None:
        """Close the connections; what else ends does not wait for one that cannot be."""
        with suppress(redis.RedisError, OSError):
            await self._redis.aclose()

    def _name(self, kind: str, key: str) -> str:
        hashed = hashlib.blake2b(f"{kind} {key}".encode(), key=self._secret, digest_size=16)
        return f"hooke.rate.{hashed.hexdigest()}"

    def _take_drawn(self, name: str) -> float | None:
        """Take from what was drawn; None: there is nothing left of it."""
        drawn, now = self._drawn.get(name), self._clock()
        if drawn is None:
            return None
        if now < drawn.refused_until:
            return drawn.refused_until - now
        if drawn.left == 0 or now >= drawn.until:
            return None
        drawn.left -= 1
        self._drawn.move_to_end(name)
        return 0.0

    async def _draw(self, name: str, size: int) -> float:
        """Draw from a bucket and take one of that; return 0, or the seconds until there is one."""
        now = self._clock()
        wanted = self._drawn.get(name, _Drawn()).next(size // SHARE, now)
        given, wait = await self._draw_script(keys=[name], args=[max(1, MINUTE_US // size), size, wanted])
        self._note(None)
        seconds = 0.0 if given else max(wait, 1000) / 1e6
        self._drawn[name] = _Drawn(given, max(0, given - 1), now + DRAWN_SECONDS, now + seconds)
        self._drawn.move_to_end(name)
        if len(self._drawn) > MOST:
            self._drawn.popitem(last=False)
        return seconds

    def _note(self, error: Exception | None) -> None:
        """Note whether Redis answers; log it once for each time that this changes."""
        if error is not None:
            self._silent_until = self._clock() + PAUSE_SECONDS
            if not self._away:
                log.warning("limits of requests count for this process alone", error=str(error) or "no answer")
        elif self._away:
            log.info("limits of requests count for all API processes again")
        self._away = error is not None
