"""Users, their tokens, sessions and saved views, and the audit trail."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import JSON, Boolean, ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from hooke_api.models.base import Base, Serial

INVITE = timedelta(days=7)
"""Time for which an invitation can be accepted."""


class User(Base):
    """A person with a name, a role and a password."""

    __tablename__ = "users"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    name: Mapped[str] = mapped_column(String(64), unique=True)
    role: Mapped[str] = mapped_column(String(16))
    """`hooke_api.base.access.Role`."""
    password_hash: Mapped[str | None] = mapped_column(Text)
    """Argon2id, with its parameters and salt; null until an invitation has been accepted."""
    disabled: Mapped[bool] = mapped_column(Boolean, default=False)
    created_by: Mapped[str] = mapped_column(String(120))
    created_at: Mapped[datetime]
    signed_in_at: Mapped[datetime | None]
    """When the latest session began."""
    invite_sha256: Mapped[str | None] = mapped_column(String(64), unique=True)
    """Of the invitation that has not been accepted, if there is one."""
    invite_until: Mapped[datetime | None]


class UserIdentity(Base):
    """An account at an OpenID provider by which a user signs in: issuer and subject, never an e-mail address."""

    __tablename__ = "user_identities"
    __table_args__ = (UniqueConstraint("issuer", "subject"),)

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    user_id: Mapped[str] = mapped_column(String(40), ForeignKey("users.id"), index=True)
    issuer: Mapped[str] = mapped_column(String(255))
    subject: Mapped[str] = mapped_column(String(255))
    """The claim `sub`."""
    label: Mapped[str] = mapped_column(String(255))
    """What the provider called the account at the last sign-in: an e-mail address or a name; only to be shown."""
    role_follows: Mapped[bool] = mapped_column(Boolean)
    """Whether a first sign-in made the user, so that the provider's groups decide the role."""
    created_at: Mapped[datetime]
    used_at: Mapped[datetime | None]
    """When it signed the user in last."""


class AccessToken(Base):
    """A token of a user or of a machine; only its hash is stored."""

    __tablename__ = "access_tokens"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    user_id: Mapped[str | None] = mapped_column(String(40), ForeignKey("users.id"), index=True)
    """Null: of a machine."""
    label: Mapped[str] = mapped_column(String(100))
    """What it is for; of a machine, its name."""
    scope: Mapped[str] = mapped_column(String(16))
    """`hooke_api.base.access.Scope`."""
    token_sha256: Mapped[str] = mapped_column(String(64), unique=True)
    created_by: Mapped[str] = mapped_column(String(120))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]
    """When it was last used, to within a minute."""
    revoked_at: Mapped[datetime | None]


class BrowserSession(Base):
    """A session in a browser; only the hash of its cookie is stored."""

    __tablename__ = "browser_sessions"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    user_id: Mapped[str | None] = mapped_column(String(40), ForeignKey("users.id"), index=True)
    """Null: of the owner."""
    session_sha256: Mapped[str] = mapped_column(String(64), unique=True)
    """Of the owner's: HMAC with the start-up token."""
    created_at: Mapped[datetime]
    used_at: Mapped[datetime]
    """When it was last used, to within a minute: it ends some time later."""


class TrailEntry(Base):
    """An entry of the audit trail. Triggers of the database refuse to change or to delete one."""

    __tablename__ = "audit_trail"
    __table_args__ = (Index(None, "actor", "id"), Index(None, "subject", "id"), Index(None, "address", "id"))

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    at: Mapped[datetime]
    actor: Mapped[str] = mapped_column(String(120))
    """Name of the owner, user or machine; of a failed sign-in, the name that was given."""
    credential: Mapped[str] = mapped_column(String(60))
    """What the request was sent with: kind and id."""
    address: Mapped[str] = mapped_column(String(64))
    """Where it came from; empty for a socket in the file system."""
    action: Mapped[str] = mapped_column(String(64))
    """The operation of the API."""
    subject: Mapped[str] = mapped_column(String(255))
    """Identifiers of what was changed."""
    before: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    after: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    request_id: Mapped[str] = mapped_column(String(64))


class StoredView(Base):
    """A view of the dashboard that somebody has saved under a name."""

    __tablename__ = "saved_views"
    __table_args__ = (UniqueConstraint("owner", "name"),)

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    owner: Mapped[str] = mapped_column(String(120))
    """Name of the user, of the machine, or of the owner: `hooke_api.base.access.Actor.name`."""
    name: Mapped[str] = mapped_column(String(80))
    path: Mapped[str] = mapped_column(Text)
    """Path and query of the dashboard."""
    created_at: Mapped[datetime]
    changed_at: Mapped[datetime]
