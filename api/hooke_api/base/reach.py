"""Projects: who reaches which one, and with which role there. `role_in` is the rule, and the only one.

An administrator reaches every project. The default project is open to everybody, with the role on the site. In any
other one the role of the membership counts. What is in a project that somebody does not reach does not exist for
them: it is found by no id, and is in no list.
"""

from __future__ import annotations

from contextvars import ContextVar

from hooke_api.base.access import Actor, Role

DEFAULT_PROJECT = "prj_default"
"""Id of the project that every installation has."""
DEFAULT_NAME = "default"
"""Its name, which does not change."""

asking: ContextVar[Actor | None] = ContextVar("hooke_asking", default=None)
"""Who sends the request that is being handled; None: an agent, a supervisor, or a thread of the server itself."""


def role_in(actor: Actor, project: str | None) -> Role | None:
    """Return the role of an actor in a project, given by its id; None: it does not exist for them."""
    if project is None:
        return None
    role = actor.site or actor.role
    if actor.everywhere or role is Role.ADMIN or project == DEFAULT_PROJECT:
        return role
    return actor.projects.get(project)


def reached(actor: Actor | None) -> frozenset[str] | None:
    """Return the ids of the projects that an actor reaches; None: all. `actor` None: the server itself."""
    if actor is None or actor.everywhere or (actor.site or actor.role) is Role.ADMIN:
        return None
    return frozenset({DEFAULT_PROJECT, *actor.projects})


def reaches(project: str) -> bool:
    """Return whether the sender of the present request reaches a project."""
    projects = reached(asking.get())
    return projects is None or project in projects


def may_in(project: str, least: Role) -> bool:
    """Return whether the sender of the present request has at least a role in a project."""
    actor = asking.get()
    role = Role.ADMIN if actor is None else role_in(actor, project)
    return role is not None and role.rank >= least.rank
