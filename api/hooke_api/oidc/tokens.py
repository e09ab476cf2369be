"""ID tokens: verified with the keys of the provider (OpenID Connect Core 1.0, section 3.1.3.7).

joserfc verifies the signature, Authlib's `CodeIDToken` the claims. Both are imported on use: a server without a
provider needs neither.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hooke_api.oidc.configuration import Configuration
from hooke_api.oidc.problems import NotSignedIn, Problem

if TYPE_CHECKING:
    from joserfc.jwk import ECKey, RSAKey

ALGORITHMS = {"RS256": "RSA", "ES256": "EC"}
"""Algorithm of a signature -> type of its key. No others: neither `none` nor a symmetric one."""
SKEW = 60
"""Seconds by which the provider's clock may differ."""
OLDEST = 600
"""Seconds since a token was issued: it was asked for just now."""
LEAST_BITS = 2048
"""Of an RSA key."""
MOST_KEYS = 64
_PUBLIC = ("kty", "kid", "alg", "n", "e", "crv", "x", "y")
"""Members of a key that are used (RFC 7517, RFC 7518 section 6)."""
_SUBJECT = re.compile(r"[ -~]{1,255}")


class OtherKey(NotSignedIn):
    """A token that the key which it names has not signed."""


@dataclass(frozen=True)
class Tokens:
    """What the provider gave for a code."""

    id_token: str
    access_token: str


def usable_keys(document: dict[str, Any]) -> list[RSAKey | ECKey]:
    """Return the keys of a JWK set that may sign ID tokens; others are left out."""
    listed = document.get("keys")
    if not isinstance(listed, list):
        raise NotSignedIn(Problem.AWAY, "the provider's key set has no list of keys")
    found = [_key(each) for each in listed[:MOST_KEYS] if isinstance(each, dict)]
    return [key for key in found if key is not None]


def _key(given: dict[str, Any]) -> RSAKey | ECKey | None:
    from joserfc.errors import JoseError
    from joserfc.jwk import ECKey, RSAKey

    if given.get("use", "sig") != "sig" or given.get("alg", "RS256") not in list(ALGORITHMS):
        return None
    public: dict[str, Any] = {name: given[name] for name in _PUBLIC if name in given}
    try:
        if public.get("kty") == "RSA" and _bits(public) >= LEAST_BITS:
            return RSAKey.import_key(public)
        if public.get("kty") == "EC" and public.get("crv") == "P-256":
            return ECKey.import_key(public)
    except (JoseError, ValueError, TypeError, KeyError, AttributeError):  # a damaged key is none
        return None
    return None


def _bits(public: dict[str, Any]) -> int:
    """Return the bits of a modulus: joserfc only warns of short ones."""
    from joserfc.util import urlsafe_b64decode

    return int.from_bytes(urlsafe_b64decode(str(public.get("n", "")).encode())).bit_length()


def header_of(id_token: str) -> dict[str, Any]:
    """Return the header of a token, not yet verified. Raises NotSignedIn for an algorithm that is not accepted."""
    from joserfc.errors import JoseError
    from joserfc.jws import extract_compact

    try:
        header = dict(extract_compact(id_token.encode()).headers())
    except (JoseError, ValueError, TypeError, RecursionError) as error:
        raise _refused(f"it is not a signed token: {error}") from None
    if header.get("alg") not in list(ALGORITHMS):
        raise _refused(f"its algorithm is {str(header.get('alg'))[:20]!r}, not one of {', '.join(ALGORITHMS)}")
    return header


def matching(keys: Sequence[RSAKey | ECKey], header: dict[str, Any]) -> RSAKey | ECKey | None:
    """Return the key that a header names; without a name, the only one of its type."""
    kind, kid = ALGORITHMS[header["alg"]], header.get("kid")
    fitting = [key for key in keys if key.key_type == kind and key.alg in (None, header["alg"])]
    if kid is None:
        return fitting[0] if len(fitting) == 1 else None
    return next((key for key in fitting if key.kid == kid), None)


def verified(  # noqa: PLR0913 - what a token is verified against
    tokens: Tokens, key: RSAKey | ECKey, header: dict[str, Any], configuration: Configuration, nonce: str, now: int
) -> dict[str, Any]:
    """Return the claims of an ID token. Raises NotSignedIn with what is wrong with it, OtherKey among it.

    `now`: seconds since 1970.
    """
    from authlib.oidc.core import CodeIDToken
    from joserfc import jwt
    from joserfc.errors import BadSignatureError, ClaimError, JoseError, MissingClaimError
    from joserfc.jws import JWSRegistry

    registry = JWSRegistry(algorithms=list(ALGORITHMS), strict_check_header=False)
    options = {
        "iss": {"essential": True, "value": configuration.issuer},
        "aud": {"essential": True, "value": configuration.client_id},
    }
    params = {"nonce": nonce, "client_id": configuration.client_id, "access_token": tokens.access_token}
    try:
        claims = jwt.decode(tokens.id_token, key, registry=registry).claims
        CodeIDToken(claims, header, options, params).validate(now, SKEW)
    except ClaimError as error:
        late = error.claim in ("exp", "iat", "nbf") and not isinstance(error, MissingClaimError)
        problem = Problem.CLOCK if late else Problem.TOKEN
        raise NotSignedIn(problem, f"the ID token is refused: {error}") from None
    except BadSignatureError as error:
        raise OtherKey(Problem.TOKEN, f"the ID token is refused: {error}") from None
    except (JoseError, ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise _refused(f"{type(error).__name__}: {error}") from None
    if claims["iat"] < now - OLDEST - SKEW:
        raise NotSignedIn(Problem.CLOCK, f"the ID token is refused: it was issued more than {OLDEST} s ago")
    if not _SUBJECT.fullmatch(claims["sub"]):
        raise _refused("its subject is not 1 to 255 printable ASCII characters")
    return claims


def _refused(why: str) -> NotSignedIn:
    return NotSignedIn(Problem.TOKEN, f"the ID token is refused: {why}")
