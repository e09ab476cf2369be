"""Names in requests."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

ProjectName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$")]
"""Name of a project."""
