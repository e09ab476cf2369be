"""Requests and responses of saved views."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import ConfigDict, Field, StringConstraints

from hooke_api.base.schema import View

ViewName = Annotated[
    str,
    StringConstraints(pattern=r"^[^\x00-\x1f\x7f\s][^\x00-\x1f\x7f]{0,79}$", max_length=80, strip_whitespace=True),
]
LocalPath = Annotated[
    str,
    StringConstraints(
        pattern=r"^/(experiments/[A-Za-z0-9_-]{1,64}|compare|runs|leaderboard)?(\?[!\x24-\x5b\x5d-\x7e]*)?$",
        max_length=8000,
    ),
]
"""A page of the dashboard that has views, and its query: printable ASCII without `"`, `#` and backslashes."""


class NewView(View):
    """A view and its name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: ViewName
    path: LocalPath = Field(
        description="Path and query of the dashboard: `/?...`, `/experiments/ID?...`, `/compare?...`, `/runs?...` "
        "or `/leaderboard?...`."
    )


class ViewChange(View):
    """What changes of a saved view; null: nothing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: ViewName | None = None
    path: LocalPath | None = None
    """Path and query, as in `NewView`."""


class SavedView(View):
    """A view of the dashboard under a name."""

    id: str
    name: str
    path: str
    """Path and query of the dashboard."""
    created_at: datetime
    changed_at: datetime
    """When its name or path changed last."""


class ViewList(View):
    """Saved views, by name."""

    items: list[SavedView]
