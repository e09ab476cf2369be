"""Repetitions after the database's clock was set back, by which the times are stored at which they are due.

Without this they would wait for as long as the clock was set back. A clock that was set ahead needs nothing: a
repetition comes earlier once, and the next one is a pause behind it.
"""

from __future__ import annotations

import time
from datetime import datetime, timedelta

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from hooke_api.models import Webhook, WebhookDelivery
from hooke_api.webhooks.schemas import DeliveryState

SLACK = timedelta(minutes=1)
"""By less than this a clock is adjusted, or was read at another moment."""


class Watch:
    """Compares the database's clock with one that never jumps, from look to look."""

    def __init__(self) -> None:
        self._seen: tuple[float, datetime] | None = None

    def set_back(self, session: Session, at: datetime) -> timedelta:
        """Return by how much the clock, which says `at`, was set back at least; 0: it was not, or nobody can tell.

        Since the last call; and since the last attempt of any webhook, which may have been made before a restart.
        """
        before, self._seen = self._seen, (time.monotonic(), at)
        last = session.scalar(select(func.max(Webhook.last_at)))
        back = last - at if last is not None else timedelta()
        if before is not None:
            back = max(back, timedelta(seconds=self._seen[0] - before[0]) - (at - before[1]))
        return back if back > SLACK else timedelta()

    def forget(self) -> None:
        """Another process may have noticed since."""
        self._seen = None


def pull_back(session: Session, at: datetime, back: timedelta) -> int:
    """Let deliveries wait no longer than they would have by a clock that was not set back; return how many did."""
    of = WebhookDelivery
    ahead = select(of.id, of.next_at).where(of.state == DeliveryState.WAITING.value, of.next_at > at)
    rows = [{"id": id, "next_at": due - back} for id, due in session.execute(ahead.with_for_update()) if due]
    if rows:
        session.execute(update(of), rows)
    session.execute(update(Webhook).where(Webhook.last_at > at).values(last_at=at))
    return len(rows)
