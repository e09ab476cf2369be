"""Projects and their members."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, Boolean, ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from hooke_api.models.base import Base


class Project(Base):
    """Experiments that the same people reach. `prj_default` is there from the first migration on."""

    __tablename__ = "projects"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    name: Mapped[str] = mapped_column(String(120), unique=True, index=True)
    description: Mapped[str] = mapped_column(Text, default="")
    archived: Mapped[bool] = mapped_column(Boolean, default=False)
    """Whether nothing more may be put into it; what is in it stays readable."""
    keep_runs: Mapped[str | None] = mapped_column(String(40))
    """Retention: a duration such as `90d`, or `never`; null: that of the site."""
    quota: Mapped[int | None] = mapped_column(BigInteger)
    """Points that it may hold before nothing more is put into it; null: any number."""
    quota_bytes: Mapped[int | None] = mapped_column(BigInteger)
    """Bytes that these may take, in the same way; null: any number."""
    created_at: Mapped[datetime]
    created_by: Mapped[str] = mapped_column(String(120), default="")


class ProjectMember(Base):
    """A user who reaches a project, with a role in it. Of the default project nobody is a member: all reach it."""

    __tablename__ = "project_members"

    project_id: Mapped[str] = mapped_column(String(40), ForeignKey("projects.id"), primary_key=True)
    user_id: Mapped[str] = mapped_column(String(40), ForeignKey("users.id"), primary_key=True, index=True)
    role: Mapped[str] = mapped_column(String(16))
    """viewer, researcher or operator: `hooke_api.base.access.Role`."""
    created_at: Mapped[datetime]
    created_by: Mapped[str] = mapped_column(String(120))
