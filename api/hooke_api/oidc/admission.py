"""Whom the configuration admits, with which role, and how a new user is called: from the claims of a token."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from hooke_api.base.access import Role
from hooke_api.oidc.configuration import Configuration
from hooke_api.oidc.problems import NotSignedIn, Problem
from hooke_api.people.users import RESERVED

LONGEST_NAME = 50
"""Characters of a name that is made, without the number that tells it from others."""
LONGEST_LABEL = 255
_NAME = re.compile(r"[^a-z0-9._-]+")


@dataclass(frozen=True)
class Person:
    """Who signs in, as the provider says and the configuration admits."""

    issuer: str
    subject: str
    label: str
    """E-mail address or name, only to be shown."""
    names: tuple[str, ...]
    """What a new user might be called, the best first."""
    role: Role | None
    """Greatest role of the person's groups; null: none of them has one."""


class Lacking(Enum):
    """What an ID token does not say."""

    NOTHING = 0
    NAME = 1
    """How the person is called, which is only shown."""
    NEEDED = 2
    """What decides who comes in, or with which role."""


def lacking(claims: Mapping[str, Any], configuration: Configuration) -> Lacking:
    """Return what an ID token does not say, and the userinfo endpoint may: many providers keep claims for that."""
    if configuration.domains and not {"email", "email_verified"} <= claims.keys():
        return Lacking.NEEDED
    asked = configuration.groups or configuration.roles
    if asked and _claim(claims, configuration.groups_claim) is None:
        return Lacking.NEEDED
    named = any(_text(claims, each) for each in ("preferred_username", "email", "name"))
    return Lacking.NOTHING if named else Lacking.NAME


def joined(claims: Mapping[str, Any], told: Mapping[str, Any]) -> dict[str, Any]:
    """Return the claims of an ID token with those of the userinfo endpoint that it does not have.

    Raises NotSignedIn unless they are of the same person (OpenID Connect Core 1.0, section 5.3.2).
    """
    if told.get("sub") != claims["sub"]:
        raise NotSignedIn(Problem.TOKEN, "the userinfo endpoint tells of another person than the ID token")
    signed, more = dict(claims), dict(told)
    if "email" not in signed:
        signed.pop("email_verified", None)
    elif more.get("email") != signed["email"]:  # what is said of another address does not count for this one
        more.pop("email_verified", None)
    return more | signed


def admitted(claims: Mapping[str, Any], configuration: Configuration) -> Person:
    """Return who signs in. Raises NotSignedIn unless domain and groups are admitted."""
    email = _text(claims, "email")
    if configuration.domains and not (verified(claims) and _domain(email) in configuration.domains):
        raise NotSignedIn(Problem.RULE, f"the domain of {email!r} is not admitted, or the address is not verified")
    groups = values(claims, configuration.groups_claim)
    if configuration.groups and not groups & configuration.groups:
        raise NotSignedIn(Problem.RULE, f"none of the groups in {configuration.groups_claim} is admitted")
    roles = [configuration.roles[group] for group in groups if group in configuration.roles]
    said = [_text(claims, "preferred_username"), email, _text(claims, "name")]
    return Person(
        issuer=configuration.issuer,
        subject=claims["sub"],
        label=(email or said[0] or said[2] or claims["sub"])[:LONGEST_LABEL],
        names=tuple(name for each in said if (name := _name(each))),
        role=max(roles, key=lambda role: role.rank, default=None),
    )


def role_of(person: Person, configuration: Configuration) -> Role:
    """Return the role of a user whom a first sign-in makes or made. Raises NotSignedIn if there is none."""
    role = person.role or configuration.usual_role
    if role is None:
        raise NotSignedIn(Problem.RULE, f"none of the groups in {configuration.groups_claim} has a role")
    return role


def free_name(person: Person, taken: Collection[str]) -> str:
    """Return a name for a new user that nobody has: what the provider says, perhaps with a number."""
    names, number = person.names or ("user",), 2
    for name in names:
        if name not in taken and name not in RESERVED:
            return name
    while f"{names[0]}-{number}" in taken:
        number += 1
    return f"{names[0]}-{number}"


def verified(claims: Mapping[str, Any]) -> bool:
    """Return whether the provider has verified the e-mail address; some send a text instead of a boolean."""
    return claims.get("email_verified") in (True, "true")


def values(claims: Mapping[str, Any], name: str) -> frozenset[str]:
    """Return the texts of a claim, of which a part of the name may be an object: `realm_access.roles`."""
    found = _claim(claims, name)
    if isinstance(found, str):
        return frozenset({found})
    return frozenset(each for each in found if isinstance(each, str)) if isinstance(found, list) else frozenset()


def _claim(claims: Mapping[str, Any], name: str) -> Any:
    found: Any = claims.get(name)
    if found is None:
        found = claims
        for part in name.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _domain(email: str) -> str:
    name, _, domain = email.rpartition("@")
    return domain.lower() if name else ""


def _text(claims: Mapping[str, Any], name: str) -> str:
    """Return a claim if it is a printable text, else an empty one."""
    found = claims.get(name)
    return found if isinstance(found, str) and found.isprintable() else ""


def _name(said: str) -> str:
    """Return what a user may be called after a text: of an e-mail address, the part before @."""
    plain = unicodedata.normalize("NFKD", said.partition("@")[0]).encode("ascii", "ignore").decode().lower()
    return _NAME.sub("-", plain).strip("._-")[:LONGEST_NAME]
