"""Requests and responses of users, tokens, sessions and the audit trail."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import ConfigDict, Field, StrictBool, StringConstraints

from hooke_api.base.access import Credential, Role, Scope
from hooke_api.base.schema import View
from hooke_api.people.passwords import MOST

UserName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$")]
Password = Annotated[str, Field(min_length=1, max_length=MOST)]
Secret = Annotated[str, Field(min_length=1, max_length=200)]
Label = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._@/-]{0,99}$")]
TokenScope = Annotated[
    str, StringConstraints(pattern=r"^(read|submit|operate|admin|agent:[a-z0-9][a-z0-9._-]{0,62})$")
]


class Request(View):
    """A body with known fields only."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SignIn(Request):
    """Name and password of a user."""

    name: Annotated[str, Field(min_length=1, max_length=64)]
    password: Password


class Acceptance(Request):
    """The secret of an invitation, and the password that its user chooses."""

    invite: Secret
    """The secret of the invitation."""
    password: Password


class PasswordChange(Request):
    """The present password and the next one."""

    current: Password
    """The present password."""
    password: Password
    """The new password."""


class Me(View):
    """Who sends this request, and what they may do."""

    name: str
    """Name of the user or machine; `owner` for the start-up token."""
    role: Role
    credential: Credential
    """What the request was sent with."""
    is_user: bool
    """Whether this is a user of the database: neither the owner nor a machine."""
    users: bool
    """Whether the server has users; without any, only its owner signs in, with the start-up token."""
    projects: dict[str, Role]
    """Role in each project of which one is a member, by its name; in the default one `role` counts."""


class UserView(View):
    """A user."""

    name: str
    role: Role
    disabled: bool
    """Whether the user can no longer sign in."""
    has_password: bool
    """Whether the user has chosen a password."""
    linked: bool
    """Whether an account at a provider signs the user in."""
    created_by: str
    created_at: datetime
    signed_in_at: datetime | None
    """When the latest session began."""
    invite_until: datetime | None
    """Until when an invitation can be accepted; null: there is none."""


class UserList(View):
    """The users, by name."""

    items: list[UserView]


class NewUser(Request):
    """A user to be invited."""

    name: UserName
    role: Role = Role.RESEARCHER


class UserChange(Request):
    """What changes of a user; null: nothing."""

    role: Role | None = None
    disabled: StrictBool | None = Field(
        None, description="A disabled user cannot sign in; sessions and tokens end at once."
    )


class NewInvite(View):
    """An invitation, which sets the password of its user once."""

    user: UserView
    path: str
    """Path of the page that accepts it, with the secret behind `#`; shown only here."""


class AccessTokenRequest(Request):
    """What a new token is for."""

    label: Label
    scope: TokenScope = Field(
        Scope.READ.value,
        description="read, submit, operate or admin, each with those before it; or agent:CLUSTER. "
        "Never more than the role of its maker allows.",
    )
    days: Annotated[int, Field(ge=1, le=730, strict=True, description="Days until it expires.")] = 90
    machine: StrictBool = Field(
        False,
        description="Create a token of a machine, which the label names, not of the user; administrators only.",
    )


class TokenView(View):
    """A token without its secret."""

    id: str
    user: str | None
    """Its user; null: it is a machine's."""
    label: str
    scope: str
    """What it allows, as in `AccessTokenRequest`."""
    created_by: str
    created_at: datetime
    expires_at: datetime | None
    """When it expires; an agent renews its own before. Null: never, as agents' tokens of earlier versions."""
    used_at: datetime | None
    """When it was last used, to within a minute; null: never."""
    revoked_at: datetime | None
    """When it was revoked; null: it was not."""


class TokenList(View):
    """Tokens, the oldest first."""

    items: list[TokenView]


class NewToken(TokenView):
    """A token that has just been made."""

    token: str
    """The secret, shown only here."""


class TrailEntryView(View):
    """An entry of the audit trail."""

    id: int
    """Its number; later entries have larger ones."""
    at: datetime
    """When it happened."""
    actor: str
    """Who did it: the owner, a user or a machine; of a failed sign-in, the name that was given."""
    credential: str
    """What the request was sent with: kind and id."""
    address: str
    """Network address that the request came from."""
    action: str
    """The operation of this API; `sign_in_failed` for a failed one."""
    subject: str
    """Identifiers of what was changed."""
    before: dict[str, Any] | None
    """What was changed, as it was before; null: there was nothing."""
    after: dict[str, Any] | None
    """What was changed, as it was afterwards; null: there is nothing."""
    request_id: str


class TrailPage(View):
    """One page of the audit trail, newest first."""

    items: list[TrailEntryView]
    next_cursor: str | None
