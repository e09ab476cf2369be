"""The provider: its discovery document and keys, kept for a while, and the exchange of a code for tokens."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog

from hooke_api.oidc import admission, credentials, tokens
from hooke_api.oidc.admission import Lacking
from hooke_api.oidc.configuration import Configuration, loopback, protected
from hooke_api.oidc.flows import Flow
from hooke_api.oidc.keeping import Kept
from hooke_api.oidc.problems import NotSignedIn, Problem
from hooke_api.oidc.tokens import OtherKey, Tokens
from hooke_api.oidc.transport import Transport

if TYPE_CHECKING:
    from joserfc.jwk import ECKey, RSAKey

MOST_AT_ONCE = 16
"""Codes that are exchanged at a time."""
LONGEST_SHOWN = 100
"""Characters of what the provider says in the log."""

log = structlog.get_logger("hooke.oidc")


@dataclass(frozen=True)
class Endpoints:
    """What is used of the discovery document."""

    authorization: str
    token: str
    keys: str
    methods: frozenset[str]
    """How a client may prove its secret at the token endpoint."""
    userinfo: str = ""
    """Where it says more of a person; empty: nowhere."""


class Provider:
    """Asks the provider. Used in the event loop only."""

    def __init__(self, configuration: Configuration, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock`: seconds, for what is kept."""
        self.configuration = configuration
        self._transport = Transport()
        self._endpoints = Kept(self._discover, clock)
        self._keys = Kept(self._fetch_keys, clock)
        self._exchanging = 0

    @property
    def trouble(self) -> str | None:
        """Return why the provider could not be asked the last time, or None."""
        return self._endpoints.trouble or self._keys.trouble

    async def look(self) -> None:
        """Ask for the discovery document; a failure is logged, and kept in `trouble`."""
        with suppress(NotSignedIn):
            await self._endpoints.get()

    async def _get(self, url: str, **headers: str) -> dict[str, Any]:
        answer = await self._transport.get(url, headers)
        if answer.status != 200:
            raise NotSignedIn(Problem.AWAY, f"{url} answered with status {answer.status}")
        return answer.document

    async def _discover(self) -> Endpoints:
        url = f"{self.configuration.issuer.rstrip('/')}/.well-known/openid-configuration"
        return endpoints_of(await self._get(url), self.configuration)

    async def _fetch_keys(self) -> list[RSAKey | ECKey]:
        return tokens.usable_keys(await self._get((await self._endpoints.get()).keys))

    async def authorization_url(self, flow: Flow, *, again: bool) -> str:
        """Return the address at which the provider identifies a person. Raises NotSignedIn.

        `again`: whether it has to ask also a person whom it knows.
        """
        found = await self._endpoints.get()
        from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
        from authlib.oauth2.rfc7636 import create_s256_code_challenge

        url: str = prepare_grant_uri(
            found.authorization,
            self.configuration.client_id,
            "code",
            redirect_uri=flow.redirect,
            scope=self.configuration.scopes,
            state=flow.state,
            nonce=flow.nonce,
            code_challenge=create_s256_code_challenge(flow.verifier),
            code_challenge_method="S256",
            prompt="login" if again else None,
        )
        return url

    async def redeem(self, code: str, flow: Flow) -> Tokens:
        """Return the tokens for a code. Raises NotSignedIn."""
        if self._exchanging >= MOST_AT_ONCE:
            raise NotSignedIn(Problem.BUSY, "too many codes are being exchanged")
        self._exchanging += 1
        try:
            return await self._redeem(code, flow)
        finally:
            self._exchanging -= 1

    async def _redeem(self, code: str, flow: Flow) -> Tokens:
        from authlib.oauth2.rfc6749.parameters import prepare_token_request

        found = await self._endpoints.get()
        form = prepare_token_request(
            "authorization_code", "", flow.redirect, code=code, code_verifier=flow.verifier
        )
        for headers, body in credentials.ways(self.configuration, found.methods, found.token, form):
            answer = await self._transport.post(found.token, headers, body)
            if answer.document.get("error") != "invalid_client":
                break
        if answer.status != 200:
            raise _token_error(answer.status, answer.document)
        id_token, access = answer.document.get("id_token"), answer.document.get("access_token", "")
        if not isinstance(id_token, str) or not isinstance(access, str):
            raise NotSignedIn(Problem.TOKEN, "the provider gave no ID token: is openid among the scopes?")
        return Tokens(id_token, access)

    async def claims(self, given: Tokens, nonce: str) -> dict[str, Any]:
        """Return the verified claims of an ID token, and what else of this person the provider says, if needed.

        Raises NotSignedIn.
        """
        claims = await self._verified(given, nonce)
        lacking = admission.lacking(claims, self.configuration)
        url = (await self._endpoints.get()).userinfo
        if lacking is Lacking.NOTHING or not url or not given.access_token:
            return claims
        try:
            told = await self._get(url, authorization=f"Bearer {given.access_token}")
        except NotSignedIn as failed:
            if lacking is Lacking.NEEDED:
                raise
            log.info("the provider does not say the name of a person", why=str(failed))
            return claims
        return admission.joined(claims, told)

    async def _verified(self, given: Tokens, nonce: str) -> dict[str, Any]:
        header, now = tokens.header_of(given.id_token), int(time.time())
        key = await self._key(header)
        try:
            return tokens.verified(given, key, header, self.configuration, nonce, now)
        except OtherKey:  # a new key may have the name of the former one, or none
            newer = tokens.matching(await self._keys.get(newer=True), header)
            if newer is None or newer is key:
                raise
            return tokens.verified(given, newer, header, self.configuration, nonce, now)

    async def _key(self, header: dict[str, Any]) -> RSAKey | ECKey:
        """Return the key that a header names; one that is not known may be new: the keys are asked for again."""
        found = tokens.matching(await self._keys.get(), header)
        if found is None:
            found = tokens.matching(await self._keys.get(newer=True), header)
        if found is None:
            raise NotSignedIn(Problem.TOKEN, f"the provider has no key {str(header.get('kid'))[:LONGEST_SHOWN]!r}")
        return found


def endpoints_of(document: dict[str, Any], configuration: Configuration) -> Endpoints:
    """Return what a discovery document says. Raises NotSignedIn unless it is that of the configured issuer."""
    issuer = document.get("issuer")
    if issuer != configuration.issuer:
        raise NotSignedIn(
            Problem.AWAY, f"it calls itself {str(issuer)[:LONGEST_SHOWN]!r}, not {configuration.issuer!r}"
        )
    signed = document.get("id_token_signing_alg_values_supported")
    if isinstance(signed, list) and not any(each in list(tokens.ALGORITHMS) for each in signed):
        raise NotSignedIn(Problem.AWAY, f"it signs by none of {', '.join(tokens.ALGORITHMS)}")
    methods = document.get("token_endpoint_auth_methods_supported")
    more = "userinfo_endpoint"
    return Endpoints(
        authorization=_address(document, "authorization_endpoint", configuration),
        token=_address(document, "token_endpoint", configuration),
        keys=_address(document, "jwks_uri", configuration),
        userinfo=_address(document, more, configuration) if document.get(more) else "",
        methods=frozenset(map(str, methods)) if isinstance(methods, list) else credentials.USUAL,
    )


def _address(document: dict[str, Any], name: str, configuration: Configuration) -> str:
    found = document.get(name)
    usable = isinstance(found, str) and protected(found)
    if not isinstance(found, str) or not usable or (loopback(found) and not loopback(configuration.issuer)):
        raise NotSignedIn(Problem.AWAY, f"its {name} is {str(found)[:LONGEST_SHOWN]!r}, not an address with https")
    return found


def _token_error(status: int, document: dict[str, Any]) -> NotSignedIn:
    """Return the error for an answer of the token endpoint (RFC 6749, section 5.2)."""
    code = document.get("error")
    why = f"the token endpoint answered with status {status}: {str(code)[:80]}"
    if code == "invalid_grant":
        return NotSignedIn(Problem.CODE, why)
    if code in ("invalid_client", "unauthorized_client"):
        return NotSignedIn(Problem.CLIENT, why)
    return NotSignedIn(Problem.AWAY, why)
