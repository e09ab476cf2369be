"""A sign-in that is under way: bound to its browser by a signed cookie that lives for ten minutes.

The cookie is SameSite=Lax, since the provider's redirect comes from another site. It holds state, nonce and
verifier of this sign-in, and where it leads; the server stores nothing of it.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import astuple, dataclass

from itsdangerous import BadData, URLSafeTimedSerializer
from starlette.requests import Request
from starlette.responses import Response

from hooke_api.base.security import cookie_of, encrypted
from hooke_api.base.settings import Settings

SECONDS = 600
"""Time in which the provider must have sent the browser back."""
_LOCAL = re.compile(r"/(?![/\\])[!-\[\]-~]{0,999}")
"""A path of this server: printable ASCII, no backslash, and no second slash, which would name another server."""


def local(path: str | None) -> str:
    """Return a path if it is one of this server, else that of the first page."""
    return path if path is not None and _LOCAL.fullmatch(path) else "/"


@dataclass(frozen=True)
class Flow:
    """One sign-in, or the linking of an account."""

    state: str
    nonce: str
    verifier: str
    """Of PKCE (RFC 7636)."""
    redirect: str
    """Address to which the provider sends the browser back."""
    next: str
    """Page to be shown then."""
    invite_sha256: str = ""
    """Of the invitation that is accepted, if there is one."""
    user: str = ""
    """Id of the user to whom the account is linked, if that is asked for."""
    session: str = ""
    """Id of their session."""


def new_flow(redirect: str, following: str, *, invite_sha256: str = "", user: str = "", session: str = "") -> Flow:
    """Return a sign-in with secrets of its own: 256 bits each."""
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    return Flow(state, nonce, verifier, redirect, following, invite_sha256, user, session)


class Flows:
    """The cookies of sign-ins under way."""

    def __init__(self, settings: Settings) -> None:
        self._name = f"hooke-oidc-{settings.port}"
        self._signer = URLSafeTimedSerializer(
            settings.token, salt="hooke oidc", signer_kwargs={"digest_method": hashlib.sha256}
        )

    def name(self, request: Request) -> str:
        """Return the name of the cookie, as that of sessions has."""
        return f"__Host-{self._name}" if encrypted(request) else self._name

    def keep(self, request: Request, response: Response, flow: Flow) -> None:
        """Give the browser the cookie of a sign-in; an earlier one of this browser cannot be ended any more."""
        response.set_cookie(
            self.name(request),
            str(self._signer.dumps(list(astuple(flow)))),
            max_age=SECONDS,
            httponly=True,
            samesite="lax",
            secure=encrypted(request),
        )
        response.headers["cache-control"] = "no-store"

    def find(self, request: Request) -> Flow | None:
        """Return the sign-in of this browser, or None if there is none or it began too long ago."""
        value = cookie_of(request, self.name(request))
        try:
            return Flow(*self._signer.loads(value, max_age=SECONDS)) if value else None
        except (BadData, TypeError):  # TypeError: of another version of this server
            return None

    def forget(self, request: Request, response: Response) -> None:
        """Take the cookie from the browser."""
        secure = encrypted(request)
        response.delete_cookie(self.name(request), httponly=True, samesite="lax", secure=secure)
