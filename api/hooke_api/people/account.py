"""The endpoints of one's own account: sign-in, sign-out, invitation, password; and who one is."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from hooke_api.base.access import Actor, ActorOf, Credential, Role, address_of
from hooke_api.base.checked import CheckedRoute
from hooke_api.base.errors import Unauthorized
from hooke_api.base.security import Sessions
from hooke_api.people import sessions, signing_in
from hooke_api.people.accounts import Accounts
from hooke_api.people.passwords import Passwords
from hooke_api.people.schemas import Acceptance, Me, PasswordChange, SignIn
from hooke_api.people.signing_in import Attempt, Sent
from hooke_api.storage import trail
from hooke_api.storage.database import Database, DatabaseOf

router = APIRouter(route_class=CheckedRoute, tags=["people"])


@router.post("/sign-in", operation_id="sign_in")
async def sign_in(asked: SignIn, request: Request, response: Response, database: DatabaseOf) -> Me:
    """Sign a browser in with name and password; the answer sets the cookie of a session.

    401 for a wrong name or password alike; 429 after ten failures of a name, or 30 of an address, in 15 minutes.
    """
    attempt = Attempt(address_of(request), request.state.request_id, asked.name, asked.password)
    passwords: Passwords = request.app.state.passwords
    cookie = await passwords.run(partial(signing_in.sign_in, database, passwords, attempt))
    return await _welcome(request, response, cookie)


@router.post("/invites/accept", operation_id="accept_invite")
async def accept_invite(asked: Acceptance, request: Request, response: Response, database: DatabaseOf) -> Me:
    """Set the password of an invited user, once; the answer sets the cookie of a session."""
    sent = Sent(address_of(request), request.state.request_id)
    passwords: Passwords = request.app.state.passwords
    work = partial(signing_in.accept, database, passwords, asked.invite, asked.password, sent)
    return await _welcome(request, response, await passwords.run(work))


async def _welcome(request: Request, response: Response, cookie: str) -> Me:
    """Set the cookie of a new session; return whose it is."""
    accounts: Accounts = request.app.state.accounts
    actor = await run_in_threadpool(accounts.by_session, cookie)
    if actor is None:
        raise Unauthorized("this account has just been disabled")
    known: Sessions = request.app.state.sessions
    known.set_cookie(request, response, cookie)
    return _me(actor, await run_in_threadpool(accounts.projects_of, actor), users=True)


def _me(actor: Actor, projects: dict[str, Role], *, users: bool) -> Me:
    return Me(
        name=actor.name,
        role=actor.role,
        credential=actor.credential,
        is_user=actor.user is not None,
        users=users,
        projects=projects,
    )


@router.get("/me", operation_id="read_me")
def read_me(request: Request, actor: ActorOf) -> Me:
    """Return who sends this request, and with which role."""
    accounts: Accounts = request.app.state.accounts
    return _me(actor, accounts.projects_of(actor), users=actor.user is not None or accounts.any())


@router.post("/sign-out", operation_id="sign_out", status_code=204)
def sign_out(request: Request, response: Response, actor: ActorOf, database: DatabaseOf) -> None:
    """End the session of this browser; a token is not changed: revoke it."""
    if actor.credential is not Credential.TOKEN and actor.id:
        with database.write() as session:
            sessions.end(session, actor.id)
            trail.tell(session, before={"session": actor.id}, after={"session": None})
    known: Sessions = request.app.state.sessions
    known.delete_cookie(request, response)


@router.put("/me/password", operation_id="change_password", status_code=204)
async def change_password(asked: PasswordChange, request: Request, actor: ActorOf, database: DatabaseOf) -> None:
    """Change one's own password; every other session of the user ends. 409 without a session of a user."""
    passwords: Passwords = request.app.state.passwords
    await passwords.run(partial(_change, database, passwords, actor, asked))


def _change(database: Database, passwords: Passwords, actor: Actor, asked: PasswordChange) -> None:
    signing_in.change_password(database, passwords, actor, asked.current, asked.password)
