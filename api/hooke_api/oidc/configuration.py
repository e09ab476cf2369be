"""The configuration of the OpenID provider: read leniently, with a sentence for each fault.

A wrong setting switches the provider off and nothing else: passwords and the start-up token go on signing in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from hooke.errors import ArgumentError

from hooke_api.base.access import Role
from hooke_api.base.settings import Settings, given_secret

PACKAGES = ("authlib", "joserfc")
LONGEST = 255
"""Characters of an issuer, as the table of identities holds them."""
INVITED, MAPPED = "invited", "mapped"
"""Values of HOOKE_OIDC_NEW_USERS beside roles."""
_DOMAIN = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+")
_PRINTABLE = re.compile(r"[!-~]+")
_SECRET = re.compile(r"[ -~]+")
_LINE = re.compile(r"[^\x00-\x1f\x7f]{1,60}")


@dataclass(frozen=True)
class Configuration:
    """A provider that users sign in through."""

    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    """Empty: a public client."""
    name: str = ""
    scopes: str = "openid"
    domains: frozenset[str] = frozenset()
    """Of e-mail addresses that may sign in; empty: all."""
    groups_claim: str = "groups"
    groups: frozenset[str] = frozenset()
    """Values of that claim of which one is needed; empty: none is."""
    roles: Mapping[str, Role] = field(default_factory=dict)
    """Value of that claim -> role."""
    makes_users: bool = False
    """Whether a first sign-in may make a user."""
    usual_role: Role | None = None
    """Role of a user whom a first sign-in made, if no value has one; null: such a person may not sign in."""
    public_url: str | None = None
    """Address under which browsers reach this server; null: as they address it."""


def read(settings: Settings) -> tuple[Configuration | None, list[str]]:
    """Return the provider and what is wrong with its settings; no provider if there is a fault or no issuer."""
    given = sorted(
        name for name in Settings.model_fields if name.startswith("oidc_") and name in settings.model_fields_set
    )
    if not settings.oidc_issuer:
        named = ", ".join(f"HOOKE_{name.upper()}" for name in given if getattr(settings, name))
        return None, [f"HOOKE_OIDC_ISSUER is not set; without it there is no use for {named}"] if named else []
    reader = _Reader(settings)
    found = reader.configuration()
    return (None, reader.faults) if reader.faults else (found, [])


def loopback(url: str) -> bool:
    """Return whether an address is one of this host."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def protected(url: str) -> bool:
    """Return whether a connection to an address cannot be listened to: TLS, or this host."""
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and (parts.scheme == "https" or (parts.scheme == "http" and loopback(url)))
    except ValueError:
        return False


class _Reader:
    """Reads the settings one by one, and collects their faults."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.faults: list[str] = []

    def configuration(self) -> Configuration:
        settings = self.settings
        roles = self._roles()
        domains = frozenset(each.lower().removeprefix("@") for each in self._texts("oidc_domains"))
        if not all(map(_DOMAIN.fullmatch, domains)):
            self._fault("oidc_domains", 'must be a JSON list of domains such as ["example.org"]')
        groups = frozenset(self._texts("oidc_groups"))
        makes, usual = self._new_users(roles, restricted=bool(domains or groups))
        for package in PACKAGES:
            if find_spec(package) is None:
                install = "pip install -c constraints.txt -e 'api[oidc]' in the clone of Hooke"
                self.faults.append(f"HOOKE_OIDC_ISSUER needs the package {package}: {install}")
                break
        issuer = self._issuer()
        return Configuration(
            issuer=issuer,
            client_id=self._client_id(),
            client_secret=self._secret(),
            name=self._name(issuer),
            scopes=self._scopes(),
            domains=domains,
            groups_claim=settings.oidc_groups_claim.strip() or "groups",
            groups=groups,
            roles=roles,
            makes_users=makes,
            usual_role=usual,
            public_url=self._public_url(),
        )

    def _fault(self, name: str, what: str) -> None:
        self.faults.append(f"HOOKE_{name.upper()} {what}")

    def _issuer(self) -> str:
        issuer = (self.settings.oidc_issuer or "").strip()
        if len(issuer) > LONGEST or not _PRINTABLE.fullmatch(issuer) or not protected(issuer):
            self._fault("oidc_issuer", "must begin with https:// (http:// for this host only) and name the issuer")
        elif "?" in issuer or "#" in issuer or "@" in urlsplit(issuer).netloc:
            self._fault("oidc_issuer", "must hold no query, no fragment and no user name")
        return issuer

    def _client_id(self) -> str:
        found = (self.settings.oidc_client_id or "").strip()
        if not _PRINTABLE.fullmatch(found):
            self._fault("oidc_client_id", "must be the id under which the provider knows this server")
        return found

    def _secret(self) -> str:
        path = self.settings.oidc_client_secret_file
        if path is None:
            return ""
        try:
            found = given_secret("HOOKE_OIDC_CLIENT_SECRET_FILE", path)
        except ArgumentError:
            found = ""  # the sentence is shown to who has not signed in: it names no path
        if not _SECRET.fullmatch(found):
            self._fault("oidc_client_secret_file", "must name a file that the server can read, with the secret")
        return found

    def _name(self, issuer: str) -> str:
        given = (self.settings.oidc_name or "").strip()
        if given and not _LINE.fullmatch(given):
            self._fault("oidc_name", "must have at most 60 characters")
        return given or (urlsplit(issuer).hostname if protected(issuer) else "") or issuer

    def _scopes(self) -> str:
        scopes = self.settings.oidc_scopes.split()
        if "openid" not in scopes or not all(map(_PRINTABLE.fullmatch, scopes)):
            self._fault("oidc_scopes", "must be words with blanks between them, and openid among them")
        return " ".join(scopes)

    def _public_url(self) -> str | None:
        given = self.settings.public_url
        if given is None:
            return None
        try:
            parts = urlsplit(given.strip())
        except ValueError:
            parts = urlsplit("")
        if parts.scheme not in ("http", "https") or not parts.netloc:
            self._fault("public_url", "must be an address such as https://hooke.example.org")
        usual = ":443" if parts.scheme == "https" else ":80"  # which browsers leave out of Host
        return f"{parts.scheme}://{parts.netloc.lower().removesuffix(usual)}"

    def _texts(self, name: str) -> list[str]:
        """Return a JSON list of texts."""
        found = self._json(name, [])
        if isinstance(found, list) and all(isinstance(each, str) and each for each in found):
            return found
        self._fault(name, 'must be a JSON list of texts such as ["one", "two"]')
        return []

    def _roles(self) -> dict[str, Role]:
        found = self._json("oidc_roles", {})
        try:
            return {value: Role(role) for value, role in found.items()}
        except (AttributeError, ValueError):
            example = '{"hooke-admins": "admin"}; the roles are ' + ", ".join(Role)
            self._fault("oidc_roles", f"must be a JSON object such as {example}")
            return {}

    def _json(self, name: str, default: Any) -> Any:
        text = getattr(self.settings, name)
        if not text or not text.strip():
            return default
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return None

    def _new_users(self, roles: Mapping[str, Role], *, restricted: bool) -> tuple[bool, Role | None]:
        """Return whether a first sign-in makes a user, and with which role at least."""
        given = self.settings.oidc_new_users.strip()
        if given in (INVITED, ""):
            return False, None
        if given == MAPPED:
            if not roles:
                self._fault("oidc_new_users", "is mapped, so HOOKE_OIDC_ROLES must say who has which role")
            return True, None
        allowed = [role.value for role in Role if role is not Role.ADMIN]
        if given not in allowed:
            choices = ", ".join((INVITED, MAPPED, *allowed))
            self._fault("oidc_new_users", f"must be one of {choices}; administrators are invited or mapped")
            return False, None
        if not restricted:
            self._fault(
                "oidc_new_users",
                f"is {given}, which would admit everybody whom the provider knows: set HOOKE_OIDC_DOMAINS or "
                "HOOKE_OIDC_GROUPS, too",
            )
        return True, Role(given)
