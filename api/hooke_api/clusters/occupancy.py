"""How busy a cluster was: the share of its slots that runs held over a time, from when they started and ended.

A run that had several attempts counts from the start of the first one to the end of the last.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Literal

from hooke.spec.states import TERMINAL
from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from hooke_api.base.errors import ResourceNotFound
from hooke_api.clusters.schemas import OccupancyView
from hooke_api.models import Cluster, Run, database_time

Period = Literal["day", "week"]
INTERVALS: dict[Period, tuple[int, int]] = {"day": (48, 1800), "week": (56, 10_800)}
"""Period -> number and seconds of its intervals."""
MOST_RUNS = 20_000
"""Ended runs that are read; of a time with more of them the earliest part is left out."""
Span = tuple[float, float, int]
"""Start and end of a run, s, and the slots that it held."""
_Columns = Select[datetime | None, datetime | None, int, int, bool]


def occupancy(session: Session, name: str, period: Period) -> OccupancyView:
    """Return the share of a cluster's slots that runs held in each interval. Raises ResourceNotFound."""
    cluster = session.get(Cluster, name)
    if cluster is None:
        raise ResourceNotFound(f"no cluster is called {name!r}")
    count, seconds = INTERVALS[period]
    until = database_time(session)
    since = until - timedelta(seconds=count * seconds)
    columns = select(Run.started_at, Run.finished_at, Run.workers, Run.servers, Run.simulated)
    of_cluster = columns.where(Run.host == name, Run.started_at.is_not(None))
    ended = of_cluster.where(Run.finished_at > since, Run.state.in_(TERMINAL))
    ended = ended.order_by(Run.finished_at.desc()).limit(MOST_RUNS)
    spans = [*_spans(session, ended, cluster.slots, until)]
    known = cluster.created_at
    if len(spans) == MOST_RUNS:
        known = max(known, datetime.fromtimestamp(min(end for _, end, _ in spans), until.tzinfo))
    going_on = of_cluster.where(Run.state.not_in(TERMINAL))
    spans += _spans(session, going_on, cluster.slots, until)
    found = shares(spans, since.timestamp(), seconds, count, cluster.slots)
    first = (known - since).total_seconds() / seconds
    return OccupancyView(
        cluster=name,
        slots=cluster.slots,
        since=since,
        seconds=seconds,
        shares=[None if i + 1 <= first else share for i, share in enumerate(found)],
    )


def _spans(session: Session, query: _Columns, slots: int, until: datetime) -> Iterable[Span]:
    for started, finished, workers, servers, simulated in session.execute(query):
        if started is None:  # it has not begun
            continue
        end = min(finished, until) if finished is not None else until
        # a simulated run uses its whole host, as in `hooke_api.clusters.service`
        yield started.timestamp(), end.timestamp(), slots if simulated else workers + servers


def shares(spans: Iterable[Span], since: float, seconds: float, count: int, slots: int) -> list[float]:
    """Return the mean share of slots that are held in each of `count` intervals of so many seconds from `since`.

    More than all slots, as with several ranks on a core, count as all of them.
    """
    until = since + count * seconds
    changes = [
        (time, change)
        for start, end, held in spans
        if end > since and start < until and end > start
        for time, change in ((max(start, since), held), (min(end, until), -held))
    ]
    borders = [(since + i * seconds, 0) for i in range(count + 1)]
    found, before, held = [0.0] * count, since, 0
    for time, change in sorted([*changes, *borders]):
        if time > before:
            # no border lies between two neighbours; the middle says whose interval it is
            at = min(count - 1, int(((before + time) / 2 - since) / seconds))
            found[at] += min(held, slots) / slots * (time - before)
        before, held = time, held + change
    return [min(1.0, total / seconds) for total in found]
