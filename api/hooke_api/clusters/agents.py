"""Endpoints of agents: registration, and proof that an attempt is alive or dead."""

from __future__ import annotations

from datetime import timedelta

from fastapi import APIRouter, Depends, Request
from hooke.errors import Fault
from hooke.spec.events import AgentHello, AgentProof
from hooke.spec.frozen import Name
from pydantic import TypeAdapter, ValidationError

from hooke_api.base.errors import Invalid
from hooke_api.base.security import require_agent
from hooke_api.clusters import service
from hooke_api.scheduling import leases
from hooke_api.storage.database import DatabaseOf

router = APIRouter(prefix="/agents", tags=["agents"], dependencies=[Depends(require_agent)])

_NAME: TypeAdapter[str] = TypeAdapter(Name)


@router.post("/hello", operation_id="agent_hello", status_code=204)
def agent_hello(said: AgentHello, request: Request, database: DatabaseOf) -> None:
    """Register a cluster, or renew its registration; bearer token of agents."""
    try:
        _NAME.validate_python(said.name)
    except ValidationError as error:
        fault = Fault(pointer="/name", message=error.errors()[0]["msg"])
        raise Invalid("this cannot be the name of a cluster", [fault]) from None
    silence = timedelta(seconds=request.app.state.settings.agent_seconds)
    with database.write() as session:
        service.hello(session, said, silence)


@router.post("/proof", operation_id="agent_proof", status_code=204)
def agent_proof(proof: AgentProof, request: Request, database: DatabaseOf) -> None:
    """Report whether an attempt is alive; the next attempt starts only after proven death.

    Bearer token of agents.
    """
    with database.write() as session:
        leases.prove(session, proof, request.app.state.settings)
