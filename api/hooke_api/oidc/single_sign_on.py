"""The sign-in through a provider, as an application holds it: off, wrongly configured, or ready."""

from __future__ import annotations

from urllib.parse import urlsplit

import structlog
from fastapi import Request

from hooke_api.base.errors import Conflict
from hooke_api.base.security import CALLBACK
from hooke_api.base.settings import Settings
from hooke_api.oidc.configuration import read
from hooke_api.oidc.flows import Flows
from hooke_api.oidc.provider import Provider

log = structlog.get_logger("hooke.oidc")


class SingleSignOn:
    """The provider, if there is one, and the sign-ins under way."""

    def __init__(self, settings: Settings) -> None:
        configuration, self.faults = read(settings)
        self.provider = Provider(configuration) if configuration else None
        self.flows = Flows(settings)

    async def start(self) -> None:
        """Log what is wrong with the configuration; ask the provider once, so that a wrong issuer is told, too."""
        for fault in self.faults:
            log.warning("no sign-in through a provider", why=fault)
        if self.provider:
            await self.provider.look()

    def warnings(self) -> list[str]:
        """Return, for `readyz`, why users cannot sign in through the provider."""
        told = [f"nobody signs in through the provider: {fault}" for fault in self.faults]
        if self.provider and self.provider.trouble:
            told.append(f"nobody signs in through {self.name}: {self.provider.trouble}")
        return told

    @property
    def name(self) -> str | None:
        """Return the name of the provider; None: none is offered."""
        return self.provider.configuration.name if self.provider else None

    @property
    def issuer(self) -> str | None:
        """Return the issuer of the provider."""
        return self.provider.configuration.issuer if self.provider else None

    def ready(self) -> Provider:
        """Return the provider. Raises Conflict if there is none."""
        if self.provider is None:
            raise Conflict("this server has no sign-in through a provider: sign in with a password")
        return self.provider

    def redirect(self, request: Request) -> str:
        """Return the address to which the provider sends the browser back: this server, as the browser reached it.

        Raises Conflict at another address than that of HOOKE_PUBLIC_URL: the cookie would not come back there.
        """
        host = request.headers["host"].lower()
        public = self.ready().configuration.public_url
        if public is not None and urlsplit(public).netloc != host:
            raise Conflict(f"sign in through {self.name} at {public}: the provider leads back there")
        return (public or f"{request.url.scheme}://{host}") + CALLBACK


async def of(request: Request) -> SingleSignOn:
    """Return the sign-in through a provider of the application that handles a request."""
    found: SingleSignOn = request.app.state.single_sign_on
    return found
