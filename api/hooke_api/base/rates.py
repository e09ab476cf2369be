"""Limits of requests per minute: of each token or session, and of each address (IPv6: /64) without a valid one.

Each is a bucket that holds the requests of one minute and fills up at that rate, so a pause earns a burst. With
PostgreSQL, where there may be several API processes, they share buckets in Redis (`hooke_api.base.shared_rates`).
Every process has its own as well, which count alone while Redis does not answer.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from fastapi import Request

from hooke_api.base.access import address_of, network_of
from hooke_api.base.errors import TooMany
from hooke_api.base.security import API
from hooke_api.base.settings import Settings

if TYPE_CHECKING:
    from hooke_api.base.shared_rates import SharedBuckets

MINUTE = 60.0
MOST = 20_000
"""Buckets of a kind that are kept; beyond that, the one used longest ago is forgotten, and begins full."""


class Buckets:
    """Buckets of one size, by key (the generic cell rate algorithm: one number for each)."""

    def __init__(self, size: int, counted: str, clock: Callable[[], float]) -> None:
        """`size`: requests per minute, 0: no limit; `counted`: what they are, for the sentence."""
        self.size, self.counted, self._clock = size, counted, clock
        self._full_at: OrderedDict[str, float] = OrderedDict()
        """Key -> when its bucket is full again; without an entry it is."""

    def __len__(self) -> int:
        """Return the number of buckets that are kept."""
        return len(self._full_at)

    def take(self, key: str, of: str) -> None:
        """Take a request out of a bucket. Raises TooMany if it is empty; `of`: whose it is, for the sentence."""
        if not self.size:
            return
        now, each = self._clock(), MINUTE / self.size
        full_at = max(now, self._full_at.get(key, now)) + each
        if full_at - now > MINUTE + each / 1000:  # sums are rounded
            raise self.refusal(of, full_at - now - MINUTE)
        self._full_at[key] = full_at
        self._full_at.move_to_end(key)
        while len(self._full_at) > MOST or self._is_full(now):
            self._full_at.popitem(last=False)

    def _is_full(self, now: float) -> bool:
        """Return whether the bucket used longest ago has filled up, so that it need not be kept."""
        return next(iter(self._full_at.values()), now + 1) <= now

    def refusal(self, of: str, wait: float) -> TooMany:
        """Return the refusal of a request that may come again in `wait` seconds."""
        seconds = math.ceil(wait)
        return TooMany(f"more than {self.size} {self.counted} {of} within a minute: wait {seconds} s", seconds)


class Rates:
    """The limits of an installation, as this process keeps them. Used by its event loop only."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._requests = Buckets(settings.requests_per_minute, "requests", clock)
        self._apart = {
            f"{API}/ingest": Buckets(settings.ingest_per_minute, "ingest requests", clock),
            f"{API}/events": Buckets(settings.streams_per_minute, "event streams", clock),
            # who floods the broker with orders that are none must not silence the agent that asks about them
            f"{API}/agents/claim": Buckets(settings.requests_per_minute, "claims of orders", clock),
        }
        self._anonymous = Buckets(settings.anonymous_per_minute, "requests without a valid token", clock)
        self._shared = _shared(settings)

    async def known(self, request: Request, credential: str) -> None:
        """Count a request with a valid token or session. Raises TooMany."""
        buckets = self._apart.get(request.scope["path"], self._requests)
        key = hashlib.sha256(credential.encode()).hexdigest()  # secrets are not kept
        await self._take(buckets, key, "of this token or session")

    async def anonymous(self, request: Request) -> None:
        """Count a request without a valid token or session for its address. Raises TooMany."""
        network = network_of(address_of(request))
        await self._take(self._anonymous, network, f"from {network or 'this address'}")

    def warnings(self) -> list[str]:
        """Return a sentence while this process counts by itself although others may be there."""
        return self._shared.warnings() if self._shared is not None else []

    async def close(self) -> None:
        """Close the connections."""
        if self._shared is not None:
            await self._shared.close()

    async def _take(self, buckets: Buckets, key: str, of: str) -> None:
        buckets.take(key, of)  # what this process alone refuses asks nobody
        if buckets.size and self._shared is not None:
            wait = await self._shared.take(buckets.counted, key, buckets.size)
            if wait > 0:
                raise buckets.refusal(of, wait)


def _shared(settings: Settings) -> SharedBuckets | None:
    """Return the buckets that the processes of an installation share; None on SQLite, which has one process."""
    if settings.url.startswith("sqlite"):
        return None
    # imported here, because the client of Redis for event loops takes long to import
    from hooke_api.base.shared_rates import SharedBuckets

    return SharedBuckets(settings.broker, settings.token)
