"""Endpoints of agents: registration, orders, and proof that an attempt is alive or dead."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Header, Request, Response
from hooke.errors import Fault
from hooke.spec.attempts import AgentProof, FailedLaunch, ForgetReport
from hooke.spec.events import AgentHello
from hooke.spec.frozen import Name
from hooke.spec.orders import ClaimedOrder, OrderClaim
from hooke.spec.pointers import message
from hooke.spec.protocol import CLOCK, RENEW, AgentWelcome, RenewedToken
from pydantic import TypeAdapter, ValidationError
from sqlalchemy import select

from hooke_api.base.checked import CheckedRoute
from hooke_api.base.errors import Conflict, Invalid, ResourceNotFound
from hooke_api.base.security import server_mark
from hooke_api.clusters import registration, renewals, tokens
from hooke_api.clusters.tokens import CallerOf
from hooke_api.models import Cluster, ClusterToken, Run, database_time
from hooke_api.scheduling import forgetting, holds, leases, orders
from hooke_api.storage import trail
from hooke_api.storage.database import DatabaseOf

router = APIRouter(route_class=CheckedRoute, prefix="/agents", tags=["agents"])

_NAME: TypeAdapter[str] = TypeAdapter(Name)
AgentClock = Annotated[
    float | None,
    Header(
        alias=CLOCK,
        allow_inf_nan=False,
        ge=-1e12,
        le=1e12,
        description="Time by the agent's clock, seconds since 1970. It is displayed; nothing depends on it.",
    ),
]


@router.post("/hello", operation_id="agent_hello")
def agent_hello(
    who: CallerOf,
    said: AgentHello,
    request: Request,
    response: Response,
    database: DatabaseOf,
    agent_clock: AgentClock = None,
) -> AgentWelcome:
    """Register a cluster, or renew its registration; bearer token of the cluster.

    A header of the answer asks the agent to renew its token, when that is due.

    409: its agent is of a version that this server cannot work with, or the cluster has another agent.
    """
    try:
        _NAME.validate_python(said.name)
    except ValidationError as error:
        fault = Fault(pointer="/name", message=message(error.errors()[0]))
        raise Invalid("this is not a valid name of a cluster", [fault]) from None
    who.speaks_for(said.name)
    silence = timedelta(seconds=request.app.state.settings.agent_seconds)
    mark = server_mark(request.app.state.settings.agents)
    with database.write() as session:
        tokens.confirm(session, who, said.name)
        welcome = registration.hello(session, said, silence, who.token, agent_clock)
        mine = session.get(ClusterToken, who.token) if who.token else None
        if mine is not None and renewals.due(session, mine, database_time(session)):
            response.headers[RENEW] = "true"
    marked = request.app.state.bus.mark(mark)
    return welcome.model_copy(update={"broker": mark if marked else None})


@router.post("/token", operation_id="agent_renew_token", status_code=201)
def agent_renew_token(who: CallerOf, database: DatabaseOf) -> RenewedToken:
    """Make a token in place of the one that is sent, which ends five minutes after the new one is first used.

    409 for the server's own agent token, which is a file of the server, and for a token that was renewed before
    by one that has been used.
    """
    with database.write() as session:
        tokens.confirm(session, who, None)
        if who.token is None:
            raise Conflict("the server's own agent token is a file of the server and does not expire")
        former = session.get_one(ClusterToken, who.token)
        made, secret = renewals.renew(session, former)
        about = {"token": made.id, "expires_at": str(made.expires_at), "renews": former.id}
        trail.add(session, "agent", "agent_renew_token", made.cluster, credential=former.id, after=about)
    return RenewedToken(token=secret)


@router.post("/claim", operation_id="agent_claim")
def agent_claim(who: CallerOf, asked: OrderClaim, database: DatabaseOf) -> ClaimedOrder:
    """Claim an order that the broker named: what is to be started, ended, probed, calibrated or removed.

    Bearer token of the cluster, and identity of the agent that the order is for; 404 for all others, as for an
    order that does not exist. 410: it has expired, the cluster has another agent, or nothing is left of it, as the
    run has begun, ended or been cancelled. A repeated claim gets the same, with another token of each attempt; the
    token that reports first is the only one from then on.
    """
    with database.write() as session:
        order = orders.find(session, asked, who.cluster)
        tokens.confirm(session, who, order.cluster if order else None)
        if order is None:
            raise ResourceNotFound(f"there is no order {asked.order} for this agent")
        return orders.claim(session, order)


@router.post("/proof", operation_id="agent_proof", status_code=204)
def agent_proof(who: CallerOf, proof: AgentProof, request: Request, database: DatabaseOf) -> None:
    """Report whether an attempt is alive; the next attempt starts only after proven death.

    Bearer token of the cluster of the run; a token of another one is refused (403), and so is another agent than
    that of the cluster (409), which does not know what the present one has started, and a death of an attempt that
    has reported, without the attempt's own token (403).
    """
    with database.write() as session:
        run = session.get(Run, proof.run)
        tokens.confirm(session, who, run.host if run else None)
        if run is not None:
            registration.check_agent(session, run.host, proof.agent)
        leases.prove(session, proof, request.app.state.settings)


@router.post("/failed-launch", operation_id="agent_failed_launch", status_code=204)
def agent_failed_launch(who: CallerOf, failed: FailedLaunch, database: DatabaseOf) -> None:
    """Report attempts that the agent could not start, with the cause: they are queued again.

    Bearer token of the cluster of the runs, and identity of its agent, as for a proof. The cluster gets no runs
    for a while, longer after each failed launch until one starts.
    """
    asked = [each.run for each in failed.attempts]
    with database.write() as session:
        hosts = dict(session.execute(select(Run.id, Run.host).where(Run.id.in_(asked))).all())
        if not hosts:
            tokens.confirm(session, who, None)
        for host in sorted(set(hosts.values())):
            tokens.confirm(session, who, host)
            registration.check_agent(session, host, failed.agent)
            count = leases.failed_launch(session, failed, [run for run, place in hosts.items() if place == host])
            cluster = session.get(Cluster, host, with_for_update=True)
            if count and cluster is not None:
                holds.hold(session, cluster, failed.why)


@router.post("/forgotten", operation_id="agent_forgotten", status_code=204)
def agent_forgotten(who: CallerOf, report: ForgetReport, database: DatabaseOf) -> None:
    """Report of which deleted runs nothing is left on the cluster, and why something of others is.

    Bearer token of the cluster of the runs, and identity of its agent, as for a proof.
    """
    told = [*report.forgotten, *(each.run for each in report.kept)]
    with database.write() as session:
        clusters = forgetting.of_cluster(session, told)
        if not clusters:
            tokens.confirm(session, who, None)
        for cluster in sorted(set(clusters.values())):
            tokens.confirm(session, who, cluster)
            registration.check_agent(session, cluster, report.agent)
            forgetting.confirm(session, report, {run for run, place in clusters.items() if place == cluster})
