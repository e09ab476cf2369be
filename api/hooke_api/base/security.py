"""Authentication: sessions, and the tokens of agents and attempts; `hooke_api.base.gate` checks them.

The start-up token grants full access. Programs send it as a bearer token; a browser exchanges it once, at
`/login`, for a signed cookie. Users sign in with a password for a session that is stored (`hooke_api.people`).
"""

from __future__ import annotations

import hashlib
import hmac
from http.cookies import CookieError, SimpleCookie

from itsdangerous import TimestampSigner
from starlette.datastructures import Headers

from hooke_api.base.access import OWNER
from hooke_api.base.settings import Settings

API = "/api/v1"
OPEN = frozenset({"/livez", "/readyz", "/version", f"{API}/livez", f"{API}/readyz", f"{API}/version", "/login"})
"""Paths that need no token, and whose body nobody reads."""
SIGN_IN = frozenset({f"{API}/sign-in", f"{API}/invites/accept"})
"""Paths at which a user is identified by the body."""
SIGN_IN_LIMIT = 4096
"""Maximum bytes of that body."""
OPEN_PAGES = frozenset({"/sign-in", "/invite", "/color-scheme.js", "/hooke.svg"})
OPEN_FILES = "/assets/"
"""What a browser that has to sign in needs of the dashboard: code, no data."""
SESSION_PREFIX = "hooke_session_"
TOKEN_PREFIX = "hooke_token_"  # noqa: S105 - the beginning of every token, so that scanners for secrets know one
SESSION_SECONDS = 30 * 24 * 3600
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",  # the address of the login page contains the token
    "x-frame-options": "DENY",
    "content-security-policy": (
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; object-src 'none'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
}


def digest(token: str) -> str:
    """Return the SHA-256 of a token in hexadecimal, for storage."""
    return hashlib.sha256(token.encode()).hexdigest()


def server_mark(agents: str) -> str:
    """Return what the server writes into its Redis, by which agents recognise it; not the token."""
    return hashlib.sha256(b"hooke broker\0" + agents.encode()).hexdigest()[:32]


def same(given: str, expected: str) -> bool:
    """Return whether two secrets are equal, in constant time."""
    return hmac.compare_digest(given.encode(), expected.encode())


def bearer(headers: Headers) -> str | None:
    """Return the bearer token of a request, or None."""
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" and token.strip() else None


class Sessions:
    """Signed cookies with their time of issue; not stored, invalidated by a new start-up token."""

    def __init__(self, settings: Settings) -> None:
        self.name = f"hooke-session-{settings.port}"
        """Contains the port, because cookies are shared by all ports of a host."""
        self._token = settings.token
        self._signer = TimestampSigner(self._token, salt="hooke session", digest_method=hashlib.sha256)

    def issue(self) -> str:
        """Return a new cookie value."""
        return self._signer.sign(OWNER).decode()

    def valid(self, value: str) -> bool:
        """Return whether this server issued the value and it has not expired."""
        return self._signer.validate(value, max_age=SESSION_SECONDS)

    def opens(self, token: str) -> bool:
        """Return whether this is the start-up token."""
        return same(token, self._token)

    def cookie(self, headers: Headers) -> str | None:
        """Return the session cookie of a request, or None."""
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self.name)
        except CookieError:
            return None
        return found.value if found else None
