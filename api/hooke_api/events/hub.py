"""The source of streams: one reader of the events table and one Redis subscription per process with streams.

Notifications from Redis only announce new events. The events are always read from the database, where positions
become visible in order, so none can be missed; without Redis the hub polls every LOOK_SECONDS.

All streams move together, so what one look found is filtered and encoded once for each choice of events, not for
each stream (docs/decisions/0110-three-hundred-streams.md).
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import structlog
from sqlalchemy import func, or_, select
from sqlalchemy.exc import SQLAlchemyError

from hooke_api.events.bus import CHANNEL
from hooke_api.models import Event, Experiment
from hooke_api.storage import outbox
from hooke_api.storage.database import Database

LOOK_SECONDS = 2.0
"""Polling interval, s: the maximum delay of an event by a lost notification."""
TAIL = 1000
"""Number of newest events kept in memory for all streams; a stream further behind gets `reset`."""
POINTS_SECONDS = 0.25
"""Minimum interval between two looks that find `points`, s: of each run, a stream gets the newest of a look."""
COMMON = frozenset({"clusters"})
"""Kinds of events that say nothing of experiments."""
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
    project: str | None = None
    """Id of the project of its experiment, at the time at which it was read."""

    @cached_property
    def encoded(self) -> bytes:
        """The event as it is sent."""
        return encoded(self.position, self.kind, json.dumps(self.data))


@dataclass(frozen=True)
class Choice:
    """Filter of a stream: events of any of these experiments or runs; all events if both are empty.

    Of experiments, only those in projects that its reader reaches.
    """

    experiments: frozenset[str] = frozenset()
    runs: frozenset[str] = frozenset()
    projects: frozenset[str] | None = None
    """Ids; None: all."""

    def wants(self, item: StreamItem) -> bool:
        """Return whether the filter matches this event."""
        if self.projects is not None and item.kind not in COMMON and item.project not in self.projects:
            return False
        if not self.experiments and not self.runs:
            return True
        return item.experiment_id in self.experiments or item.run_id in self.runs


def encoded(position: int, kind: str, data: str = "{}") -> bytes:
    """Return an event as it is sent; `data` has no line breaks."""
    return f"event: {kind}\ndata: {data}\nid: {position}\n\n".encode()


def coalesce(batch: Sequence[StreamItem]) -> list[StreamItem]:
    """Return the events without `points` that are superseded by newer points of the same run."""
    newest = {item.run_id: item.position for item in batch if item.kind == "points"}
    return [item for item in batch if item.kind != "points" or newest[item.run_id] == item.position]


class Behind(Exception):
    """A stream is too far behind and must fetch everything again."""


class Hub:
    """Shared by all streams of a process; active while there is a stream."""

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
        """Newest position read; the tail holds all events above the floor. -1: nothing read yet."""
        self._before = -1
        """Newest position before the last look that found anything."""
        self._found: dict[Choice, bytes] = {}
        """What that look found, encoded, for the choices that were asked for: no more than there are streams."""
        self._points_at = 0.0
        """When a look found `points` last."""

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
        self.position = self._before = -1
        self._found.clear()
        self._ping.set()
        works = (self._follow, self._listen, self._watch_stop)
        self._tasks = [asyncio.create_task(self._kept(work)) for work in works]

    async def _kept(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do a work until it ends by itself; begin again after an error, or all streams would stand still."""
        while True:
            try:
                return await work()
            except Exception:  # any error: a stream must not end by one that its work did not expect
                log.exception("a task of the streams failed; it begins again")
            await asyncio.sleep(LOOK_SECONDS)

    async def moved(self, position: int) -> None:
        """Return when there are events after a position, or the server stops."""
        while self.position <= position and not self.stopping.is_set():
            await self._moved.wait()

    def _wake(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()

    async def keeps(self, position: int) -> bool:
        """Return whether a stream can begin after a position: it was given, and all events after it are stored.

        It may be newer than what this process has read: another one, or a page, may know it from the database.
        """
        return await asyncio.to_thread(self._keeps, position)

    def _keeps(self, position: int) -> bool:
        with self._database.read() as session:
            last = outbox.newest(session)
            first = session.scalar(select(func.min(Event.position)))
            return (last if first is None else first - 1) <= position <= last

    async def after(self, position: int, choice: Choice) -> tuple[bytes, int]:
        """Return the matching events after a position, oldest first, and up to where they are complete.

        Raises Behind if there are too many.
        """
        newest = self.position
        if position >= newest:
            return b"", position
        if position != self._before:
            found = await self._items(position, choice)
            last = found[-1].position if found else position
            return b"".join(item.encoded for item in coalesce(found)), max(newest, last)
        events = self._found.get(choice)
        if events is None:  # the first of the streams with this choice
            found = [item for item in self._tail if item.position > position and choice.wants(item)]
            events = self._found[choice] = b"".join(item.encoded for item in coalesce(found))
        return events, newest

    async def _items(self, position: int, choice: Choice) -> list[StreamItem]:
        if position >= self._floor:
            return [item for item in self._tail if item.position > position and choice.wants(item)]
        found = await asyncio.to_thread(self._read, position, choice, TAIL + 1)
        if len(found) > TAIL:
            raise Behind
        return found

    def _read(self, position: int, choice: Choice, limit: int) -> list[StreamItem]:
        columns = (Event.position, Event.kind, Event.experiment_id, Event.run_id, Event.data)
        query = select(*columns, Experiment.project_id).outerjoin(Experiment, Experiment.id == Event.experiment_id)
        query = query.where(Event.position > position).order_by(Event.position).limit(limit)
        if choice.projects is not None:
            mine = Experiment.project_id.in_(choice.projects)
            query = query.where(or_(Event.kind.in_(COMMON), mine))
        if choice.experiments or choice.runs:
            query = query.where(
                or_(Event.experiment_id.in_(choice.experiments), Event.run_id.in_(choice.runs)),
            )
        with self._database.read() as session:
            return [StreamItem(*row) for row in session.execute(query)]

    async def _follow(self) -> None:
        """Read new events on every notification, and every LOOK_SECONDS."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._ping.wait()
            await asyncio.sleep(self._points_at + POINTS_SECONDS - asyncio.get_running_loop().time())
            self._ping.clear()
            try:
                await self._look()
            except SQLAlchemyError as error:
                log.warning("the database does not respond: streams wait", error=type(error).__name__)

    async def _look(self) -> None:
        if self.position < 0:
            self.position = self._floor = await asyncio.to_thread(self._first_look)
            self._wake()
            return
        read: deque[StreamItem] = deque()
        position, full = self.position, True
        while full:
            found = await asyncio.to_thread(self._read, position, Choice(), TAIL)
            read.extend(found)
            full = len(found) == TAIL
            position = found[-1].position if found else position
            while len(read) > TAIL:
                read.popleft()
        if read:
            self._move(read)

    def _move(self, read: deque[StreamItem]) -> None:
        """Let streams have what was read. No await here: to streams, all of it comes at once."""
        if len(read) == TAIL:  # there may have been more
            self._tail.clear()
            self._floor = read[0].position - 1
        self._tail.extend(read)
        while len(self._tail) > TAIL:
            self._floor = self._tail.popleft().position
        self._before, self.position = max(self.position, self._floor), read[-1].position
        self._found.clear()
        if any(item.kind == "points" for item in read):
            self._points_at = asyncio.get_running_loop().time()
        self._wake()

    def _first_look(self) -> int:
        with self._database.read() as session:
            return outbox.newest(session)

    async def _listen(self) -> None:
        """Trigger a read on every notification; reconnect while Redis is unavailable."""
        import redis.asyncio  # imported on first use, because it is slow

        failures = 0
        while True:
            try:
                client = redis.asyncio.Redis.from_url(self._redis_url, socket_timeout=None)
                async with client, client.pubsub() as subscription:
                    await subscription.subscribe(CHANNEL)
                    async for _ in subscription.listen():
                        # also on the confirmation of the subscription: read events missed before it
                        failures = 0
                        self._ping.set()
            except (redis.RedisError, OSError) as error:
                if failures == 0:
                    log.warning("redis does not respond: streams poll the database", error=str(error))
            await asyncio.sleep(_PAUSES[min(failures, len(_PAUSES) - 1)])
            failures += 1

    async def _watch_stop(self) -> None:
        await self.stopping.wait()
        self._wake()
