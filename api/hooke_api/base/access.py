"""Who sends a request and what they may do: roles, scopes of tokens, and the actor of the present request."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from ipaddress import IPv6Network, ip_address
from typing import Annotated

from fastapi import Depends, Request

from hooke_api.base.errors import Forbidden

OWNER = "owner"
"""Name of the holder of the start-up token, who is an administrator and no user in the database."""


class Role(StrEnum):
    """What a user may do; each role includes those before it."""

    VIEWER = "viewer"
    RESEARCHER = "researcher"
    OPERATOR = "operator"
    ADMIN = "admin"

    @property
    def rank(self) -> int:
        """Return its place in the order of roles, from 0."""
        return list(Role).index(self)


class Scope(StrEnum):
    """What a token may do, at most: as much as the role at the same place; each includes those before it."""

    READ = "read"
    SUBMIT = "submit"
    OPERATE = "operate"
    ADMIN = "admin"

    @property
    def role(self) -> Role:
        """Return the role that the scope is as much as."""
        return list(Role)[list(Scope).index(self)]


AGENT_SCOPE = "agent:"
"""Beginning of the scope of an agent's token; the name of its cluster follows."""


class Credential(StrEnum):
    """What a request was sent with."""

    START = "start-up token"
    SESSION = "session"
    TOKEN = "token"  # noqa: S105 - the word, not a secret


@dataclass(frozen=True)
class Actor:
    """Who sends a request: the owner, a user, or a machine with a token."""

    name: str
    """As stored in `created_by` and in the audit trail."""
    role: Role
    """Of a token: the lesser of its scope and of the role of its user."""
    credential: Credential
    id: str = ""
    """Of the session or token; empty for the start-up token."""
    user: str | None = None
    """Id of the user; null: the owner, or a machine."""
    address: str = ""
    everywhere: bool = False
    """Whether the role holds in every project: of an administrator, also with a token that may less."""
    projects: Mapping[str, Role] = field(default_factory=dict, hash=False)
    """Project id -> role of the membership; of a token, at most its scope. The rule: `hooke_api.base.reach`."""
    site: Role | None = None
    """Role on the site, where `role` is that in the project of what the request is about; None: the same."""

    def may(self, least: Role) -> bool:
        """Return whether the role is at least this one."""
        return self.role.rank >= least.rank

    def check_owner(self, created_by: str, what: str) -> None:
        """Raise Forbidden unless the actor made this, or is at least an operator."""
        if created_by != self.name and not self.may(Role.OPERATOR):
            raise Forbidden(
                f"{what} is of {created_by}: only its user, an operator or an administrator can change it"
            )


@dataclass(frozen=True)
class Change:
    """A request of an actor that may change something."""

    actor: Actor
    operation: str
    subject: str
    """Identifiers in its address."""
    request_id: str


changing: ContextVar[Change | None] = ContextVar("hooke_change", default=None)
"""The change that is being handled; every transaction that writes meanwhile is recorded in the audit trail."""


def owner(address: str = "") -> Actor:
    """Return the holder of the start-up token."""
    return Actor(OWNER, Role.ADMIN, Credential.START, address=address)


def at_address(actor: Actor, address: str) -> Actor:
    """Return the actor with the address that the request came from."""
    return replace(actor, address=address)


def subject_of(parameters: Mapping[str, str]) -> str:
    """Return the identifiers in an address as one text."""
    return "/".join(parameters.values())


def address_of(request: Request) -> str:
    """Return the address that a request came from; empty for a socket in the file system."""
    return _plain(request.client.host) if request.client else ""


@lru_cache(4096)
def _plain(address: str) -> str:
    """Return an IPv4 address as such: a socket for both versions, or a proxy, may say ::ffff:192.0.2.1."""
    try:
        return str(getattr(ip_address(address), "ipv4_mapped", None) or address)
    except ValueError:
        return address


@lru_cache(4096)
def network_of(address: str) -> str:
    """Return what counts as one client: an address of IPv4; of IPv6 its /64, in which one client has them all."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if found.version == 4:
        return address
    mapped = getattr(found, "ipv4_mapped", None)
    return str(mapped or IPv6Network((int(found) >> 64 << 64, 64)))


async def actor_of(request: Request) -> Actor:
    """Return who sends a request, as the gate has found."""
    actor: Actor = request.state.actor
    return actor


ActorOf = Annotated[Actor, Depends(actor_of)]
"""Parameter of an endpoint."""
