"""What a verified person becomes here: a session, a new user, an accepted invitation, or a linked account.

Accounts are told apart by issuer and subject. An e-mail address or a name at the provider never leads to a user.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from hooke_api.base import ids
from hooke_api.base.access import Credential
from hooke_api.base.errors import TooMany, Unauthorized
from hooke_api.models import BrowserSession, User, UserIdentity, database_time
from hooke_api.oidc.admission import Person, free_name, role_of
from hooke_api.oidc.configuration import Configuration
from hooke_api.oidc.flows import Flow
from hooke_api.oidc.problems import COUNTED, NotSignedIn, Problem
from hooke_api.people import signing_in, users
from hooke_api.people.signing_in import Sent
from hooke_api.people.users import PROVIDER
from hooke_api.storage import trail
from hooke_api.storage.database import Database

MOST = 10
"""Accounts of a user."""
TIMES = 3
"""Times that a sign-in is tried: another one may take its name, or make its user, at the same moment."""


def check_address(database: Database, sent: Sent) -> None:
    """Raise NotSignedIn after too many failed sign-ins from an address, with passwords or through the provider."""
    try:
        with database.read() as session:
            signing_in.check_address(session, sent.address, database_time(session))
    except TooMany as error:
        raise NotSignedIn(Problem.BLOCKED, error.detail) from None


def note(database: Database, failed: NotSignedIn, sent: Sent) -> None:
    """Enter a failed sign-in into the audit trail, if it counts."""
    if failed.problem not in COUNTED:
        return
    with database.write() as session:
        subject = f"{PROVIDER}:{failed.problem}"
        _tell(session, PROVIDER, signing_in.FAILED, subject, sent, after={"why": str(failed)[:500]})


def enter(database: Database, configuration: Configuration, person: Person, flow: Flow, sent: Sent) -> str | None:
    """Return the cookie of a new session; None: the account was linked to the user of one. Raises NotSignedIn."""
    for _ in range(TIMES):
        try:
            with database.write() as session:
                if flow.user:
                    _link(session, person, flow, sent)
                    return None
                if flow.invite_sha256:
                    return _accept(session, person, flow.invite_sha256, sent)
                return _sign_in(session, configuration, person, sent)
        except IntegrityError:
            continue
    raise NotSignedIn(Problem.BUSY, "others signed in at the same moment")


def _sign_in(session: Session, configuration: Configuration, person: Person, sent: Sent) -> str:
    known = _known(session, person)
    if known is not None:
        user = session.get_one(User, known.user_id, with_for_update=True)
        _check_enabled(user)
        if known.role_follows and configuration.roles:
            _follow(session, user, role_of(person, configuration).value, sent)
    else:
        user = _make(session, configuration, person, sent)
        known = _identity(session, person, user, follows=True)
    return _begin(session, known, user, "sign_in", person, sent)


def _known(session: Session, person: Person) -> UserIdentity | None:
    query = select(UserIdentity).where(
        UserIdentity.issuer == person.issuer, UserIdentity.subject == person.subject
    )
    return session.scalars(query.with_for_update()).first()


def _check_enabled(user: User) -> None:
    if user.disabled:
        raise NotSignedIn(Problem.DISABLED, f"the user {user.name} is disabled")


def _follow(session: Session, user: User, role: str, sent: Sent) -> None:
    """Give a user whom a sign-in made the role that the provider's groups have now."""
    if user.role == role:
        return
    before = users.state(user)
    user.role = role
    _tell(session, PROVIDER, "change_user", user.name, sent, before=before, after=users.state(user))


def _make(session: Session, configuration: Configuration, person: Person, sent: Sent) -> User:
    """Make the user of a first sign-in. Raises NotSignedIn unless the configuration says so."""
    if not configuration.makes_users:
        raise NotSignedIn(Problem.UNINVITED, f"{person.label} ({person.subject}) is not known here")
    role = role_of(person, configuration)
    taken = set(session.scalars(select(User.name)))
    if len(taken) >= users.MOST:
        raise NotSignedIn(Problem.FULL, f"there are {users.MOST} users, the maximum")
    user = User(
        id=ids.user_id(),
        name=free_name(person, taken),
        role=role.value,
        disabled=False,
        created_by=PROVIDER,
        created_at=database_time(session),
    )
    session.add(user)
    session.flush()
    _tell(session, PROVIDER, "add_user", user.name, sent, after=users.state(user))
    return user


def _identity(session: Session, person: Person, user: User, *, follows: bool) -> UserIdentity:
    """Link an account to a user. Raises NotSignedIn if they have too many."""
    query = select(func.count()).where(UserIdentity.user_id == user.id)
    if session.execute(query).scalar_one() >= MOST:
        raise NotSignedIn(Problem.FULL, f"{user.name} has {MOST} accounts, the maximum")
    made = UserIdentity(
        id=ids.identity_id(),
        user_id=user.id,
        issuer=person.issuer,
        subject=person.subject,
        label=person.label,
        role_follows=follows,
        created_at=database_time(session),
    )
    session.add(made)
    session.flush()
    return made


def _accept(session: Session, person: Person, invite_sha256: str, sent: Sent) -> str:
    """Accept an invitation by an account instead of a password; every other session of the user ends."""
    try:
        user = signing_in.invited(session, invite_sha256, lock=True)
    except Unauthorized as error:
        raise NotSignedIn(Problem.INVITATION, error.detail) from None
    known = _mine(session, person, user)
    signing_in.use_invitation(session, user)
    return _begin(session, known, user, "accept_invite", person, sent)


def _mine(session: Session, person: Person, user: User) -> UserIdentity:
    """Return the account of a user, linked now if it was not. Raises NotSignedIn if it is somebody else's."""
    known = _known(session, person)
    if known is not None and known.user_id != user.id:
        raise NotSignedIn(Problem.TAKEN, f"{person.label} ({person.subject}) is linked to another user")
    return known or _identity(session, person, user, follows=False)


def _link(session: Session, person: Person, flow: Flow, sent: Sent) -> None:
    """Link an account to the user who asked for it with a session that goes on."""
    row = session.get(BrowserSession, flow.session)
    if row is None or row.user_id != flow.user:
        raise NotSignedIn(Problem.SESSION, "the session has ended")
    user = session.get_one(User, flow.user, with_for_update=True)
    _check_enabled(user)
    known = _mine(session, person, user)
    known.label = person.label
    credential = f"{Credential.SESSION} {flow.session}"
    _tell(session, user.name, "link_identity", user.name, sent, credential=credential, after=about(known))


def _begin(  # noqa: PLR0913 - what the entry says
    session: Session, known: UserIdentity, user: User, action: str, person: Person, sent: Sent
) -> str:
    known.used_at, known.label = database_time(session), person.label
    return signing_in.begin(session, user, action, sent, f"identity {known.id}", after=about(known))


def about(identity: UserIdentity) -> dict[str, str]:
    """Return what the audit trail tells of an account."""
    return {"issuer": identity.issuer, "subject": identity.subject, "label": identity.label}


def _tell(  # noqa: PLR0913 - the columns of the trail
    session: Session,
    actor: str,
    action: str,
    subject: str,
    sent: Sent,
    *,
    credential: str = "",
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> None:
    trail.add(
        session,
        actor,
        action,
        subject,
        credential=credential,
        address=sent.address,
        request_id=sent.request_id,
        before=before,
        after=after,
    )
