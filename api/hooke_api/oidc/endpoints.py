"""The endpoints of the sign-in through an OpenID provider, and of one's own accounts there."""

from __future__ import annotations

import html
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import HTMLResponse

from hooke_api.base import pages
from hooke_api.base.access import ActorOf, address_of
from hooke_api.base.checked import CheckedRoute
from hooke_api.base.errors import Unavailable
from hooke_api.base.security import Sessions, digest
from hooke_api.oidc import identities
from hooke_api.oidc.flows import Flow, local, new_flow
from hooke_api.oidc.problems import NotSignedIn, Problem, sentence
from hooke_api.oidc.returning import Returned, let_in
from hooke_api.oidc.schemas import IdentityList, OidcStart, Onward, ProviderView
from hooke_api.oidc.single_sign_on import SingleSignOn, of
from hooke_api.people.signing_in import Sent
from hooke_api.storage.database import DatabaseOf

router = APIRouter(route_class=CheckedRoute, tags=["people"])

ACCOUNT = "/account"
"""Page of the dashboard from which accounts are linked."""

SingleSignOnOf = Annotated[SingleSignOn, Depends(of)]


@router.get("/oidc", operation_id="read_provider")
async def read_provider(
    single: SingleSignOnOf,
    problem: Annotated[str | None, Query(max_length=40, description="As the callback has named it.")] = None,
) -> ProviderView:
    """Return the provider that users may sign in through, and what is said of a problem with it."""
    known = Problem(problem) if problem in list(Problem) else None
    told = sentence(known, single.name or "the provider") if known else None
    return ProviderView(name=single.name, problem=told)


@router.post("/oidc/start", operation_id="start_oidc")
async def start_oidc(asked: OidcStart, request: Request, response: Response, single: SingleSignOnOf) -> Onward:
    """Begin a sign-in through the provider; the answer sets a cookie that the callback needs, for ten minutes.

    409 if there is no provider, 503 if it does not answer.
    """
    invite = digest(asked.invite) if asked.invite else ""
    flow = new_flow(single.redirect(request), local(asked.next), invite_sha256=invite)
    return await _onward(request, response, single, flow, again=asked.again)


@router.post("/me/identities/link", operation_id="link_identity")
async def link_identity(request: Request, response: Response, actor: ActorOf, single: SingleSignOnOf) -> Onward:
    """Begin to link an account at the provider to the user of this session, as `start_oidc` does."""
    user = identities.check_session(actor)
    flow = new_flow(single.redirect(request), ACCOUNT, user=user, session=actor.id)
    return await _onward(request, response, single, flow, again=True)


async def _onward(
    request: Request, response: Response, single: SingleSignOn, flow: Flow, *, again: bool
) -> Onward:
    try:
        address = await single.ready().authorization_url(flow, again=again)
    except NotSignedIn as failed:
        raise Unavailable(sentence(failed.problem, single.name or ""), seconds=10) from None
    single.flows.keep(request, response, flow)
    return Onward(address=address)


@router.get("/oidc/callback", operation_id="finish_oidc", response_class=HTMLResponse)
async def finish_oidc(  # noqa: PLR0913 - the parameters of the address
    request: Request,
    database: DatabaseOf,
    single: SingleSignOnOf,
    code: str = "",
    state: str = "",
    error: str = "",
    iss: str = "",
) -> HTMLResponse:
    """End a sign-in: the provider sends browsers here. The answer is a page that leads on.

    It sets the cookie of a session, or leads to the page where the sign-in began, which says what failed.
    """
    flow = single.flows.find(request)
    sent = Sent(address_of(request), request.state.request_id)
    cookie, onward = None, flow.next if flow else "/"
    try:
        if single.provider is None:
            raise NotSignedIn(Problem.OFF)
        cookie = await let_in(single.provider, database, Returned(code, state, error, iss), flow, sent)
    except NotSignedIn as failed:
        onward = _explained(failed.problem, flow)
    answer = _page(onward)
    single.flows.forget(request, answer)
    if cookie is not None:
        known: Sessions = request.app.state.sessions
        known.set_cookie(request, answer, cookie)
    return answer


def _explained(problem: Problem, flow: Flow | None) -> str:
    """Return the page that says what failed: where the sign-in began."""
    if flow is not None and flow.user:
        return f"{ACCOUNT}?{urlencode({'problem': problem})}"
    following = {"next": flow.next} if flow is not None and flow.next != "/" else {}
    return f"/sign-in?{urlencode({'problem': problem} | following)}"


def _page(onward: str) -> HTMLResponse:
    """Return a page of this server that leads on at once.

    A redirect would still count as coming from the provider's site, and the cookie of the session, which is
    SameSite=Strict, would not be sent with it.
    """
    address = html.escape(onward, quote=True)
    refresh = f'<meta http-equiv="refresh" content="0;url={address}">'
    return pages.page("One moment", f'<p><a href="{address}">Go on</a></p>', head=refresh)


@router.get("/me/identities", operation_id="list_identities")
def list_identities(actor: ActorOf, database: DatabaseOf, single: SingleSignOnOf) -> IdentityList:
    """List one's own accounts at providers."""
    with database.read() as session:
        return identities.listed(session, actor, single.issuer)


@router.delete("/me/identities/{identity_id}", operation_id="unlink_identity", status_code=204)
def unlink_identity(identity_id: str, actor: ActorOf, database: DatabaseOf, single: SingleSignOnOf) -> None:
    """Unlink an account; the user's other sessions end. 409 for the last way to sign in."""
    with database.write() as session:
        identities.unlink(session, identity_id, actor, single.issuer)
