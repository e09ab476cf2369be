"""How many points and bytes projects hold, and how many they may hold.

A point is a recorded step of a rank, or an evaluation: in rows or in objects, of every attempt, and of deleted
experiments until they are purged. Bytes are those of their steps, in rows or objects, evaluations, output, traces
and samples, as they are stored, without what the database needs beside them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from hooke_api.base.errors import Conflict
from hooke_api.models import Chunk, CompactedRun, LogBlock, Project, Run, StoredFilePart

WARNED = 0.8
"""Share of a quota from which on it is warned of."""
OF_EVALUATION = 100
"""Bytes of the columns of an evaluation, about."""
UNITS = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))


def points_of(session: Session, projects: Collection[str]) -> dict[str, int]:
    """Return the points of projects, by id."""
    queries = (
        select(Run.project_id, func.sum(Chunk.n)).join(Chunk, Chunk.run_id == Run.id),
        select(Run.project_id, func.sum(CompactedRun.steps)).join(CompactedRun, CompactedRun.run_id == Run.id),
        select(Run.project_id, func.sum(Run.evaluations)),
    )
    return _sums(session, projects, queries)


def bytes_of(session: Session, projects: Collection[str]) -> dict[str, int]:
    """Return the bytes of projects, by id."""
    held = [(table, func.length(table.data)) for table in (Chunk, LogBlock, StoredFilePart)]
    queries = (
        *(select(Run.project_id, func.sum(size)).join(table, table.run_id == Run.id) for table, size in held),
        select(Run.project_id, func.sum(CompactedRun.size)).join(CompactedRun, CompactedRun.run_id == Run.id),
        select(Run.project_id, OF_EVALUATION * func.sum(Run.evaluations)),
    )
    return _sums(session, projects, queries)


def _sums(session: Session, projects: Collection[str], queries: Iterable[Select[Any, Any]]) -> dict[str, int]:
    found = dict.fromkeys(projects, 0)
    for query in queries if found else ():
        for project, held in session.execute(query.where(Run.project_id.in_(found)).group_by(Run.project_id)):
            found[project] += int(held)
    return found


class Held(NamedTuple):
    """What a project holds of what it may hold."""

    held: int
    quota: int
    unit: str
    """`points` or `bytes`."""

    @property
    def both(self) -> str:
        """Return both in words, such as `4,200,000 of the 5,000,000 points`."""
        if self.unit == "bytes":
            return f"{in_words(self.held)} of the {in_words(self.quota)}"
        return f"{self.held:,} of the {self.quota:,} points"

    @property
    def refusal(self) -> str:
        """Return the same to somebody who may put nothing more into the project."""
        if self.unit == "bytes":
            return f"{in_words(self.held)}; its quota is {in_words(self.quota)}"
        return f"{self.held:,} points; its quota is {self.quota:,}"


def held(session: Session, project: Project) -> list[Held]:
    """Return what a project holds of everything of which it may hold a limited amount."""
    found = []
    if project.quota is not None:
        points = points_of(session, [project.id])[project.id]
        found.append(Held(points, project.quota, "points"))
    if project.quota_bytes is not None:
        size = bytes_of(session, [project.id])[project.id]
        found.append(Held(size, project.quota_bytes, "bytes"))
    return found


def in_words(size: int) -> str:
    """Return a number of bytes, such as `1.5 GB`."""
    for name, unit in UNITS:
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size} B"


def check_quota(session: Session, project: Project) -> None:
    """Raise Conflict if a project holds as much as it may, or more."""
    for one in held(session, project):
        if one.held >= one.quota:
            raise Conflict(
                f"the project {project.name} holds {one.refusal}: delete experiments, which count until they are "
                "purged, or ask an administrator for a larger quota"
            )


def quota_warning(session: Session, project: str) -> str | None:
    """Return a sentence if a project, by its id, has little of its quota left."""
    row = session.get_one(Project, project)
    tight = [one.both for one in held(session, row) if one.held >= WARNED * one.quota]
    if not tight:
        return None
    return (
        f"The project {row.name} holds {' and '.join(tight)} that it may hold; at this quota it accepts no more "
        "experiments. Submitted experiments are completed."
    )
