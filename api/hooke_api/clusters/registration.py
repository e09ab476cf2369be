"""Registration of a cluster by the hello of its agent."""

from __future__ import annotations

from datetime import datetime, timedelta
from importlib.metadata import version
from typing import Any

from hooke.spec.events import AgentHello, Described
from hooke.spec.protocol import OLDEST, PROTOCOL, AgentWelcome, refusal
from sqlalchemy import delete, func, insert, select
from sqlalchemy.orm import Session

from hooke_api.base.errors import Conflict
from hooke_api.models import DEFAULT_PROJECT, CatalogueEntry, Cluster, Run, database_time
from hooke_api.scheduling.lifecycle import ACTIVE
from hooke_api.storage import trail
from hooke_api.storage.outbox import announce, wake_scheduler


def hello(
    session: Session,
    said: AgentHello,
    silence: timedelta,
    token: str | None = None,
    agent_clock: float | None = None,
) -> AgentWelcome:
    """Store the hello of an agent; a new or returning cluster wakes the scheduler. `token`: the id of its token.

    `agent_clock`: the time by the agent's clock, seconds since 1970; nothing depends on it, it is displayed.

    Raises Conflict if the agent is of a version that this one cannot work with, or if the cluster has another
    agent.
    """
    remedy = f"install hooke {version('hooke')} on the cluster"
    if why := refusal((said.protocol, said.oldest), f"the agent of {said.name}", remedy):
        raise Conflict(why)
    at = database_time(session)
    cluster = session.get(Cluster, said.name, with_for_update=True)
    news = cluster is None or cluster.seen_at < at - silence
    if cluster is None:
        cluster = Cluster(name=said.name, project_id=DEFAULT_PROJECT, created_by="agent", created_at=at)
        session.add(cluster)
        _note(session, said, token, None)
    elif said.agent != cluster.agent and cluster.agent is not None:
        _replace(session, cluster, at, silence)
        _note(session, said, token, cluster)
    elif said.place != cluster.place and cluster.place is not None:
        _move(session, cluster, said.place, at, silence)
        _note(session, said, token, cluster)
    news = _update(cluster, said) or news
    cluster.token = token
    cluster.seen_at = at
    cluster.clock_offset = None if agent_clock is None else round(agent_clock - at.timestamp(), 3)
    session.flush()
    _store_catalogue(session, said.name, "algorithm", said.algorithms)
    _store_catalogue(session, said.name, "workload", said.workloads)
    if news or said.algorithms is not None:
        announce(session, "clusters", {})
        wake_scheduler(session)
    return AgentWelcome(
        protocol=PROTOCOL, oldest=OLDEST, version=version("hooke-api"), draining=bool(cluster.draining)
    )


def _note(session: Session, said: AgentHello, token: str | None, before: Cluster | None) -> None:
    """Add an entry of the audit trail for an agent that joins, or takes the place of another one."""
    trail.add(
        session,
        "agent",
        "agent_hello",
        said.name,
        credential=token or "agent token of the server",
        before={"agent": before.agent, "place": before.place, "token": before.token} if before else None,
        after={"agent": said.agent, "place": said.place, "token": token},
    )


def _replace(session: Session, cluster: Cluster, at: datetime, silence: timedelta) -> None:
    """Raise Conflict unless another agent may take the place of the present one.

    An agent knows only the runs in its own home folder, and would declare those of another one dead.
    """
    where = cluster.hardware.get("host", "another host")
    if cluster.seen_at >= at - silence:
        ago = (at - cluster.seen_at).total_seconds()
        raise Conflict(
            f"the cluster {cluster.name!r} has another agent, on {where}, which reported {ago:.0f} s ago: stop it "
            f"and wait {silence.total_seconds():.0f} s, or start this one with its --home, or under another name"
        )
    if active := _active(session, cluster.name):
        raise Conflict(
            f"the cluster {cluster.name!r} has {active} active run{'s' * (active != 1)} of another agent, "
            f"on {where}, which alone can say whether they still run: start that one again, with its --home"
        )


def _move(session: Session, cluster: Cluster, place: str | None, at: datetime, silence: timedelta) -> None:
    """Raise Conflict unless an agent may go on in another place: its home folder may be a copy, and both alive."""
    runs = _active(session, cluster.name)
    if cluster.seen_at >= at - silence or runs:
        last = f"{(at - cluster.seen_at).total_seconds():.0f} s ago" + (f", with {runs} active" if runs else "")
        raise Conflict(
            f"the agent of {cluster.name!r} reported from {cluster.place} {last}; now the same identity reports "
            f"from {place}. If its folder was copied, remove `agent-id` from the copy; if it was moved, start it "
            f"in the former place until its runs have ended; without any, wait {silence.total_seconds():.0f} s"
        )


def check_agent(session: Session, name: str, agent: str | None) -> None:
    """Raise Conflict unless this is the present agent of a cluster, if that one has an identity."""
    cluster = session.get(Cluster, name)
    if cluster is not None and cluster.agent is not None and cluster.agent != agent:
        raise Conflict(f"{agent or 'an agent without identity'} is not the agent of {name!r}")


def _active(session: Session, name: str) -> int:
    query = select(func.count()).where(Run.host == name, Run.state.in_(ACTIVE))
    return session.execute(query).scalar_one()


def _update(cluster: Cluster, said: AgentHello) -> bool:
    """Write what an agent says of its cluster; return whether anything is new."""
    documents: dict[str, Any] = {"hardware": dict(said.hardware), "versions": dict(said.versions)}
    if said.problems is not None:
        documents["problems"] = [problem.model_dump() for problem in said.problems]
    plain = {
        "cores": said.cores,
        "slots": said.slots,
        "launcher": said.launcher,
        "agent": said.agent,
        "protocol": said.protocol,
        "place": said.place,
        "machines": list(said.machines),
        "missing_data": dict(said.missing_data or {}),
    }
    news = False
    for name, value in {**plain, **documents}.items():
        if getattr(cluster, name, None) != value:
            setattr(cluster, name, value)
            news = True
    return news


def _store_catalogue(session: Session, cluster: str, kind: str, entries: list[Described] | None) -> None:
    if entries is None:
        return
    session.execute(delete(CatalogueEntry).where(CatalogueEntry.cluster == cluster, CatalogueEntry.kind == kind))
    documents = {entry.name: entry.model_dump(mode="json") for entry in entries}
    rows = [{"cluster": cluster, "kind": kind, "name": n, "document": d} for n, d in documents.items()]
    if rows:
        session.execute(insert(CatalogueEntry), rows)
