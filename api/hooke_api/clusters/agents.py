"""Endpoints of agents: registration, and proof that an attempt is alive or dead."""

from __future__ import annotations

from datetime import timedelta

from fastapi import APIRouter, Request
from hooke.errors import Fault
from hooke.spec.events import AgentHello, AgentProof
from hooke.spec.frozen import Name
from hooke.spec.protocol import AgentWelcome
from pydantic import TypeAdapter, ValidationError

from hooke_api.base.errors import Invalid
from hooke_api.base.security import server_mark
from hooke_api.clusters import registration, tokens
from hooke_api.clusters.tokens import CallerOf
from hooke_api.models import Run
from hooke_api.scheduling import leases
from hooke_api.storage.database import DatabaseOf

router = APIRouter(prefix="/agents", tags=["agents"])

_NAME: TypeAdapter[str] = TypeAdapter(Name)


@router.post("/hello", operation_id="agent_hello")
def agent_hello(who: CallerOf, said: AgentHello, request: Request, database: DatabaseOf) -> AgentWelcome:
    """Register a cluster, or renew its registration; bearer token of the cluster.

    409: its agent is of a version that this server cannot work with, or the cluster has another agent.
    """
    try:
        _NAME.validate_python(said.name)
    except ValidationError as error:
        fault = Fault(pointer="/name", message=error.errors()[0]["msg"])
        raise Invalid("this cannot be the name of a cluster", [fault]) from None
    who.speaks_for(said.name)
    silence = timedelta(seconds=request.app.state.settings.agent_seconds)
    mark = server_mark(request.app.state.settings.agents)
    with database.write() as session:
        tokens.confirm(session, who)
        welcome = registration.hello(session, said, silence, who.token)
    request.app.state.bus.mark(mark)
    return welcome.model_copy(update={"broker": mark})


@router.post("/proof", operation_id="agent_proof", status_code=204)
def agent_proof(who: CallerOf, proof: AgentProof, request: Request, database: DatabaseOf) -> None:
    """Report whether an attempt is alive; the next attempt starts only after proven death.

    Bearer token of the cluster of the run; a token of another one is refused (403), and so is another agent than
    that of the cluster (409), which does not know what the present one has started.
    """
    with database.write() as session:
        tokens.confirm(session, who)
        run = session.get(Run, proof.run)
        if run is not None:
            who.speaks_for(run.host)
            registration.check_agent(session, run.host, proof.agent)
        leases.prove(session, proof, request.app.state.settings)
