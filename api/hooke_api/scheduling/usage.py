"""How much each user has used a cluster, for fair share: sums over all of its runs that still count.

The database adds the runs up in short spans of time, so their number does not matter. The sums of a span count at
their mean time, with an error below 10^-4.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Double, case, cast, extract, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from hooke_api.models import Attempt, Experiment, Run

HALF_LIVES = 20
"""Age, in half-lives, from which use is left out: it counts less than 10^-6."""
SPANS = 16
"""Spans of time in a half-life."""
_UNIX = 2440587.5
"""1970-01-01 as a Julian day."""
_DAY = 86_400.0


@dataclass(frozen=True)
class Span:
    """What the runs of a user took that ended in a span of time."""

    user: str
    ended: float
    """The mean end of the runs, weighted by the seconds that they took, s since 1970."""
    seconds: float
    """For which they kept their cluster."""


_CACHE: dict[tuple[str, str], tuple[object, Sequence[Span]]] = {}
"""Address of the database, cluster -> the state that its spans were read in, and the spans."""
_LOCK = threading.Lock()


def usage(session: Session, host: str, slots: int, at: datetime, half_life_hours: float) -> dict[str, float]:
    """Return user -> slot seconds used on a cluster; use counts half after every half-life.

    A run keeps all `slots` of the cluster, from its dispatch or the end of the run before it to its own end.
    """
    half_life = 3600 * half_life_hours
    used: dict[str, float] = {}
    for span in _known(session, host, at, half_life):
        weight = 0.5 ** (max(0.0, at.timestamp() - span.ended) / half_life)
        used[span.user] = used.get(span.user, 0.0) + weight * slots * span.seconds
    return used


def _known(session: Session, host: str, at: datetime, half_life: float) -> Sequence[Span]:
    """Return the spans of a cluster; read again only after another run has ended."""
    stamp = (half_life, session.scalar(select(func.max(Run.finished_at)).where(Run.host == host)))
    key = (str(session.connection().engine.url), host)
    with _LOCK:
        found = _CACHE.get(key)
    if found is not None and found[0] == stamp:
        return found[1]
    spans = _read(session, host, at, half_life)
    with _LOCK:
        _CACHE[key] = stamp, spans
    return spans


def _read(session: Session, host: str, at: datetime, half_life: float) -> Sequence[Span]:
    sqlite = session.get_bind().dialect.name == "sqlite"
    since = at - timedelta(seconds=HALF_LIVES * half_life)
    ended = _seconds(Run.finished_at, sqlite) - since.timestamp()
    runs = (
        select(
            Experiment.created_by.label("user"),
            ended.label("ended"),
            (_seconds(Attempt.created_at, sqlite) - since.timestamp()).label("sent"),
            func.lag(ended).over(order_by=(Run.finished_at, Run.id)).label("before"),
        )
        .select_from(Run)
        .join(Experiment, Experiment.id == Run.experiment_id)
        .join(Attempt, (Attempt.run_id == Run.id) & (Attempt.number == Run.attempt))
        .where(Run.host == host, Run.finished_at >= since)
        .subquery()
    )
    began = case((runs.c.before > runs.c.sent, runs.c.before), else_=runs.c.sent)
    took = case((runs.c.ended > began, runs.c.ended - began), else_=0.0)
    span = cast(runs.c.ended / (half_life / SPANS), BigInteger)
    query = select(
        runs.c.user,
        func.sum(took).label("seconds"),
        func.sum(took * runs.c.ended).label("moment"),
        func.max(runs.c.ended).label("last"),
    ).group_by(runs.c.user, span)
    return [
        Span(row.user, since.timestamp() + (row.moment / row.seconds if row.seconds else row.last), row.seconds)
        for row in session.execute(query)
    ]


def _seconds(moment: InstrumentedAttribute[Any], sqlite: bool) -> ColumnElement[float]:
    """Return the expression for the seconds since 1970 of a point in time."""
    if sqlite:
        return (func.julianday(moment, type_=Double) - _UNIX) * _DAY
    return cast(extract("epoch", moment), Double)
