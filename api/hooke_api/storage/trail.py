"""The audit trail: every transaction that a user's request writes is recorded in itself.

The gate says which change is being handled (`hooke_api.base.access.changing`). At the end of a transaction one
entry is added for it, with what the services have told; a transaction that is rolled back leaves none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import insert
from sqlalchemy.orm import Session

from hooke_api.base.access import Actor, changing
from hooke_api.models import TrailEntry, database_time

_TOLD = "hooke_told"
_ENTRIES = "hooke_trail"
_INSTEAD = "hooke_trail_instead"
_LENGTHS = {"actor": 120, "credential": 60, "address": 64, "subject": 255}


def tell(
    session: Session,
    subject: str | None = None,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> None:
    """Say what the present change changes: identifier, if not in the address, and the state before and after."""
    told = session.info.setdefault(_TOLD, {})
    if subject is not None:
        told["subject"] = subject
    if before is not None:
        told["before"] = dict(before)
    if after is not None:
        told["after"] = dict(after)


def add(  # noqa: PLR0913 - the columns of the trail
    session: Session,
    actor: str,
    action: str,
    subject: str,
    *,
    credential: str = "",
    address: str = "",
    request_id: str = "",
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    instead: bool = False,
) -> None:
    """Add an entry of its own, for what no identified user asks; perhaps instead of that of the present change."""
    if instead:
        session.info[_INSTEAD] = True
    told = {"before": dict(before) if before else None, "after": dict(after) if after else None}
    entry = {"actor": actor, "action": action, "subject": subject, "credential": credential}
    session.info.setdefault(_ENTRIES, []).append(entry | {"address": address, "request_id": request_id} | told)


def settle(session: Session) -> None:
    """Store the entries of a transaction at its end."""
    entries: list[dict[str, Any]] = session.info.pop(_ENTRIES, [])
    told: dict[str, Any] = session.info.pop(_TOLD, {})
    instead = session.info.pop(_INSTEAD, False)
    if (change := changing.get()) and not instead:
        entry: dict[str, Any] = {"actor": change.actor.name, "action": change.operation, "subject": change.subject}
        entry |= {"credential": credential_of(change.actor), "address": change.actor.address}
        entry |= {"request_id": change.request_id, "before": None, "after": None}
        entries.append(entry | told)
    if not entries:
        return
    at = database_time(session)
    rows = [entry | {name: entry[name][:most] for name, most in _LENGTHS.items()} for entry in entries]
    session.execute(insert(TrailEntry), [row | {"at": at} for row in rows])


def credential_of(actor: Actor) -> str:
    """Return what a request was sent with, in words."""
    return f"{actor.credential} {actor.id}".strip()
