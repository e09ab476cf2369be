"""The scheduler: assigns queued runs to clusters and sends orders to agents; one thread, one leader at a time.

The queue is in the database; Redis only transports the ids of orders, which agents claim (`scheduling.orders`). A
run is committed as dispatched before its order is sent; after a crash in between, the next pass finds `sent_at`
empty and sends it. Agents start an attempt once, however often its order arrives.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Protocol

import structlog
from hooke.spec.orders import BrokerOrder, OrderKind
from hooke.spec.states import RunState
from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from hooke_api.base.causes import LOG, cause
from hooke_api.base.errors import AWAY, Unavailable
from hooke_api.base.settings import Settings
from hooke_api.base.workers import every
from hooke_api.events.bus import Bus
from hooke_api.models import Attempt, Cluster, Event, NumberSequence, Run, Webhook, database_time
from hooke_api.scheduling import ahead, calibrations, fetches, forgetting, leases, orders
from hooke_api.scheduling.leader import Leadership
from hooke_api.scheduling.lifecycle import Cause, move
from hooke_api.scheduling.queued import choose, free_hosts, unsent
from hooke_api.storage.database import Database

PAUSE = 2.0
"""Seconds without another attempt after an order could not be sent."""
TRIM_SECONDS = 60.0
MOST_EVENTS = 10
"""Times `events_kept` that are kept at most, for webhooks that have not been told of them."""

log = structlog.get_logger("hooke.scheduler")


class OrderSender(Protocol):
    """The interface of `hooke.cluster.broker.Orders`."""

    def send(self, cluster: str, kind: OrderKind, order: BrokerOrder) -> None:
        """Send an order to the agent of a cluster; may raise if the broker is unavailable."""


def celery_orders(redis_url: str) -> OrderSender:
    """Return the Celery implementation; imported here because Celery is slow to import."""
    from hooke.cluster import broker

    return broker.Orders(broker.make_app(redis_url))


class LineDown(Exception):
    """An order could not be sent to the broker."""


class Scheduler(threading.Thread):
    """Processes the queue after changes, and every `schedule_seconds`."""

    def __init__(
        self,
        database: Database,
        bus: Bus,
        settings: Settings,
        line: Callable[[str], OrderSender] = celery_orders,
        plan: Callable[[], None] = lambda: None,
    ) -> None:
        """`plan` adds the runs that follow from those that have ended; called before runs are assigned."""
        super().__init__(name="scheduler", daemon=True)
        self.database = database
        self.bus = bus
        self.settings = settings
        self._make_line = line
        self._plan = plan
        self._sender: OrderSender | None = None
        self._ended = threading.Event()
        self._silent_until = 0.0
        self._trim_at = 0.0
        self.leadership = Leadership(database, timedelta(seconds=settings.leader_seconds))
        self.up_since = self._passed_at = time.monotonic()
        self._gap_at = -math.inf
        """When `_notice_gap` last found something."""
        self._failing: str | None = None
        """Why the last pass failed, for the log."""
        self._cause: str | None = None
        """What is said of it to everybody."""
        self._unheard: str | None = None
        """Why the last order could not be sent."""
        self._back = ahead.Back(settings)
        self._watched: tuple[float, datetime] | None = None
        """When leases were looked at last, by a clock that never jumps and by the database's."""

    def run(self) -> None:
        """Run passes until stopped; a pass that fails is logged, once for each reason."""
        while not self._ended.is_set():
            try:
                self.look()
                self._failing = self._cause = None
            except Exception as error:  # any error: the thread must not end
                self._failed(error)
            self._passed_at = time.monotonic()
            self.bus.wake.wait(self.settings.schedule_seconds)
            self.bus.wake.clear()
        with suppress(Exception):  # shutting down: if the row cannot be released, it expires
            self.leadership.give_back()

    def _failed(self, error: Exception) -> None:
        why = f"{type(error).__name__}: {error}".splitlines()[0][:300]
        if why != self._failing:  # the disk may be full: a pass every 0.3 s must not fill the rest of it
            with suppress(Exception):
                log.exception("a scheduling pass failed")
        self._failing, self._cause = why, cause(error)
        if isinstance(error, (*AWAY, Unavailable)):  # reports may have been kept, too: no lease has expired by it
            self.up_since = time.monotonic()

    def fault(self) -> str | None:
        """Return why runs are not scheduled at present, or None."""
        if self._cause:
            return f"its last pass failed: {self._cause}; {LOG}"
        return f"orders cannot be sent, and are tried again; {LOG}" if self._unheard else None

    def overdue(self) -> float:
        """Return for how long the end of a pass has been due, s; 0 or less: it is not due yet."""
        return time.monotonic() - self._passed_at - self.settings.schedule_seconds

    def stop(self) -> None:
        """End the thread; returns when it has ended, or after a few seconds."""
        self._ended.set()
        self.bus.wake.set()
        if self.is_alive():
            self.join(5)

    def look(self) -> None:
        """Run one pass, if this process leads."""
        if not self.leadership.hold():
            self.up_since, self._watched = time.monotonic(), None  # a new leader waits for one lease
            self._back.again()
            self._unheard = None
            return
        every((self._expire, self._plan, self._dispatch, self._calibrated, self._send_orders, self._trim))

    def _send_orders(self) -> None:
        """Send what is to be sent; the first order that cannot be ends it, or each would be waited for in turn."""
        if time.monotonic() < self._silent_until:
            return
        try:
            every((self._send, self._ask, self._calibrate, self._forget, self._fetch), at_once=(LineDown,))
            self._unheard = None
        except LineDown as error:
            if self._unheard is None:
                log.warning("an order could not be sent; it will be sent again", error=str(error)[:300])
            self._silent_until = time.monotonic() + PAUSE
            self._unheard = str(error)[:300]

    def _expire(self) -> None:
        with self.database.read() as session:
            at = database_time(session)
            self._notice_gap(at)
            late = self._back.look(session, at)
            # leases could not be renewed while the API or its database was away
            renewable = time.monotonic() - self.up_since >= self.settings.lease_seconds
            due = renewable and leases.due(session, at, self.settings)
        if late:
            self._back.pull(self.database, late)
        if due:
            with self.database.write() as session:
                leases.expire(session, database_time(session), self.settings)

    def _notice_gap(self, at: datetime) -> None:
        """Grant every lease once more after a time in which none could be renewed, or a jump of the clock."""
        monotonic = time.monotonic()
        most = max(self.settings.lease_seconds / 4, 4 * self.settings.schedule_seconds)
        if self._watched is not None:
            passed = monotonic - self._watched[0]
            jumped = abs((at - self._watched[1]).total_seconds() - passed)
            if passed > most or jumped > most:
                self.up_since = self._gap_at = monotonic
                self._back.again()
                log.warning(
                    "leases are granted once more", seconds_without_a_look=passed, jump_of_the_clock=jumped
                )
        self._watched = monotonic, at

    def _calibrated(self) -> None:
        """End calibrations without news; after a gap, agents have as long again: runs would start beside them."""
        if time.monotonic() - self._gap_at >= calibrations.LIMIT.total_seconds():
            calibrations.expire(self.database)

    def _dispatch(self) -> None:
        with self.database.read() as session:
            hosts = free_hosts(session, database_time(session), self.settings)
        every(partial(self._dispatch_to, host) for host in hosts)

    def _dispatch_to(self, host: str) -> None:
        with self.database.write() as session:
            for run in choose(session, host, timedelta(seconds=self.settings.agent_seconds)):
                self._write_down(session, run)

    def _write_down(self, session: Session, run: Run) -> None:
        if not move(session, run, RunState.DISPATCHED, Cause("scheduler", f"sent to {run.host}")):
            return
        at = database_time(session)
        session.add(Attempt(run_id=run.id, number=run.attempt, created_at=at, sent_at=None, sends=0))
        session.get_one(Cluster, run.host).served_at = at

    def _send(self) -> None:
        with self.database.read() as session:
            at = database_time(session)
            groups = unsent(session, at, self.settings)
        for group in groups:
            self._order(group[0].host, "launch", [orders.attempt_name(run) for run in group])
            with self.database.write() as session:
                for run in group:
                    _mark(session, run, sent_at=at, sends=Attempt.sends + 1)

    def _ask(self) -> None:
        with self.database.read() as session:
            at = database_time(session)
            asked = leases.unproven(session, at, self.settings)
        for run, attempt in asked:
            if run.cancel_requested:
                self._order(run.host, "cancel", [orders.attempt_name(run)])
            if run.state is RunState.LOST or attempt.leased_until is None:
                self._order(run.host, "probe", [orders.attempt_name(run)])
            with self.database.write() as session:
                _mark(session, run, asked_at=at)

    def _calibrate(self) -> None:
        silence = timedelta(seconds=self.settings.agent_seconds)
        again = timedelta(seconds=self.settings.resend_seconds)
        for cluster, id in calibrations.due(self.database, silence):
            self._order(cluster, "calibrate", [id])
            calibrations.sent(self.database, id)
        for cluster, id in calibrations.unclaimed(self.database, silence, again):
            self._order(cluster, "calibrate", [id])
        for cluster, id in calibrations.to_cancel(self.database, silence, again):
            self._order(cluster, "cancel_calibration", [id])
            calibrations.asked_to_end(self.database, id)

    def _forget(self) -> None:
        for cluster, runs in forgetting.due(self.database, timedelta(seconds=self.settings.agent_seconds)).items():
            self._order(cluster, "forget", runs)
            forgetting.asked(self.database, runs)

    def _fetch(self) -> None:
        for cluster, id in fetches.due(self.database, timedelta(seconds=self.settings.agent_seconds)):
            self._order(cluster, "fetch", [id])
            fetches.asked(self.database, id)

    def _order(self, cluster: str, kind: OrderKind, subjects: list[str]) -> None:
        """Store an order, then send its id: an agent may claim it at once. Raises LineDown."""
        with self.database.write() as session:
            order = orders.make(session, cluster, kind, subjects)
        with self._line() as line:
            line.send(cluster, kind, order)

    @contextmanager
    def _line(self) -> Iterator[OrderSender]:
        try:
            if self._sender is None:
                self._sender = self._make_line(self.settings.broker)
            yield self._sender
        except Exception as error:  # any error of Celery or Redis: what it was about stays in the database
            raise LineDown(str(error)) from error

    def _trim(self) -> None:
        if time.monotonic() < self._trim_at:
            return
        self._trim_at = time.monotonic() + TRIM_SECONDS
        orders.delete_old(self.database)
        with self.database.read() as session:
            highest = session.scalar(select(NumberSequence.value).where(NumberSequence.name == "events")) or 0
            lowest = session.scalar(select(Event.position).order_by(Event.position).limit(1))
            told = session.scalar(select(func.min(Webhook.position)).where(Webhook.active))
        kept = self.settings.events_kept
        keep_from = max(min(highest - kept, highest if told is None else told + 1), highest - MOST_EVENTS * kept)
        if lowest is not None and lowest < keep_from:
            with self.database.write() as session:
                session.execute(delete(Event).where(Event.position < keep_from))


def _mark(session: Session, run: Run, **changes: Any) -> None:
    session.execute(
        update(Attempt).where(Attempt.run_id == run.id, Attempt.number == run.attempt).values(**changes)
    )
