"""Projects: made, changed, listed; members with their roles."""

from __future__ import annotations

from typing import Any

from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from hooke_api.base import ids
from hooke_api.base.access import Actor, Role
from hooke_api.base.durations import NEVER, in_words
from hooke_api.base.errors import Conflict, ResourceNotFound
from hooke_api.base.reach import DEFAULT_PROJECT, reaches, role_in
from hooke_api.base.settings import Settings
from hooke_api.models import Project, ProjectMember, User, database_time
from hooke_api.projects.schemas import (
    SITE,
    MemberList,
    MemberRequest,
    MemberRole,
    MemberView,
    NewProject,
    ProjectChange,
    ProjectList,
    ProjectView,
)
from hooke_api.storage import trail
from hooke_api.storage.quotas import bytes_of, points_of
from hooke_api.storage.reach import in_reach

MOST = 500
"""Maximum number of projects."""


def listed(session: Session, actor: Actor, settings: Settings) -> ProjectList:
    """Return the projects that the sender of the present request, `actor`, reaches."""
    rows = session.scalars(select(Project).where(in_reach(Project.id)).order_by(Project.name)).all()
    first = sorted(rows, key=lambda row: row.id != DEFAULT_PROJECT)
    points = points_of(session, [row.id for row in first if row.quota is not None])
    sizes = bytes_of(session, [row.id for row in first if row.quota_bytes is not None])
    return ProjectList(
        items=[_view(row, actor, points.get(row.id), sizes.get(row.id)) for row in first],
        site=in_words(settings.keep_runs) if settings.keep_runs else NEVER,
        undo=in_words(settings.undo),
    )


def _view(project: Project, actor: Actor, points: int | None, size: int | None) -> ProjectView:
    computed = ("keep_runs", "quota", "points", "quota_bytes", "bytes", "role")
    known = {name: getattr(project, name) for name in ProjectView.model_fields if name not in computed}
    return ProjectView(
        **known,
        keep_runs=project.keep_runs or SITE,
        quota=project.quota or 0,
        points=points,
        quota_bytes=project.quota_bytes or 0,
        bytes=size,
        role=role_in(actor, project.id) or Role.VIEWER,
    )


def told(session: Session, project: Project, actor: Actor) -> ProjectView:
    """Return a project with what it holds of its quotas."""
    points = None if project.quota is None else points_of(session, [project.id])[project.id]
    size = None if project.quota_bytes is None else bytes_of(session, [project.id])[project.id]
    return _view(project, actor, points, size)


def create(session: Session, asked: NewProject, actor: Actor) -> Project:
    """Make a project without members. Raises Conflict for a name in use, or if there are too many."""
    if session.execute(select(func.count()).select_from(Project)).scalar_one() >= MOST:
        raise Conflict(f"there are {MOST} projects, the maximum")
    project = Project(
        id=ids.project_id(),
        name=asked.name,
        description=asked.description,
        archived=False,
        keep_runs=_stored(asked.keep_runs),
        quota=asked.quota or None,
        quota_bytes=asked.quota_bytes or None,
        created_by=actor.name,
        created_at=database_time(session),
    )
    session.add(project)
    _flush(session, asked.name)
    trail.tell(session, subject=project.name, after=_state(project))
    return project


def _stored(keep_runs: str) -> str | None:
    return None if keep_runs == SITE else keep_runs


def _flush(session: Session, name: str) -> None:
    try:
        session.flush()
    except IntegrityError:
        raise Conflict(f"the project {name!r} exists already: choose another name") from None


def change(session: Session, name: str, asked: ProjectChange) -> Project:
    """Change a project. Raises ResourceNotFound, and Conflict for a name in use, or of the default project."""
    project = get(session, name, lock=True)
    renamed = asked.name is not None and asked.name != project.name
    if project.id == DEFAULT_PROJECT and (renamed or asked.archived):
        raise Conflict("the default project cannot be renamed or archived: every user is in it")
    before = _state(project)
    for field in ("name", "description", "archived"):
        if (value := getattr(asked, field)) is not None:
            setattr(project, field, value)
    if asked.keep_runs is not None:
        project.keep_runs = _stored(asked.keep_runs)
    if asked.quota is not None:
        project.quota = asked.quota or None
    if asked.quota_bytes is not None:
        project.quota_bytes = asked.quota_bytes or None
    _flush(session, project.name)
    trail.tell(session, before=before, after=_state(project))
    return project


def get(session: Session, name: str, *, lock: bool = False) -> Project:
    """Return a project that the sender of the present request reaches. Raises ResourceNotFound.

    `lock`: against other changes of it, which do not wait for imports and submissions into it.
    """
    query = select(Project).where(Project.name == name)
    project = session.scalars(query.with_for_update(key_share=True) if lock else query).first()
    if project is None or not reaches(project.id):
        raise ResourceNotFound(f"no project is called {name}")
    return project


def _state(project: Project) -> dict[str, Any]:
    names = ("name", "description", "archived", "keep_runs", "quota", "quota_bytes")
    return {name: getattr(project, name) for name in names}


def members(session: Session, name: str) -> MemberList:
    """Return the members of a project. Raises ResourceNotFound."""
    project = get(session, name)
    query = select(ProjectMember, User).join(User, User.id == ProjectMember.user_id)
    rows = session.execute(query.where(ProjectMember.project_id == project.id).order_by(User.name))
    return MemberList(items=[_member(row, user) for row, user in rows])


def _member(row: ProjectMember, user: User) -> MemberView:
    return MemberView(
        user=user.name,
        role=MemberRole(row.role),
        disabled=user.disabled,
        created_by=row.created_by,
        created_at=row.created_at,
    )


def set_member(session: Session, name: str, user_name: str, asked: MemberRequest, actor: Actor) -> MemberView:
    """Give a user a role in a project, which counts from their next request on.

    Raises ResourceNotFound, and Conflict for the default project, of which nobody is a member.
    """
    project = get(session, name, lock=True)
    if project.id == DEFAULT_PROJECT:
        raise Conflict(
            "every user is in the default project, with their role on the site: change that role instead"
        )
    user = session.scalars(select(User).where(User.name == user_name)).first()
    if user is None:
        raise ResourceNotFound(f"no user is called {user_name!r}")
    row = session.get(ProjectMember, (project.id, user.id), with_for_update=True)
    before = None if row is None else {"role": row.role}
    if row is None:
        row = ProjectMember(
            project_id=project.id, user_id=user.id, created_by=actor.name, created_at=database_time(session)
        )
        session.add(row)
    row.role = asked.role.value
    session.flush()
    trail.tell(session, before=before, after={"role": row.role})
    return _member(row, user)


def remove_member(session: Session, name: str, user_name: str) -> None:
    """Take a user out of a project, which does not exist for them from their next request on; runs continue.

    Raises ResourceNotFound.
    """
    project = get(session, name, lock=True)
    mine = select(ProjectMember).join(User, User.id == ProjectMember.user_id)
    row = session.scalars(mine.where(ProjectMember.project_id == project.id, User.name == user_name)).first()
    if row is None:
        raise ResourceNotFound(f"{user_name!r} is not a member of the project {name}")
    trail.tell(session, before={"role": row.role})
    session.delete(row)
    session.flush()
