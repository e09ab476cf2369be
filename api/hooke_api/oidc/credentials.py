"""How this server proves to the token endpoint that it is the client (RFC 6749, section 2.3.1)."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote_plus

from hooke_api.oidc.configuration import Configuration

BASIC, POST, NONE = "client_secret_basic", "client_secret_post", "none"
USUAL = frozenset({BASIC})
"""Of a provider that names no method (OpenID Connect Discovery 1.0, section 3)."""


def ways(
    configuration: Configuration, methods: frozenset[str], url: str, form: str
) -> Iterator[tuple[dict[str, str], str]]:
    """Yield headers and body of a request for tokens, and those of a second try where the first is not accepted.

    In a header, id and secret have to be encoded as in a form. Providers disagree about that: some compare what
    comes as it is. Where the encoding changes anything, the second try is one that is the same for both kinds.
    """
    names, secret = (configuration.client_id, configuration.client_secret), configuration.client_secret
    if not secret:
        yield _prepared(names, NONE, url, form)
        return
    if BASIC not in methods:
        yield _prepared(names, POST, url, form)
        return
    encoded = (quote_plus(configuration.client_id), quote_plus(secret))
    yield _prepared(encoded, BASIC, url, form)
    if encoded != names:
        yield _prepared(names, POST if POST in methods else BASIC, url, form)


def _prepared(names: tuple[str, str], method: str, url: str, form: str) -> tuple[dict[str, str], str]:
    from authlib.oauth2 import ClientAuth

    given = {"content-type": "application/x-www-form-urlencoded"}
    _, headers, body = ClientAuth(*names, method).prepare("POST", url, given, form)
    return dict(headers), body
