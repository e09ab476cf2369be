"""Who is let in: identifies the sender of a request, and checks that their role allows the operation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol
from urllib.parse import quote, urlsplit

from fastapi import Request
from starlette.responses import RedirectResponse, Response

from hooke_api.base import pages
from hooke_api.base.access import Actor, Change, Role, address_of, at_address, owner, subject_of
from hooke_api.base.errors import Forbidden, ResourceNotFound, Unauthorized
from hooke_api.base.policy import IDS, LEAST, Called, Operations, Place
from hooke_api.base.rates import Rates
from hooke_api.base.reach import DEFAULT_NAME, role_in
from hooke_api.base.security import (
    API,
    OPEN,
    OPEN_FILES,
    OPEN_PAGES,
    RETURNS,
    SAFE_METHODS,
    SESSION_PREFIX,
    SIGN_IN,
    TOKEN_PREFIX,
    Sessions,
    bearer,
)

Checks = Mapping[str, Callable[[Request], object]]
"""Path -> what raises Unauthorized unless the request has the other token that is needed there; in a thread."""


class Accounts(Protocol):
    """The users, their tokens and sessions, as the database has them. Called in a thread."""

    def by_token(self, token: str) -> Actor | None:
        """Return whose token this is; raises Unauthorized with the reason if it is not valid any more."""

    def by_session(self, value: str) -> Actor | None:
        """Return whose session this is, or None if it has ended."""

    def any(self) -> bool:
        """Return whether there is any user."""

    def project_of(self, ids: Mapping[str, str]) -> str | None:
        """Return the id of the project of an experiment or a run, or with a name; None: there is none."""


class Door:
    """Lets requests in, or raises Unauthorized or Forbidden."""

    def __init__(  # noqa: PLR0913 - its parts, each of its own kind
        self,
        sessions: Sessions,
        accounts: Accounts,
        operations: Operations,
        checks: Checks,
        rates: Rates,
        provider: bool = False,
    ) -> None:
        """`provider`: whether a provider signs users in, also the first one."""
        self.provider = provider
        self.sessions = sessions
        self.accounts = accounts
        self.operations = operations
        self.checks = checks
        self.rates = rates

    async def admit(self, request: Request) -> Response | None:
        """Store who sends a request; return a page for a browser that has to sign in first."""
        try:
            answer = await self._admit(request)
        except Unauthorized:
            await self.rates.anonymous(request)
            raise
        if answer is not None:
            await self.rates.anonymous(request)
        return answer

    async def _admit(self, request: Request) -> Response | None:
        path, safe = request.scope["path"], request.method in SAFE_METHODS
        if path in RETURNS or (path in SIGN_IN and not safe):
            await self.rates.anonymous(request)
            if path not in RETURNS and request.headers.get("origin") is not None:
                check_origin(request)  # else another site could sign a browser in
            return None
        if path in OPEN or (safe and (path in OPEN_PAGES or path.startswith(OPEN_FILES))):
            return None
        if path in self.checks:
            if not safe:  # the others are answered with 405
                await asyncio.to_thread(self.checks[path], request)
                await self.rates.known(request, bearer(request.headers) or "")
            return None
        actor = await self.identify(request)
        if actor is None:
            return await self._stranger(request)
        await self.rates.known(request, bearer(request.headers) or self.sessions.cookie(request) or "")
        request.state.sender = request.state.actor = actor
        await self._authorize(request, actor)
        return None

    async def admit_still(self, request: Request) -> Actor:
        """Return the sender, who may still do what the request asks.

        For one whose body, or answer, takes minutes: a token may have been revoked, or a role withdrawn. Raises
        Unauthorized, Forbidden or ResourceNotFound.
        """
        actor = await self.identify(request)
        if actor is None:
            raise Unauthorized("the session has ended meanwhile: sign in again")
        await self._authorize(request, actor)
        return actor

    async def identify(self, request: Request) -> Actor | None:
        """Return who sends a request, or None without a valid session. Raises Unauthorized or Forbidden."""
        given = bearer(request.headers)
        if given is not None:
            sender = owner() if self.sessions.opens(given) else await self._by_token(given)
            return at_address(sender, address_of(request))
        cookie = self.sessions.cookie(request)
        if cookie is None or not cookie.startswith(SESSION_PREFIX):
            return None
        actor = await asyncio.to_thread(self.accounts.by_session, cookie)
        if actor is None:
            return None
        if request.method not in SAFE_METHODS:
            check_origin(request)
        return at_address(actor, address_of(request))

    async def _by_token(self, given: str) -> Actor:
        known = given.startswith(TOKEN_PREFIX)  # nothing else costs a look into the database
        actor = await asyncio.to_thread(self.accounts.by_token, given) if known else None
        if actor is None:
            raise Unauthorized(
                "this token is not valid for this server; the start-up token is in the file `token` in "
                "HOOKE_HOME, create a personal one with `hooke tokens create`"
            )
        return actor

    async def _stranger(self, request: Request) -> Response:
        path = request.scope["path"]
        if path.startswith(API) or request.method not in SAFE_METHODS:
            raise Unauthorized("sign in at /sign-in or /login?token=..., or send Authorization: Bearer TOKEN")
        if self.provider or await asyncio.to_thread(self.accounts.any):
            return RedirectResponse(f"/sign-in?next={quote(path)}", 303, {"cache-control": "no-store"})
        return pages.sign_in(expired=self.sessions.cookie(request) is not None)

    async def _authorize(self, request: Request, actor: Actor) -> None:
        """Raise Forbidden unless the role allows the operation; keep what is to be recorded of a change.

        Raises ResourceNotFound for what is in a project that the sender does not reach, as if it did not exist.
        """
        called = self.operations.of(request.method, request.scope["path"])
        if called is None:
            return  # a file of the dashboard, or the answer is 404 or 405
        least = LEAST.get(called.operation)
        if not isinstance(least, Role) or called.place is None:
            raise Forbidden(f"{called.operation} is not for users")
        actor = request.state.actor = await self._acting(request, actor, called, least)
        if not actor.may(least):
            where = "here" if actor.site is None else "in this project"
            raise Forbidden(f"{called.operation} needs the role {least}; {actor.name} has {actor.role} {where}")
        if request.method not in SAFE_METHODS:
            subject = subject_of(called.parameters)
            request.state.change = Change(actor, called.operation, subject, request.state.request_id)

    async def _acting(self, request: Request, actor: Actor, called: Called, least: Role) -> Actor:
        """Return the sender with the role that counts for an operation.

        Raises ResourceNotFound, or Forbidden where the role on the site would not do either.
        """
        ids = {name: value for name, value in called.parameters.items() if name in IDS}
        if called.place is Place.QUERY:
            ids = {"project": request.query_params.get("project", DEFAULT_NAME)}
        if actor.role is Role.ADMIN or not ids or ids == {"project": DEFAULT_NAME}:
            return actor
        role = role_in(actor, await asyncio.to_thread(self.accounts.project_of, ids))
        if role is not None:
            return actor if role is actor.role else replace(actor, role=role, site=actor.role)
        if not actor.may(least):
            return actor
        (name, value), *_ = ids.items()
        kind = "project is called" if name == "project" else f"{name.removesuffix('_id')} has the id"
        raise ResourceNotFound(f"no {kind} {value}")


def check_origin(request: Request) -> None:
    """Raise Forbidden unless a browser sends this from a page of this server."""
    origin = request.headers.get("origin")
    try:
        named = urlsplit(origin or "").netloc.lower()
    except ValueError:  # an address in brackets that is none
        named = ""
    if not named or named != request.headers.get("host", "").lower():
        raise Forbidden(f"a change by a browser must come from a page of this server, not from {origin!r}")
