"""What streams follow: one reader of the events table and one Redis subscription per process, while one listens.

Hints from Redis say only that there is something new. The events themselves always come from the database, where
positions become visible in order, so nobody can miss one; without Redis the hub looks every LOOK_SECONDS.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import structlog
from sqlalchemy import func, or_, select
from sqlalchemy.exc import SQLAlchemyError

from hooke_api.events.bus import CHANNEL
from hooke_api.models import Event, NumberSequence
from hooke_api.storage.database import Database

LOOK_SECONDS = 2.0
"""How long a lost hint can delay an event."""
TAIL = 1000
"""The newest events, kept in memory for all streams; who is further behind is told to fetch again."""
_PAUSES = (0.5, 1.0, 2.0, 5.0)

log = structlog.get_logger("hooke.stream")


@dataclass(frozen=True)
class StreamItem:
    """One event."""

    position: int
    kind: str
    experiment_id: str | None
    run_id: str | None
    data: dict[str, Any]


@dataclass(frozen=True)
class Choice:
    """Which events a stream wants: those of any of these experiments or runs; all of them if it names none."""

    experiments: frozenset[str] = frozenset()
    runs: frozenset[str] = frozenset()

    def wants(self, item: StreamItem) -> bool:
        """Return whether the stream wants this event."""
        if not self.experiments and not self.runs:
            return True
        return item.experiment_id in self.experiments or item.run_id in self.runs


class Behind(Exception):
    """A stream is so far behind that it had better fetch again."""


class Hub:
    """Shared by all streams of a process; lives while there is one."""

    def __init__(self, database: Database, redis_url: str, stopping: asyncio.Event) -> None:
        self._database = database
        self._redis_url = redis_url
        self.stopping = stopping
        self.listeners = 0
        self._tasks: list[asyncio.Task[None]] = []
        self._ping = asyncio.Event()
        self._moved = asyncio.Event()
        self._tail: deque[StreamItem] = deque()
        self._floor = 0
        self.position = -1
        """Newest position read; the tail holds everything above the floor. -1: nothing read yet."""

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Keep the hub alive inside the block; inside, `position` is known."""
        self.listeners += 1
        if self.listeners == 1:
            self._start()
        try:
            while self.position < 0 and not self.stopping.is_set():
                await self._moved.wait()
            yield
        finally:
            self.listeners -= 1
            if self.listeners == 0:  # no await here: the stream may be in the middle of its cancellation
                for task in self._tasks:
                    task.cancel()

    def _start(self) -> None:
        self._tail.clear()
        self.position = -1
        self._ping.set()
        self._tasks = [asyncio.create_task(work()) for work in (self._follow, self._listen, self._watch_stop)]

    async def moved(self, position: int) -> None:
        """Return once there is something after a position, or the server stops."""
        while self.position <= position and not self.stopping.is_set():
            await self._moved.wait()

    def _wake(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()

    async def oldest(self) -> int:
        """Return the oldest position that can still be asked for: what comes after it is all there."""
        return await asyncio.to_thread(self._oldest)

    def _oldest(self) -> int:
        with self._database.read() as session:
            first = session.scalar(select(func.min(Event.position)))
            return first - 1 if first is not None else _newest(session)

    async def after(self, position: int, choice: Choice) -> list[StreamItem]:
        """Return the events after a position that the stream wants, oldest first; raises Behind if too many."""
        if position >= self._floor:
            return [item for item in self._tail if item.position > position and choice.wants(item)]
        found = await asyncio.to_thread(self._read, position, choice, TAIL + 1)
        if len(found) > TAIL:
            raise Behind
        return found

    def _read(self, position: int, choice: Choice, limit: int) -> list[StreamItem]:
        columns = (Event.position, Event.kind, Event.experiment_id, Event.run_id, Event.data)
        query = select(*columns).where(Event.position > position).order_by(Event.position).limit(limit)
        if choice.experiments or choice.runs:
            query = query.where(
                or_(Event.experiment_id.in_(choice.experiments), Event.run_id.in_(choice.runs)),
            )
        with self._database.read() as session:
            return [StreamItem(*row) for row in session.execute(query)]

    async def _follow(self) -> None:
        """Read what is new on every hint, and every LOOK_SECONDS anyway."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._ping.wait()
            self._ping.clear()
            try:
                await self._look()
            except SQLAlchemyError as error:
                log.warning("the database does not answer: streams wait", error=type(error).__name__)

    async def _look(self) -> None:
        if self.position < 0:
            self.position = self._floor = await asyncio.to_thread(self._first_look)
            self._wake()
            return
        found = await asyncio.to_thread(self._read, self.position, Choice(), TAIL)
        if not found:
            return
        self._tail.extend(found)
        while len(self._tail) > TAIL:
            self._floor = self._tail.popleft().position
        self.position = found[-1].position
        self._wake()
        if len(found) == TAIL:
            self._ping.set()

    def _first_look(self) -> int:
        with self._database.read() as session:
            return _newest(session)

    async def _listen(self) -> None:
        """Turn hints into looks; while Redis is away, try again and again."""
        import redis.asyncio  # not before somebody listens: it takes a while

        failures = 0
        while True:
            try:
                client = redis.asyncio.Redis.from_url(self._redis_url, socket_timeout=None)
                async with client, client.pubsub() as subscription:
                    await subscription.subscribe(CHANNEL)
                    async for _ in subscription.listen():
                        # also on the confirmation of the subscription: look for what was missed before it
                        failures = 0
                        self._ping.set()
            except (redis.RedisError, OSError) as error:
                if failures == 0:
                    log.warning("redis does not answer: streams look by themselves", error=str(error))
            await asyncio.sleep(_PAUSES[min(failures, len(_PAUSES) - 1)])
            failures += 1

    async def _watch_stop(self) -> None:
        await self.stopping.wait()
        self._wake()


def _newest(session: Any) -> int:
    return session.scalar(select(NumberSequence.value).where(NumberSequence.name == "events")) or 0
