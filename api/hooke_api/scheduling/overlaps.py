"""Clusters on one machine, and the runs of theirs that have computed there at the same time."""

from __future__ import annotations

from collections import defaultdict

from hooke.spec.states import RunState
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from hooke_api.models import Cluster, Run

COMPUTING = (RunState.STARTING, RunState.RUNNING)
"""States in which a run takes cores."""


def neighbours(session: Session) -> dict[str, set[str]]:
    """Return cluster -> the others that compute on one of its machines; only clusters that have any."""
    on: dict[str, set[str]] = defaultdict(set)
    for name, machines in session.execute(select(Cluster.name, Cluster.machines)):
        for machine in machines:
            on[machine].add(name)
    found: dict[str, set[str]] = defaultdict(set)
    for names in on.values():
        for name in names if len(names) > 1 else ():
            found[name] |= names - {name}
    return dict(found)


def mark(session: Session, run: Run) -> str | None:
    """Mark the real runs that compute on the machine of one that begins to; return how this one is to be marked.

    That is the name of another cluster. It should not happen, because a launch has its machines to itself; it does
    where an agent tells its machines too late, or where a run that was taken for dead is alive.
    """
    others = neighbours(session).get(run.host)
    if not others:
        return run.overlap
    computing = (Run.host.in_(others), Run.state.in_(COMPUTING))
    first = session.scalars(select(Run.host).where(*computing).order_by(Run.host).limit(1)).first()
    if first is None:
        return run.overlap
    unmarked = update(Run).where(*computing, ~Run.simulated, Run.overlap.is_(None))
    session.execute(unmarked.values(overlap=run.host).execution_options(synchronize_session="fetch"))
    return run.overlap if run.simulated else run.overlap or first
