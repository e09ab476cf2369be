"""Which queued run goes to which cluster next, and what is asked of agents; one thread, one leader at a time.

The queue lives in the database; Redis only carries orders. An order is written down as dispatched first and sent
after the commit: whatever dies in between, the next look finds `sent_at` empty and sends it. Agents start an
attempt once, however often its order arrives.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import Protocol

import structlog
from hooke.events import LaunchOrder, RunState
from sqlalchemy import CursorResult, delete, exists, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, undefer

from hooke_api import leases
from hooke_api.bus import Bus
from hooke_api.database import Database
from hooke_api.lifecycle import ACTIVE, Evidence, move
from hooke_api.models import Attempt, Cluster, Counter, Event, Leader, Run, now
from hooke_api.security import attempt_token, digest
from hooke_api.settings import Settings

BATCH = 64
"""Virtual runs that share one process at most."""
PAUSE = 2.0
"""Seconds without another try after an order could not be sent."""
TRIM_SECONDS = 60.0

log = structlog.get_logger("hooke.scheduler")


class Orders(Protocol):
    """Where orders go: `hooke.cluster.broker.Orders`. Any of these may raise when the message line is down."""

    def launch(self, cluster: str, orders: list[LaunchOrder]) -> None:
        """Ask for attempts to be started."""

    def cancel(self, cluster: str, run: str, attempt: int) -> None:
        """Ask for an attempt to be ended."""

    def probe(self, cluster: str, run: str, attempt: int) -> None:
        """Ask whether an attempt is alive."""


def celery_orders(redis_url: str) -> Orders:
    """Return the real orders; imports Celery, which is why the API starts without it."""
    from hooke.cluster import broker

    return broker.Orders(broker.make_app(redis_url))


class LineDown(Exception):
    """An order could not be put on the message line."""


class Scheduler(threading.Thread):
    """Looks at the queue when something changed, and every `schedule_seconds`."""

    def __init__(
        self, database: Database, bus: Bus, settings: Settings, orders: Callable[[str], Orders] = celery_orders
    ) -> None:
        super().__init__(name="scheduler", daemon=True)
        self.database = database
        self.bus = bus
        self.settings = settings
        self._make_orders = orders
        self._orders: Orders | None = None
        self._ended = threading.Event()
        self._silent_until = 0.0
        self._trim_at = 0.0
        self.leadership = Leadership(database, timedelta(seconds=settings.leader_seconds))
        self.up_since = time.monotonic()

    def run(self) -> None:
        """Look until stopped; a look that fails is logged, and the next one starts afresh."""
        while not self._ended.is_set():
            try:
                self.look()
            except Exception:
                log.exception("a look at the queue failed")
            self.bus.wake.wait(self.settings.schedule_seconds)
            self.bus.wake.clear()
        with suppress(Exception):  # shutting down: the row expires by itself where it cannot be given back
            self.leadership.give_back()

    def stop(self) -> None:
        """End the thread; returns when it has ended, or after a few seconds."""
        self._ended.set()
        self.bus.wake.set()
        if self.is_alive():
            self.join(5)

    def look(self) -> None:
        """Do once all there is to do, if this process leads."""
        if not self.leadership.hold():
            return
        self._expire()
        self._dispatch()
        if time.monotonic() >= self._silent_until:
            try:
                self._send()
                self._ask()
            except LineDown as error:
                self._silent_until = time.monotonic() + PAUSE
                log.warning("an order could not be sent; it will be sent again", error=str(error)[:300])
        self._trim()

    def _expire(self) -> None:
        if time.monotonic() - self.up_since < self.settings.lease_seconds:
            return  # while the API was away nobody could renew: silence proves nothing yet
        at = now()
        with self.database.read() as session:
            due = leases.due(session, at)
        if due:
            with self.database.write() as session:
                leases.expire(session, at)

    def _dispatch(self) -> None:
        with self.database.read() as session:
            hosts = free_hosts(session, now() - timedelta(seconds=self.settings.agent_seconds))
        for host in hosts:
            with self.database.write() as session:
                for run in choose(session, host):
                    self._write_down(session, run)

    def _write_down(self, session: Session, run: Run) -> None:
        if not move(session, run, RunState.DISPATCHED, Evidence("scheduler", f"sent to {run.host}")):
            return
        token = attempt_token(self.settings.agents, run.id, run.attempt)
        session.add(
            Attempt(run_id=run.id, number=run.attempt, token_sha256=digest(token), created_at=now(), sent_at=None)
        )

    def _send(self) -> None:
        at = now()
        with self.database.read() as session:
            groups = unsent(session, at, self.settings)
        for group in groups:
            orders = [
                LaunchOrder(
                    run=run.id,
                    attempt=run.attempt,
                    token=attempt_token(self.settings.agents, run.id, run.attempt),
                    spec=run.spec,
                )
                for run in group
            ]
            with self._line() as line:
                line.launch(group[0].host, orders)
            with self.database.write() as session:
                for run in group:
                    _mark(session, run, sent_at=at)

    def _ask(self) -> None:
        at = now()
        pause = timedelta(seconds=self.settings.probe_seconds)
        with self.database.read() as session:
            asked = leases.unproven(session, at, pause)
        for run, attempt in asked:
            with self._line() as line:
                if run.cancel_requested:
                    line.cancel(run.host, run.id, run.attempt)
                if run.state is RunState.LOST or attempt.leased_until is None:
                    line.probe(run.host, run.id, run.attempt)
            with self.database.write() as session:
                _mark(session, run, asked_at=at)

    @contextmanager
    def _line(self) -> Iterator[Orders]:
        try:
            if self._orders is None:
                self._orders = self._make_orders(self.settings.redis_url)
            yield self._orders
        except Exception as error:  # whatever Celery and Redis raise: the order stays written down
            raise LineDown(str(error)) from error

    def _trim(self) -> None:
        if time.monotonic() < self._trim_at:
            return
        self._trim_at = time.monotonic() + TRIM_SECONDS
        with self.database.read() as session:
            highest = session.scalar(select(Counter.value).where(Counter.name == "events")) or 0
            lowest = session.scalar(select(Event.position).order_by(Event.position).limit(1))
        keep_from = highest - self.settings.events_kept
        if lowest is not None and lowest < keep_from:
            with self.database.write() as session:
                session.execute(delete(Event).where(Event.position < keep_from))


class Leadership:
    """A row that one process holds and renews; another takes it once it has expired."""

    def __init__(self, database: Database, term: timedelta) -> None:
        self.database = database
        self.term = term
        self.name = f"{socket.gethostname()[:80]}:{os.getpid()}:{secrets.token_hex(4)}"
        self._until: datetime | None = None

    def hold(self) -> bool:
        """Return whether this process leads now; renews early enough that the row never expires while it works."""
        at = now()
        if self._until is not None and at < self._until - self.term * 2 / 3:
            return True
        self._until = at + self.term if self._take(at) else None
        return self._until is not None

    def _take(self, at: datetime) -> bool:
        try:
            with self.database.write() as session:
                result = session.execute(
                    update(Leader)
                    .where(Leader.name == "scheduler", or_(Leader.holder == self.name, Leader.until < at))
                    .values(holder=self.name, until=at + self.term)
                )
                assert isinstance(result, CursorResult)  # noqa: S101 - an UPDATE has a count
                if result.rowcount:
                    return True
                if session.get(Leader, "scheduler") is not None:
                    return False
                session.add(Leader(name="scheduler", holder=self.name, until=at + self.term))
        except IntegrityError:  # another process wrote the first row at the same moment
            return False
        return True

    def give_back(self) -> None:
        """Let the next process lead at once."""
        with self.database.write() as session:
            session.execute(delete(Leader).where(Leader.name == "scheduler", Leader.holder == self.name))


def free_hosts(session: Session, seen_since: datetime) -> list[str]:
    """Return the clusters that are online, have queued runs, and on which nothing runs.

    Every run takes its cluster whole: a timed MPI run must not share cores with anything, and a virtual one
    computes on all of them.
    """
    taken = exists().where(Run.host == Cluster.name, Run.state.in_(ACTIVE))
    wanted = exists().where(Run.host == Cluster.name, Run.state == RunState.QUEUED)
    query = select(Cluster.name).where(Cluster.seen_at >= seen_since, wanted, ~taken).order_by(Cluster.name)
    return list(session.scalars(query))


def choose(session: Session, host: str) -> list[Run]:
    """Return the runs that go to a free cluster next, locked: the oldest experiment's next run.

    Virtual runs of one experiment go out together, up to BATCH: they share a process.
    """
    # whoever else chooses for this cluster waits here, and then sees what was chosen
    session.execute(select(Cluster.name).where(Cluster.name == host).with_for_update())
    # ids are ordered by time, so this is the age of the experiment, then the order of its expansion
    queued = select(Run).where(Run.host == host, Run.state == RunState.QUEUED).order_by(Run.id)
    busy = select(Run.id).where(Run.host == host, Run.state.in_(ACTIVE)).limit(1)
    first = session.scalars(queued.limit(1).with_for_update()).first()
    if first is None or session.execute(busy).first() is not None:
        return []
    if not first.simulated:
        return [first]
    batch = queued.where(Run.experiment_id == first.experiment_id, Run.simulated)
    return list(session.scalars(batch.limit(BATCH).with_for_update()))


def unsent(session: Session, at: datetime, settings: Settings) -> list[list[Run]]:
    """Return the launches that have to be sent, or sent again: dispatched, and no supervisor was heard in time."""
    online = at - timedelta(seconds=settings.agent_seconds)
    late = at - timedelta(seconds=settings.resend_seconds)
    rows = session.scalars(
        select(Run)
        .join(Attempt, (Attempt.run_id == Run.id) & (Attempt.number == Run.attempt))
        .join(Cluster, Cluster.name == Run.host)
        .where(
            Run.state == RunState.DISPATCHED,
            ~Run.cancel_requested,
            Attempt.leased_until.is_(None),
            or_(Attempt.sent_at.is_(None), (Attempt.sent_at < late) & (Cluster.seen_at >= online)),
        )
        .order_by(Run.id)
        .options(undefer(Run.spec))
    )
    return _grouped(rows)


def _grouped(runs: Iterable[Run]) -> list[list[Run]]:
    groups: list[list[Run]] = []
    for run in runs:
        last = groups[-1] if groups else []
        together = last and run.simulated and last[0].simulated and last[0].experiment_id == run.experiment_id
        if together and last[0].host == run.host and len(last) < BATCH:
            last.append(run)
        else:
            groups.append([run])
    return groups


def _mark(session: Session, run: Run, **moments: datetime) -> None:
    session.execute(
        update(Attempt).where(Attempt.run_id == run.id, Attempt.number == run.attempt).values(**moments)
    )
