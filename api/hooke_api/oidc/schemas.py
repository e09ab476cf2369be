"""Requests and responses of the sign-in through a provider."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field, StrictBool

from hooke_api.base.schema import View
from hooke_api.people.schemas import Request, Secret


class ProviderView(View):
    """The provider that the sign-in page offers."""

    name: str | None
    """Its name; null: there is no provider."""
    problem: str | None
    """What to tell somebody whom it did not sign in; null: nothing."""


class OidcStart(Request):
    """What a sign-in through the provider is for."""

    next: Annotated[str, Field(max_length=2000)] | None = Field(
        None, description="Page of this server to be shown then; default: the first one."
    )
    invite: Secret | None = Field(None, description="The secret of an invitation that this sign-in accepts.")
    again: StrictBool = Field(
        False, description="Whether the provider is to ask again who this is, after a refusal."
    )


class Onward(View):
    """Where the browser goes next."""

    address: str
    """A page of the provider."""


class IdentityView(View):
    """An account at a provider that signs a user in."""

    id: str
    issuer: str
    """Address of the provider."""
    label: str
    """What the provider called it last: an e-mail address or a name."""
    usable: bool
    """Whether its provider is the one of this server."""
    last_way: bool
    """Whether the user could not sign in without it."""
    created_at: datetime
    used_at: datetime | None


class IdentityList(View):
    """The accounts of a user, the oldest first, and the other way to sign in."""

    items: list[IdentityView]
    has_password: bool
    """Whether the user can also sign in with a password."""
