"""Authentication: sessions, and the tokens of agents and attempts; `hooke_api.base.gate` checks them.

The start-up token grants full access. Programs send it as a bearer token; a browser exchanges it once, at
`/login`, for a session. Users get a session for name and password (`hooke_api.people`).
"""

from __future__ import annotations

import hashlib
import hmac
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from hooke_api.base.settings import Settings

API = "/api/v1"
LOGIN = "/login"
CALLBACK = f"{API}/oidc/callback"
"""Path to which an OpenID provider sends browsers back."""
RETURNS = frozenset({LOGIN, CALLBACK})
"""Paths that a browser is signed in at by opening them."""
OPEN = frozenset(
    {
        *("/livez", "/readyz", "/version", f"{API}/livez", f"{API}/readyz", f"{API}/version"),
        *(f"{API}/oidc", *RETURNS),
    }
)
"""Paths that need no token, and whose body nobody reads."""
SIGN_IN = frozenset({f"{API}/sign-in", f"{API}/invites/accept", f"{API}/oidc/start"})
"""Paths at which a user is identified by the body."""
IMPORT = f"{API}/experiments/import"
"""Path whose body is a file."""
PIECE = f"{API}/agents/fetch-piece"
"""Path whose body is a piece of a file: at most `hooke.spec.fetching.PIECE_BYTES`."""
SIGN_IN_LIMIT = 4096
"""Maximum bytes of that body."""
OPEN_PAGES = frozenset({"/sign-in", "/invite", "/color-scheme.js", "/hooke.svg"})
OPEN_FILES = "/assets/"
"""What a browser that has to sign in needs of the dashboard: code, no data."""
SESSION_PREFIX = "hooke_session_"
TOKEN_PREFIX = "hooke_token_"  # noqa: S105 - the beginning of every token, so that scanners for secrets know one
SESSION_SECONDS = 30 * 24 * 3600
"""Time after which a session ends in any case, s."""
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
    """The start-up token, and the cookies of sessions; the sessions are stored (`hooke_api.people.sessions`)."""

    def __init__(self, settings: Settings) -> None:
        self._name = f"hooke-session-{settings.port}"
        """Contains the port, because cookies are shared by all ports of a host."""
        self._token = settings.token

    def opens(self, token: str) -> bool:
        """Return whether this is the start-up token."""
        return same(token, self._token)

    def digest_for_owner(self, value: str) -> str:
        """Return what is stored of a session of the owner: with another start-up token it has ended."""
        return hmac.new(self._token.encode(), value.encode(), hashlib.sha256).hexdigest()

    def name(self, request: Request) -> str:
        """Return the name of the cookie; under TLS with the prefix that keeps it to this host and to TLS."""
        return f"__Host-{self._name}" if encrypted(request) else self._name

    def cookie(self, request: Request) -> str | None:
        """Return the session cookie of a request, or None."""
        return cookie_of(request, self.name(request))

    def set_cookie(self, request: Request, response: Response, value: str) -> None:
        """Give a browser the cookie of a session; the server decides when it ends, at the latest the browser."""
        response.set_cookie(
            self.name(request),
            value,
            max_age=SESSION_SECONDS,
            httponly=True,
            samesite="strict",
            secure=encrypted(request),
        )
        response.headers["cache-control"] = "no-store"

    def delete_cookie(self, request: Request, response: Response) -> None:
        """Take the cookie of a session from a browser."""
        secure = encrypted(request)
        response.delete_cookie(self.name(request), httponly=True, samesite="strict", secure=secure)


def cookie_of(request: Request, name: str) -> str | None:
    """Return the value of a cookie of a request, or None."""
    try:
        found = SimpleCookie(request.headers.get("cookie", "")).get(name)
    except CookieError:
        return None
    return found.value if found else None


def encrypted(request: Request) -> bool:
    """Return whether a browser speaks TLS with this server, or with a proxy on its host that says so."""
    return request.scope.get("scheme") == "https"
