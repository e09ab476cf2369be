"""What the sender of a request reaches, as conditions of queries; the rule is in `hooke_api.base.reach`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import ColumnElement, exists, select, true
from sqlalchemy.orm import InstrumentedAttribute, Session

from hooke_api.base.access import Role
from hooke_api.base.errors import Conflict, Forbidden, ResourceNotFound
from hooke_api.base.reach import DEFAULT_NAME, DEFAULT_PROJECT, asking, may_in, reached, reaches
from hooke_api.models import Experiment, Project, ProjectMember, Run
from hooke_api.storage.quotas import check_quota


def in_reach(project_id: InstrumentedAttribute[str]) -> ColumnElement[bool]:
    """Return the condition that the sender of the present request reaches the project in a column."""
    projects = reached(asking.get())
    return true() if projects is None else project_id.in_(sorted(projects))


def run_in_reach() -> ColumnElement[bool]:
    """Return the condition that the sender reaches the project of a run's experiment, which alone counts."""
    if reached(asking.get()) is None:
        return true()
    return exists().where(Experiment.id == Run.experiment_id, in_reach(Experiment.project_id))


def out_of_reach(session: Session, experiments: Collection[str]) -> frozenset[str]:
    """Return those of some experiments that do not exist for the sender."""
    if reached(asking.get()) is None or not experiments:
        return frozenset()
    mine = select(Experiment.id).where(Experiment.id.in_(experiments), in_reach(Experiment.project_id))
    return frozenset(experiments) - set(session.scalars(mine))


def memberships(session: Session, user: str, most: Role = Role.ADMIN) -> dict[str, Role]:
    """Return project id -> role of a user's membership, at most `most`: the role that a token's scope is worth."""
    rows = session.execute(
        select(ProjectMember.project_id, ProjectMember.role).where(ProjectMember.user_id == user)
    )
    return {project: min(Role(role), most, key=lambda each: each.rank) for project, role in rows}


def project_of(session: Session, ids: Mapping[str, str]) -> str | None:
    """Return the id of the project of an `experiment_id` or `run_id`, or with the name `project`; None: none."""
    of_run = select(Experiment.project_id).join(Run, Run.experiment_id == Experiment.id)
    queries: dict[str, Any] = {
        "experiment_id": lambda id: select(Experiment.project_id).where(Experiment.id == id),
        "run_id": lambda id: of_run.where(Run.id == id),
        "project": lambda name: select(Project.id).where(Project.name == name),
    }
    found = {session.scalar(queries[name](value)) for name, value in ids.items()}
    return found.pop() if len(found) == 1 else None  # of two, neither is trusted


def names_of(session: Session, projects: Collection[str]) -> dict[str, str]:
    """Return id -> name of projects."""
    others = set(projects) - {DEFAULT_PROJECT}
    known = {DEFAULT_PROJECT: DEFAULT_NAME}
    if others:
        rows = session.execute(select(Project.id, Project.name).where(Project.id.in_(others)))
        known |= {project: name for project, name in rows}
    return known


def open_project(session: Session, name: str, *, counted: bool = True) -> str:
    """Return the id of the project that an experiment is to be put into.

    `counted`: whether what it holds is summed, which takes a while: not in a transaction that others wait for.
    Raises ResourceNotFound for one that the sender does not reach, Forbidden for one in which they only read, and
    Conflict if it is archived, or holds as many points as it may.
    """
    found = session.scalars(select(Project).where(Project.name == name)).first()
    if found is None or not reaches(found.id):
        raise ResourceNotFound(f"no project is called {name}")
    if not may_in(found.id, Role.RESEARCHER):
        raise Forbidden(f"you may only read the project {name}: adding experiments needs the role researcher")
    if found.archived:
        raise Conflict(f"the project {name} is archived and accepts no experiments")
    if counted:
        check_quota(session, found)
    return found.id
