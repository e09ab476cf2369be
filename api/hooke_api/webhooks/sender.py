"""The thread that tells webhooks of events; of all API processes one does.

Each webhook that has something due gets a thread of its own, which sends one request at a time, so a receiver
that is slow or away holds back nobody else. An attempt that is cut off by the end of the process is made again,
with the same `webhook-id`.
"""

from __future__ import annotations

import ssl
import threading
import time
from datetime import timedelta

import structlog

from hooke_api.base.security import digest
from hooke_api.base.settings import Settings
from hooke_api.base.workers import Repeating
from hooke_api.models import database_time
from hooke_api.scheduling.leader import Leadership
from hooke_api.storage.database import Database
from hooke_api.webhooks import guard, signing
from hooke_api.webhooks.clock import Watch, pull_back
from hooke_api.webhooks.delivering import (
    LONGEST_ASKED,
    Due,
    Outcome,
    forget,
    next_due,
    record,
    webhooks_with_due,
)
from hooke_api.webhooks.guard import Policy, Refused, Resolver
from hooke_api.webhooks.messages import collect
from hooke_api.webhooks.posting import SECONDS, Undelivered, post
from hooke_api.webhooks.service import any_webhook

TERM = timedelta(seconds=30)
FORGET_SECONDS = 600.0
"""Interval between two looks for deliveries that ended long ago, s."""
LONGEST_REST = 15.0
"""Seconds that a webhook rests at most after failures in a row; the first time two seconds."""
RECORD_PAUSES = (0.5, 2.0)
"""Seconds before another attempt to store an outcome: what is not stored is sent again."""
END_SECONDS = 3.0
"""Seconds that requests under way have to end when the server stops."""

log = structlog.get_logger("hooke.webhooks")


class Sender(Repeating):
    """The thread; one process at a time sends."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        resolve: Resolver = guard.lookup,
        context: ssl.SSLContext | None = None,
    ) -> None:
        """`resolve`: finds the addresses of a name. `context`: of TLS; None: the roots of the system."""
        super().__init__("webhook sender", settings.webhook_seconds)
        self.database = database
        self.settings = settings
        self.leadership = Leadership(database, TERM, "webhooks")
        self._policy = Policy.of(settings)
        self._resolve = resolve
        self._context = context
        self._leads = False
        self._lock = threading.Lock()
        self._busy: set[str] = set()
        """Webhooks whose thread works."""
        self._failures: dict[str, int] = {}
        """Webhook -> attempts that failed in a row."""
        self._rests: dict[str, float] = {}
        """Webhook -> monotonic time until which it rests."""
        self._forget_at = 0.0
        self._watch = Watch()

    def look(self) -> None:
        """Store the deliveries of new events, and send what is due."""
        try:
            with self.database.read() as session:
                needed = any_webhook(session)
            self._leads = needed and self.leadership.hold()
            if not self._leads:
                self._watch.forget()
                return
            self._mind_clock()
            while collect(self.database, self.settings.address) and self.lives():
                pass
            self._begin()
            self._forget()
        except Exception:
            self._leads = False  # nobody knows for how long: another process may lead
            raise

    def _mind_clock(self) -> None:
        """Let nothing wait for the time at which the clock was set back."""
        with self.database.read() as session:
            back = self._watch.set_back(session, database_time(session))
        if back:
            with self.database.write() as session:
                count = pull_back(session, database_time(session), back)
            log.warning("the database's clock was set back: repetitions wait less", by=str(back), count=count)

    def busy(self) -> bool:
        """Return whether a request is under way."""
        with self._lock:
            return bool(self._busy)

    def close(self) -> None:
        """Let requests under way end, and another process send."""
        self._leads = False
        until = time.monotonic() + END_SECONDS
        while self.busy() and time.monotonic() < until:
            time.sleep(0.02)
        self.leadership.give_back()

    def _begin(self) -> None:
        """Start a thread for each webhook with something due that neither has one nor rests."""
        with self.database.read() as session:
            due = webhooks_with_due(session)
        for webhook_id in due:
            with self._lock:
                if webhook_id in self._busy or time.monotonic() < self._rests.get(webhook_id, 0.0):
                    continue
                self._busy.add(webhook_id)
            try:
                threading.Thread(target=self._work, args=(webhook_id,), name="webhook", daemon=True).start()
            except RuntimeError:  # no memory for a thread: the next look tries again
                self._done(webhook_id)
                raise

    def _work(self, webhook_id: str) -> None:
        """Send what is due of one webhook, one after the other, until an attempt fails."""
        try:
            while self._leads and not self.ended.is_set():
                with self.database.read() as session:
                    due = next_due(session, webhook_id)
                if due is None:
                    return
                outcome = self.attempt(due)
                self._record(due, outcome)
                if not outcome.delivered:
                    log.info("a webhook was not delivered", webhook=webhook_id, delivery=due.id, why=outcome.why)
                    self._rest(webhook_id)
                    return
                self._failures.pop(webhook_id, None)
        except Exception as error:  # any error: what was sent is sent again
            log.warning(
                "a webhook was not sent", webhook=webhook_id, error=f"{type(error).__name__}: {error}"[:300]
            )
            self._rest(webhook_id)
        finally:
            self._done(webhook_id)

    def _record(self, due: Due, outcome: Outcome) -> None:
        for pause in (*RECORD_PAUSES, None):
            try:
                with self.database.write() as session:
                    record(session, due, outcome)
                return
            except Exception:  # any error: the database is busy, or away
                if pause is None:
                    raise
            self.ended.wait(pause)

    def _rest(self, webhook_id: str) -> None:
        failures = self._failures[webhook_id] = self._failures.get(webhook_id, 0) + 1
        self._rests[webhook_id] = time.monotonic() + min(2.0 ** min(failures, 10), LONGEST_REST)

    def _done(self, webhook_id: str) -> None:
        with self._lock:
            self._busy.discard(webhook_id)

    def attempt(self, due: Due) -> Outcome:
        """Send a delivery once and return what came of it."""
        secret = signing.secret_of(self.settings.webhook_key, due.webhook_id)
        if digest(secret) != due.secret_sha256:
            return Outcome(
                None, "the file webhook-key is not that of its secret: remove the webhook and add it again"
            )
        until = time.monotonic() + SECONDS
        body = due.body.encode()
        try:
            where = guard.place(due.url, self._policy)
            addresses = guard.addresses(where, self._policy, self._resolve)
            headers = signing.headers(secret, due.id, int(time.time()), body)
            answer = post(where, addresses, headers, body, until, self._tls())
        except (Refused, Undelivered) as error:
            return Outcome(None, str(error))
        asked = min(answer.retry_after, LONGEST_ASKED)
        more = "; redirects are not followed" if 300 <= answer.status <= 399 else ""
        if asked:
            more = f"; as it asks, nothing is sent for {asked:.0f} s"
        return Outcome(answer.status, f"status {answer.status}{more}", asked)

    def _tls(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = ssl.create_default_context()
        return self._context

    def _forget(self) -> None:
        if time.monotonic() < self._forget_at:
            return
        self._forget_at = time.monotonic() + FORGET_SECONDS
        more = True
        while more and self.lives():
            with self.database.write() as session:
                more = forget(session)
