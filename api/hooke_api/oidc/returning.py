"""A browser that the provider has sent back: who it says that this is, and what they become here."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import structlog
from starlette.concurrency import run_in_threadpool

from hooke_api.base.errors import AWAY, Unavailable
from hooke_api.base.security import same
from hooke_api.oidc import entering
from hooke_api.oidc.admission import Person, admitted
from hooke_api.oidc.flows import Flow
from hooke_api.oidc.problems import NotSignedIn, Problem
from hooke_api.oidc.provider import Provider
from hooke_api.people.signing_in import Sent
from hooke_api.storage.database import Database

CANNOT_STORE = (*AWAY, Unavailable)
"""What is raised while the database cannot store a sign-in."""

log = structlog.get_logger("hooke.oidc")


@dataclass(frozen=True)
class Returned:
    """What the provider has put into the address (RFC 6749, section 4.1.2; RFC 9207)."""

    code: str = ""
    state: str = ""
    error: str = ""
    iss: str = ""


async def person_of(provider: Provider, returned: Returned, flow: Flow | None) -> tuple[Person, Flow]:
    """Return who has been identified, by which sign-in. Raises NotSignedIn.

    `flow`: the sign-in of this browser, if there is one.
    """
    if flow is None or not same(returned.state, flow.state):
        raise NotSignedIn(Problem.STATE, "no sign-in of this browser has this state")
    if returned.iss and returned.iss != provider.configuration.issuer:
        raise NotSignedIn(Problem.TOKEN, f"the answer is of {returned.iss[:100]!r}")
    if returned.error:
        denied = returned.error == "access_denied"
        raise NotSignedIn(Problem.DENIED if denied else Problem.AWAY, f"it answers {returned.error[:100]!r}")
    if not returned.code:
        raise NotSignedIn(Problem.STATE, "the answer has no code")
    tokens = await provider.redeem(returned.code, flow)
    return admitted(await provider.claims(tokens, flow.nonce), provider.configuration), flow


async def let_in(
    provider: Provider, database: Database, returned: Returned, flow: Flow | None, sent: Sent
) -> str | None:
    """Return the cookie of a new session; None: an account was linked. Raises NotSignedIn, noted in the trail."""
    try:
        return await _enter(provider, database, returned, flow, sent)
    except NotSignedIn as failed:
        log.info("nobody was signed in", problem=failed.problem.value, why=str(failed), request_id=sent.request_id)
        # without a sign-in, any other site could have sent the browser here: that does not count
        if flow is not None:
            with suppress(*CANNOT_STORE):
                await run_in_threadpool(entering.note, database, failed, sent)
        raise


async def _enter(
    provider: Provider, database: Database, returned: Returned, flow: Flow | None, sent: Sent
) -> str | None:
    try:
        await run_in_threadpool(entering.check_address, database, sent)
        person, flow = await person_of(provider, returned, flow)
        return await run_in_threadpool(entering.enter, database, provider.configuration, person, flow, sent)
    except CANNOT_STORE as error:
        raise NotSignedIn(Problem.BUSY, f"the database does not respond: {type(error).__name__}") from None
