"""Limits of requests per minute: of each token or session, and of each address without a valid one.

Each is a bucket that holds the requests of one minute and fills up at that rate, so a pause earns a burst. Buckets
are in the memory of this process: several API processes allow as much each.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections import OrderedDict
from collections.abc import Callable

from fastapi import Request

from hooke_api.base.access import address_of
from hooke_api.base.errors import TooMany
from hooke_api.base.security import API
from hooke_api.base.settings import Settings

MINUTE = 60.0
MOST = 20_000
"""Buckets of a kind that are kept; beyond that, the one used longest ago is forgotten, and begins full."""


class Buckets:
    """Buckets of one size, by key (the generic cell rate algorithm: one number for each)."""

    def __init__(self, size: int, counted: str, clock: Callable[[], float]) -> None:
        """`size`: requests per minute, 0: no limit; `counted`: what they are, for the sentence."""
        self._size, self._counted, self._clock = size, counted, clock
        self._full_at: OrderedDict[str, float] = OrderedDict()
        """Key -> when its bucket is full again; without an entry it is."""

    def __len__(self) -> int:
        """Return the number of buckets that are kept."""
        return len(self._full_at)

    def take(self, key: str, of: str) -> None:
        """Take a request out of a bucket. Raises TooMany if it is empty; `of`: whose it is, for the sentence."""
        if not self._size:
            return
        now, each = self._clock(), MINUTE / self._size
        full_at = max(now, self._full_at.get(key, now)) + each
        if full_at - now > MINUTE + each / 1000:  # sums are rounded
            seconds = math.ceil(full_at - now - MINUTE)
            told = f"more than {self._size} {self._counted} {of} within a minute: wait {seconds} s"
            raise TooMany(told, seconds)
        self._full_at[key] = full_at
        self._full_at.move_to_end(key)
        if len(self._full_at) > MOST:
            self._full_at.popitem(last=False)


class Rates:
    """The limits of this process. Used by its event loop only."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._requests = Buckets(settings.requests_per_minute, "requests", clock)
        self._apart = {
            f"{API}/ingest": Buckets(settings.ingest_per_minute, "ingest requests", clock),
            f"{API}/events": Buckets(settings.streams_per_minute, "event streams", clock),
            # who floods the broker with orders that are none must not silence the agent that asks about them
            f"{API}/agents/claim": Buckets(settings.requests_per_minute, "claims of orders", clock),
        }
        self._anonymous = Buckets(settings.anonymous_per_minute, "requests without a valid token", clock)

    def known(self, request: Request, credential: str) -> None:
        """Count a request with a valid token or session. Raises TooMany."""
        buckets = self._apart.get(request.scope["path"], self._requests)
        key = hashlib.sha256(credential.encode()).hexdigest()  # secrets are not kept
        buckets.take(key, "of this token or session")

    def anonymous(self, request: Request) -> None:
        """Count a request without a valid token or session for its address. Raises TooMany."""
        address = address_of(request)
        self._anonymous.take(address, f"from {address or 'this address'}")
