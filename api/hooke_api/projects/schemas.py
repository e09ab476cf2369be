"""Requests and responses about projects and their members."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field, StrictBool

from hooke_api.base.access import Role
from hooke_api.base.durations import NEVER, at_least
from hooke_api.base.names import ProjectName
from hooke_api.base.schema import View
from hooke_api.base.settings import LEAST_KEPT

SITE = "site"
"""Retention as on the site."""


class MemberRole(StrEnum):
    """What a member of a project may do in it; each includes those before it."""

    VIEWER = Role.VIEWER.value
    RESEARCHER = Role.RESEARCHER.value
    OPERATOR = Role.OPERATOR.value


def _retention(text: str) -> str:
    if text not in (SITE, NEVER):
        at_least(text, LEAST_KEPT)
    return text


Retention = Annotated[str, Field(max_length=20), AfterValidator(_retention)]
Description = Annotated[str, Field(max_length=1000, pattern="^[^\\x00]*$")]
Quota = Annotated[int, Field(ge=0, le=10**15, strict=True)]
QUOTA_BYTES = (
    "Bytes that their data may take, in rows and objects, before nothing more is put into it; 0: any number."
)
QUOTA = "Points (steps of ranks, evaluations) that it may hold before nothing more is put into it; 0: any number."
KEEP_RUNS = "After how long ended experiments are deleted: `site`, `never`, or a duration such as `90d`."


class ProjectView(View):
    """A project that the reader reaches."""

    id: str
    name: str
    description: str
    archived: bool
    """Whether it accepts no more experiments; those that there are stay readable."""
    keep_runs: str
    """After how long experiments that have ended are deleted: `site`, `never`, or a duration such as `90d`."""
    quota: int
    """Points that it may hold: recorded steps of ranks, and evaluations. 0: any number."""
    points: int | None
    """Points that it holds; null: it has no quota, and they are not counted."""
    quota_bytes: int
    """Bytes that its data may take: steps, evaluations, output, traces and samples. 0: any number."""
    bytes: int | None
    """Bytes that they take; null: it has no such quota, and they are not counted."""
    role: Role
    """What the reader may do in it."""
    created_by: str
    created_at: datetime


class ProjectList(View):
    """The projects that the reader reaches: the default one, then the others by name."""

    items: list[ProjectView]
    site: str = "never"
    """What `site` is in `keep_runs`, as the server was started: `never`, or such as `90 days`."""
    undo: str = "7 days"
    """How long what retention or a user has deleted can be restored."""


class NewProject(View):
    """A project to be made."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: ProjectName
    description: Description = ""
    keep_runs: Retention = Field(SITE, description=KEEP_RUNS)
    quota: Quota = Field(0, description=QUOTA)
    quota_bytes: Quota = Field(0, description=QUOTA_BYTES)


class ProjectChange(View):
    """What changes of a project; null: nothing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: ProjectName | None = None
    description: Description | None = None
    archived: StrictBool | None = Field(None, description="True: nothing more is put into it; it stays readable.")
    keep_runs: Retention | None = Field(None, description=KEEP_RUNS)
    quota: Quota | None = Field(None, description=QUOTA)
    quota_bytes: Quota | None = Field(None, description=QUOTA_BYTES)


class MemberView(View):
    """A member of a project."""

    user: str
    role: MemberRole
    disabled: bool
    """Whether the user cannot sign in at all."""
    created_by: str
    created_at: datetime


class MemberList(View):
    """The members of a project, by name; administrators reach it without being members."""

    items: list[MemberView]


class MemberRequest(View):
    """The role that a user gets in a project."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: MemberRole = MemberRole.RESEARCHER
