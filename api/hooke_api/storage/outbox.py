"""Events of a transaction: collected while it runs, numbered at its end, announced after its commit.

Positions come from one counter row that stays locked until the commit. A reader of position n has therefore seen
all lower positions, which a database sequence does not guarantee, because transactions commit out of order.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from hooke_api.models import Event, NumberSequence, now

_EVENTS = "hooke_events"
_WAKE = "hooke_wake"


def announce(
    session: Session,
    kind: str,
    data: dict[str, Any],
    *,
    experiment_id: str | None = None,
    run_id: str | None = None,
) -> None:
    """Add an event to the transaction; for `data` of each kind see docs/http-api.md."""
    event = {"kind": kind, "data": data, "experiment_id": experiment_id, "run_id": run_id}
    session.info.setdefault(_EVENTS, []).append(event)


def wake_scheduler(session: Session) -> None:
    """Wake the scheduler when this transaction is committed."""
    session.info[_WAKE] = True


def settle(session: Session) -> tuple[int, bool] | None:
    """Number and store the collected events; return the highest position and whether to wake the scheduler.

    Call it last in a transaction: every other transaction with events waits from here until the commit.
    """
    events: list[dict[str, Any]] = session.info.pop(_EVENTS, [])
    wake: bool = session.info.pop(_WAKE, False)
    session.flush()
    if not events:
        return (0, True) if wake else None
    highest = take(session, "events", len(events))
    at = now()
    first = highest - len(events) + 1
    rows = [{**event, "position": first + i, "at": at} for i, event in enumerate(events)]
    session.execute(insert(Event), rows)
    return highest, wake


def newest(session: Session) -> int:
    """Return the highest position; all that a later transaction reads includes what is told up to it."""
    return session.scalar(select(NumberSequence.value).where(NumberSequence.name == "events")) or 0


def take(session: Session, name: str, count: int = 1) -> int:
    """Take `count` numbers from a counter and return the highest; the counter is locked until the commit."""
    found = session.execute(
        update(NumberSequence)
        .where(NumberSequence.name == name)
        .values(value=NumberSequence.value + count)
        .returning(NumberSequence.value)
        .execution_options(synchronize_session=False)
    ).scalar_one_or_none()
    if found is not None:
        return int(found)
    session.add(NumberSequence(name=name, value=count))
    session.flush()
    return count
