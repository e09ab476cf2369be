"""Machines: a launch has those of its cluster to itself, whichever cluster it is of.

Virtual runs count, too: their results do not depend on wall time, but they take the cores of timed ones. An agent
tells its machines (`hooke.cluster.machines`); nothing is known of clusters that tell none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hooke.spec.states import RunState
from sqlalchemy import select
from sqlalchemy.orm import Session

from hooke_api.models import Cluster, Run, StoredCalibration
from hooke_api.scheduling.lifecycle import ACTIVE
from hooke_api.scheduling.overlaps import COMPUTING, neighbours

_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Occupant:
    """What another cluster does on a machine of a cluster."""

    cluster: str
    doing: str
    """As a phrase: "is timing a run"."""
    calibrating: bool = False


def occupied(session: Session, at: datetime, silence: timedelta, *, queued: bool = True) -> dict[str, Occupant]:
    """Return cluster -> who takes a machine of it, for clusters that must wait for another one.

    A run of a cluster that has been silent for `silence` counts only while its supervisor reports: nobody can
    prove that it is dead. `queued`: calibrations that wait count, too, so that runs do not pass them forever.
    """
    known = neighbours(session)
    if not known:
        return {}
    seen = select(Cluster.name, Cluster.seen_at).where(Cluster.name.in_(known))
    online = {name for name, seen_at in session.execute(seen) if at - seen_at <= silence}
    doing = _calibrating(session, known, online, queued) | _running(session, known, online)
    return {
        name: doing[other]
        for name, others in known.items()
        for other in sorted(others, reverse=True)
        if other in doing
    }


def _running(session: Session, names: Iterable[str], online: set[str]) -> dict[str, Occupant]:
    active = (
        select(Run.host, Run.state, Run.simulated).where(Run.host.in_(names), Run.state.in_(ACTIVE)).distinct()
    )
    rows = [row for row in session.execute(active) if row.host in online or row.state in COMPUTING]
    rows.sort(key=lambda row: (row.state is not RunState.LOST, not row.simulated))  # what says most comes last
    return {row.host: Occupant(row.host, _doing(row.state, row.simulated)) for row in rows}


def _doing(state: RunState, simulated: bool) -> str:
    if state is RunState.LOST:
        return "has a lost run, whose end has not been proven"
    return "computes a virtual run" if simulated else "is timing a run"


def _calibrating(session: Session, names: Iterable[str], online: set[str], queued: bool) -> dict[str, Occupant]:
    open_ones = select(StoredCalibration.cluster, StoredCalibration.state).where(
        StoredCalibration.cluster.in_(names), StoredCalibration.ended_at.is_(None)
    )
    return {
        cluster: Occupant(cluster, "is being calibrated", calibrating=True)
        for cluster, state in session.execute(open_ones)
        if state != "queued" or (queued and cluster in online)
    }


def in_turn(session: Session, names: list[str]) -> list[str]:
    """Return clusters in the order in which they may take their machines: who was served last comes last."""
    known = neighbours(session)
    shared = [name for name in names if name in known]
    if len(shared) < 2:
        return names
    served = select(Cluster.name, Cluster.served_at).where(Cluster.name.in_(shared))
    order = turns(dict(session.execute(served).all()))
    return [*(name for name in names if name not in known), *order]


def turns(served: Mapping[str, datetime | None]) -> list[str]:
    """Return clusters in the order of their turns: first those that were never served, then by their last launch.

    `served`: cluster -> when a launch was last sent to it, whatever became of that. If ends counted, one whose
    attempts fail and are repeated would have every turn. A tie goes by the name.
    """
    return sorted(served, key=lambda name: (served[name] or _NEVER, name))


def lock(session: Session, name: str) -> Cluster:
    """Lock a cluster and those on its machines, in one order everywhere; return the cluster."""
    names = {name, *neighbours(session).get(name, ())}
    rows = session.scalars(select(Cluster).where(Cluster.name.in_(names)).order_by(Cluster.name).with_for_update())
    return next(row for row in rows.all() if row.name == name)
