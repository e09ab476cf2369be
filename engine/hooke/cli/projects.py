"""`hooke projects`: create projects, manage their members, move experiments between them."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

import typer

from hooke.cli.experiment_ids import ExperimentsArgument, id_of, path
from hooke.cli.remote import ApiOption, HomeOption, Remote, tell
from hooke.cli.text import bytes_in, columns, moment, size
from hooke.errors import ArgumentError

app = typer.Typer(
    help="Create projects, manage their members, move experiments between them.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

NameArgument = Annotated[str, typer.Argument(metavar="PROJECT", help="Name of the project.", show_default=False)]
UserArgument = Annotated[str, typer.Argument(metavar="USER", help="Name of the user.", show_default=False)]
ROLES = "viewer, researcher or operator; each includes those before it."
QUOTA = "Points (steps of ranks, and evaluations) after which it accepts no more experiments; 0: no limit."
QUOTA_BYTES = "Size of their data after which it accepts no more experiments, such as 500GB; 0: no limit."
KEEP = "When ended experiments are deleted: site (the server's default), never, or after a duration such as 90d."


def _path(project: str, rest: str = "") -> str:
    return f"/projects/{quote(project, safe='')}{rest}"


def _member(project: str, user: str) -> str:
    return _path(project, f"/members/{quote(user, safe='')}")


@app.command("list")
def list_(api: ApiOption = None, home: HomeOption = None) -> None:
    """List your projects, with your role in each."""

    def told(remote: Remote) -> str:
        rows = [("PROJECT", "YOUR ROLE", "STATE", "KEEPS RUNS", "POINTS", "BYTES", "SINCE", "DESCRIPTION")]
        rows += [
            (
                *(each["name"], each["role"], "archived" if each["archived"] else "open"),
                *(
                    _kept(each["keep_runs"]),
                    _points(each),
                    _bytes(each),
                    moment(each["created_at"]),
                    each["description"],
                ),
            )
            for each in remote.get("/projects")["items"]
        ]
        return columns(rows, "  ")

    tell("projects", told, api, home)


def _kept(keep_runs: str) -> str:
    """Return in words after how long a project deletes what has ended."""
    return {"site": "by the server's default", "never": "forever"}.get(keep_runs, keep_runs)


def _points(view: dict[str, Any]) -> str:
    """Return how many points a project holds of how many that it may hold."""
    quota = view.get("quota")  # an older server has none
    if not quota:
        return "no limit"
    return f"{view['points']:,} of {quota:,} ({view['points'] / quota:.0%})"


def _bytes(view: dict[str, Any]) -> str:
    """Return how much its data take of how much they may take."""
    quota = view.get("quota_bytes")  # an older server has none
    if not quota:
        return "no limit"
    return f"{size(view['bytes'])} of {size(quota)} ({view['bytes'] / quota:.0%})"


@app.command()
def create(
    project: NameArgument,
    description: Annotated[str, typer.Option(help="Description.")] = "",
    keep_runs: Annotated[str, typer.Option("--keep-runs", help=KEEP)] = "site",
    quota: Annotated[int, typer.Option(help=QUOTA)] = 0,
    quota_bytes: Annotated[str, typer.Option("--quota-bytes", help=QUOTA_BYTES)] = "0",
    api: ApiOption = None,
    home: HomeOption = None,
) -> None:
    """Create a project; administrators and the members that you add have access to it."""
    document: dict[str, Any] = {"name": project, "description": description, "keep_runs": keep_runs}
    document |= {"quota": quota} if quota else {}
    document |= {"quota_bytes": most} if (most := bytes_in(quota_bytes)) else {}

    def told(remote: Remote) -> str:
        name = remote.post("/projects", document)["name"]
        return f"the project {name} has no members yet: hooke projects add {name} USER"

    tell("projects", told, api, home)


@app.command()
def change(  # noqa: PLR0913, PLR0917 - each is an option of its own
    project: NameArgument,
    name: Annotated[str | None, typer.Option(help="New name.")] = None,
    description: Annotated[str | None, typer.Option(help="Description.")] = None,
    keep_runs: Annotated[str | None, typer.Option("--keep-runs", help=KEEP)] = None,
    quota: Annotated[int | None, typer.Option(help=QUOTA)] = None,
    quota_bytes: Annotated[str | None, typer.Option("--quota-bytes", help=QUOTA_BYTES)] = None,
    archive: Annotated[
        bool | None,
        typer.Option("--archive/--unarchive", help="Accept no more experiments; existing ones stay readable."),
    ] = None,
    api: ApiOption = None,
    home: HomeOption = None,
) -> None:
    """Rename or archive a project, change its description, retention or quota; the rest stays unchanged."""
    given = {"name": name, "description": description, "keep_runs": keep_runs, "archived": archive, "quota": quota}
    asked: dict[str, Any] = {field: value for field, value in given.items() if value is not None}
    if quota_bytes is not None:
        asked["quota_bytes"] = bytes_in(quota_bytes)

    def told(remote: Remote) -> str:
        if not asked:
            raise ArgumentError(
                "say what to change: --name, --description, --keep-runs, --quota[-bytes], --[un]archive"
            )
        view = remote.patch(_path(project), asked)
        state = "archived" if view["archived"] else "open"
        holds = f", and holds {_points(view)} points" if view.get("quota") else ""
        holds += f", and takes {_bytes(view)}" if view.get("quota_bytes") else ""
        return f"the project {view['name']} is {state}, and keeps runs {_kept(view['keep_runs'])}{holds}"

    tell("projects", told, api, home)


@app.command()
def members(project: NameArgument, api: ApiOption = None, home: HomeOption = None) -> None:
    """List the members of a project; administrators have access without being members."""

    def told(remote: Remote) -> str:
        items = remote.get(_path(project, "/members"))["items"]
        rows = [("USER", "ROLE", "SINCE", "ADDED BY")]
        rows += [
            (
                each["user"] + (" (disabled)" if each["disabled"] else ""),
                *(each["role"], moment(each["created_at"]), each["created_by"]),
            )
            for each in items
        ]
        return columns(rows, "  ") if items else f"{project} has no members"

    tell("projects", told, api, home)


@app.command()
def add(
    project: NameArgument,
    user: UserArgument,
    role: Annotated[str, typer.Option(help=ROLES)] = "researcher",
    api: ApiOption = None,
    home: HomeOption = None,
) -> None:
    """Add a user to a project, or change their role in it."""

    def told(remote: Remote) -> str:
        made = remote.put(_member(project, user), {"role": role})
        return f"{made['user']} is {made['role']} in {project}"

    tell("projects", told, api, home)


@app.command()
def remove(project: NameArgument, user: UserArgument, api: ApiOption = None, home: HomeOption = None) -> None:
    """Remove a user from a project: they lose access to it at once; their runs continue."""

    def told(remote: Remote) -> str:
        remote.delete(_member(project, user))
        return f"{user} has no access to {project} any more; their runs continue"

    tell("projects", told, api, home)


@app.command()
def move(
    project: NameArgument,
    experiments: ExperimentsArgument,
    api: ApiOption = None,
    home: HomeOption = None,
) -> None:
    """Move experiments into a project: from then on, only its members have access."""

    def told(remote: Remote) -> str:
        document = {"project": project}
        views = [remote.put(path(id_of(remote, each), "/project"), document) for each in experiments]
        return "\n".join(f"{view['id']} is in {view['project']}: {view['name']}" for view in views)

    tell("projects", told, api, home)
