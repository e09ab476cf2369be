"""How many points projects hold, and how many they may hold.

A point is a recorded step of a rank, or an evaluation: in rows or in objects, of every attempt, and of deleted
experiments until they are purged.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hooke_api.base.errors import Conflict
from hooke_api.models import Chunk, CompactedRun, Project, Run, StoredEvaluation

WARNED = 0.8
"""Share of a quota from which on it is warned of."""


def points_of(session: Session, projects: Collection[str]) -> dict[str, int]:
    """Return the points of projects, by id."""
    found = dict.fromkeys(projects, 0)
    if not found:
        return {}
    for query in (
        select(Run.project_id, func.sum(Chunk.n)).join(Chunk, Chunk.run_id == Run.id),
        select(Run.project_id, func.sum(CompactedRun.steps)).join(CompactedRun, CompactedRun.run_id == Run.id),
        select(Run.project_id, func.count()).join(StoredEvaluation, StoredEvaluation.run_id == Run.id),
    ):
        for project, points in session.execute(query.where(Run.project_id.in_(found)).group_by(Run.project_id)):
            found[project] += int(points)
    return found


def check_quota(session: Session, project: Project) -> None:
    """Raise Conflict if a project holds as many points as it may, or more."""
    if project.quota is None:
        return
    points = points_of(session, [project.id])[project.id]
    if points >= project.quota:
        raise Conflict(
            f"the project {project.name} holds {points:,} points; its quota is {project.quota:,}: delete "
            "experiments, which count until they are purged, or ask an administrator for a larger quota"
        )


def quota_warning(session: Session, project: str) -> str | None:
    """Return a sentence if a project, by its id, has little of its quota left."""
    row = session.get_one(Project, project)
    if row.quota is None:
        return None
    points = points_of(session, [project])[project]
    if points < WARNED * row.quota:
        return None
    return (
        f"The project {row.name} holds {points:,} of the {row.quota:,} points that it may hold; at this quota "
        "it accepts no more experiments. Submitted experiments are completed."
    )
