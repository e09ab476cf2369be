"""`hooke experiments`: list, find, mark, rename, extend, delete, restore, export and import experiments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

import typer

from hooke.cli.experiment_ids import (
    DELETED,
    LIST,
    ExperimentArgument,
    ExperimentsArgument,
    id_of,
    pages,
    path,
)
from hooke.cli.remote import ApiOption, HomeOption, Remote, in_project, tell
from hooke.cli.text import columns
from hooke.errors import ArgumentError

app = typer.Typer(
    help="List, find, mark, rename, extend, delete, restore, export and import experiments.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.command("list")
def list_(  # noqa: PLR0913 - the options of the command line
    chosen: Annotated[
        str | None,
        typer.Option("--filter", help='Such as: state = running and algorithm ~ "easgd". See docs/filters.md.'),
    ] = None,
    project: Annotated[
        str | None, typer.Option("--project", help="Those of a project.", show_default="all")
    ] = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="Those that can be restored.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many at most.")] = 50,
    api: ApiOption = None,
    home: HomeOption = None,
) -> None:
    """List experiments, newest first: state, runs that have ended, tags and the answer."""

    def told(remote: Remote) -> str:
        if deleted:
            if chosen is not None or project is not None:
                option = "--filter" if chosen is not None else "--project"
                raise ArgumentError(f"{option} does not apply to --deleted")
            items = pages(remote, DELETED, limit)
            rows = [("EXPERIMENT", "NUMBER", "NAME", "DELETED", "BY", "UNTIL")]
            rows += [
                (
                    *(each["id"], str(each["number"]), each["name"], each["deleted_at"][:16]),
                    *(each["deleted_by"], each["purge_at"][:16]),
                )
                for each in items
            ]
            return columns(rows, "  ") if items else "no deleted experiments"
        text = _filter(chosen, project)
        items = pages(remote, LIST, limit, **({"filter": text} if text else {}))
        found = [("EXPERIMENT", "NUMBER", "NAME", "STATE", "RUNS", "TAGS", "ANSWER"), *map(_row, items)]
        return columns(found, "  ") if items else "no experiment" + (" matches the filter" if text else "")

    tell("experiments", told, api, home)


def _filter(chosen: str | None, project: str | None) -> str | None:
    """Return the filter of a list: of a project, and what else is asked for."""
    if project is None:
        return chosen
    mine = f"project = {json.dumps(project)}"
    return f"{mine} and ({chosen})" if chosen and chosen.strip() else mine


_OPEN = ("queued", "dispatched", "starting", "running", "lost")


def _row(item: dict[str, Any]) -> tuple[str, ...]:
    counts = item["runs"]
    ended = sum(count for state, count in counts.items() if state not in _OPEN)
    name = f"* {item['name']}" if item["starred"] else item["name"]
    more = f" (and {len(item['headlines']) - 1} more)" if len(item["headlines"]) > 1 else ""
    answer = item["headlines"][0] + more if item["headlines"] else ""
    runs = f"{ended}/{sum(counts.values())}"
    return (item["id"], str(item["number"]), name, item["state"], runs, ", ".join(item["tags"]), answer)


@app.command()
def mark(  # noqa: PLR0913, PLR0917 - each is an option of its own
    experiments: ExperimentsArgument,
    star: Annotated[bool | None, typer.Option("--star/--unstar", help="Star it.")] = None,
    archive: Annotated[bool | None, typer.Option("--archive/--unarchive", help="Hide it in lists.")] = None,
    protect: Annotated[
        bool | None, typer.Option("--protect/--unprotect", help="Protect it from deletion.")
    ] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="Add a tag; may be repeated.")] = None,
    untag: Annotated[list[str] | None, typer.Option("--untag", help="Remove a tag; may be repeated.")] = None,
    note: Annotated[str | None, typer.Option("--note", help="Markdown; empty: removes it.")] = None,
    api: ApiOption = None,
    home: HomeOption = None,
) -> None:
    """Star, archive, protect or tag experiments, or write a note; what is not given stays unchanged."""
    marks = {"starred": star, "archived": archive, "protected": protect, "note": note}
    asked: dict[str, Any] = {name: value for name, value in marks.items() if value is not None}
    asked |= {name: value for name, value in {"add_tags": tag, "remove_tags": untag}.items() if value}

    def told(remote: Remote) -> str:
        if not asked:
            raise ArgumentError("say what to change: --star, --archive, --protect, --tag, --untag or --note")
        views = [remote.patch(path(id_of(remote, each)), asked) for each in experiments]
        return "\n".join(f"{view['id']}: {_marks(view)}" for view in views)

    tell("experiments", told, api, home)


def _marks(view: dict[str, Any]) -> str:
    marks = [name for name in ("starred", "archived", "protected") if view[name]]
    return ", ".join([*marks, *(f"tag {tag}" for tag in view["tags"])]) or "no marks"


@app.command()
def rename(
    experiment: ExperimentArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The new name.", show_default=False)],
    api: ApiOption = None,
    home: HomeOption = None,
) -> None:
    """Give an experiment another name; its specification and fingerprint stay."""

    def told(remote: Remote) -> str:
        view = remote.patch(path(id_of(remote, experiment)), {"name": name})
        return f"{view['id']} is number {view['number']}: {view['name']}"

    tell("experiments", told, api, home)


@app.command()
def extend(  # noqa: PLR0913 - the options of the command line
    experiment: ExperimentArgument,
    seeds: Annotated[int, typer.Option("--seeds", min=0, help="Additional seeds per variant.")] = 0,
    variants: Annotated[
        Path | None, typer.Option("--variants", help="File with a list `variants`, all of which are added.")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Only show what would be added.")] = False,
    api: ApiOption = None,
    home: HomeOption = None,
) -> None:
    """Add seeds or variants to an experiment that has ended: a new version, compared as one experiment."""

    def told(remote: Remote) -> str:
        if not seeds and variants is None:
            raise ArgumentError("nothing to add: give --seeds, --variants, or both")
        found = id_of(remote, experiment)
        before = remote.get(path(found))
        asked = {"seeds": seeds, "variants": _variants(variants), "version": before["version"]}
        if check:
            plan = remote.post(path(found, "/extension/dry-run"), asked)
            for fault in plan["warnings"]:
                typer.echo(f"warning: {fault['pointer'] or '/'}: {fault['message']}", err=True)
            return f"{plan['trial_runs']} trial runs at most and {plan['reported_runs']} others would be added"
        view = remote.post(path(found, "/extension"), asked)
        added = sum(view["runs"].values()) - sum(before["runs"].values())
        return f"{view['id']} is version {view['version']}: {added} runs were added, trials included"

    tell("experiments", told, api, home)


def _variants(file: Path | None) -> list[Any]:
    """Return the list `variants` of a file. Raises ArgumentError."""
    from hooke.cli.document import read

    if file is None:
        return []
    try:
        found = read(file)
    except OSError as error:
        raise ArgumentError(f"--variants {file}: {error.strerror}") from None
    listed = found.get("variants") if isinstance(found, dict) else None
    if not isinstance(listed, list):
        raise ArgumentError(f"--variants {file}: it has no list `variants`, such as that of an experiment")
    return listed


@app.command()
def delete(experiments: ExperimentsArgument, api: ApiOption = None, home: HomeOption = None) -> None:
    """Delete experiments that have ended, with all their runs; they can be restored during the undo period."""

    def told(remote: Remote) -> str:
        views = [remote.delete(path(id_of(remote, each))) for each in experiments]
        return "\n".join(
            f"{each['id']} is deleted; until {each['purge_at'][:16]} UTC: hooke experiments restore {each['id']}"
            for each in views
        )

    tell("experiments", told, api, home)


@app.command()
def restore(experiments: ExperimentsArgument, api: ApiOption = None, home: HomeOption = None) -> None:
    """Restore deleted experiments."""

    def told(remote: Remote) -> str:
        found = [id_of(remote, each, DELETED) for each in experiments]
        views = [remote.post(path(each, "/restore")) for each in found]
        return "\n".join(f"{view['id']} is back: {view['name']}" for view in views)

    tell("experiments", told, api, home)


def _save(remote: Remote, path: str, out: Path) -> None:
    """Write a file of the server into a new one, which is there only if it is complete. Raises ArgumentError."""
    part = out.with_name(out.name + ".part")
    try:
        if out.exists():
            raise ArgumentError(f"--out {out}: this file exists: name another one")
        with part.open("wb") as file:
            remote.download(path, file)
        part.replace(out)
    except OSError as error:
        raise ArgumentError(f"--out {out}: {error.strerror}") from None
    finally:
        part.unlink(missing_ok=True)


@app.command()
def export(
    experiment: ExperimentArgument,
    out: Annotated[
        Path | None, typer.Option("--out", help="The file.", show_default="EXPERIMENT.hooke.zip")
    ] = None,
    logs: Annotated[bool, typer.Option("--logs", help="Include the output of its runs.")] = False,
    traces: Annotated[
        bool, typer.Option("--traces", help="Include traces of ranks, and samples of the system.")
    ] = False,
    api: ApiOption = None,
    home: HomeOption = None,
) -> None:
    """Write an experiment that has ended into one file, which another server can import."""
    target = out or Path(f"{experiment}.hooke.zip")

    def told(remote: Remote) -> str:
        chosen = urlencode({"logs": str(logs).lower(), "traces": str(traces).lower()})
        _save(remote, path(id_of(remote, experiment), f"/bundle?{chosen}"), target)
        return f"{experiment} is in {target}; on another server: hooke experiments import {target}"

    tell("experiments", told, api, home)


@app.command()
def report(
    experiment: ExperimentArgument,
    out: Annotated[Path | None, typer.Option("--out", help="The file.", show_default="EXPERIMENT.html")] = None,
    api: ApiOption = None,
    home: HomeOption = None,
) -> None:
    """Write a report on an experiment as one HTML file: verdict, figures, settings, environment."""
    target = out or Path(f"{experiment}.html")

    def told(remote: Remote) -> str:
        _save(remote, path(id_of(remote, experiment), "/report.html"), target)
        return f"the report on {experiment} is in {target}"

    tell("experiments", told, api, home)


@app.command("import")
def import_(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="Files of exported experiments.", show_default=False)
    ],
    project: Annotated[str | None, typer.Option(help="Project to import into.", show_default="default")] = None,
    api: ApiOption = None,
    home: HomeOption = None,
) -> None:
    """Import experiments with their runs and points; they are never run here."""

    def told(remote: Remote) -> str:
        return "\n".join(_imported(remote, each, project) for each in files)

    tell("experiments", told, api, home)


def _imported(remote: Remote, file: Path, project: str | None) -> str:
    try:
        with file.open("rb") as source:
            view = remote.upload(f"/experiments/import{in_project(project)}", source)
    except OSError as error:
        raise ArgumentError(f"{file}: {error.strerror}") from None
    except ArgumentError as error:
        raise ArgumentError(f"{file}: {error}") from None
    origin = view["origin"]
    made = f"experiment {origin['number']} of {origin['user']} on {origin['server']}"
    return f"{view['id']} is number {view['number']}: {view['name']}, imported from {made}"
