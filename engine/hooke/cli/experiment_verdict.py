"""`hooke verdict`: the comparison of an experiment, and the settings that its trials have chosen."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from hooke.cli.experiment_ids import ExperimentArgument, id_of, path
from hooke.cli.remote import ApiOption, HomeOption, Remote
from hooke.cli.text import plain
from hooke.errors import ArgumentError


def verdict(
    experiment: ExperimentArgument,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print comparison and tuning as JSON, all trials included.")
    ] = False,
    api: ApiOption = None,
    home: HomeOption = None,
) -> None:
    """Print the verdict of an experiment, also while it runs, and the settings that its trials have chosen."""
    try:
        remote = Remote.connect(api, home)
        view = remote.get(path(id_of(remote, experiment)))
        if as_json:
            tuning = remote.get(path(view["id"], "/tuning")) if _tuned(view) else None
            found = {"comparison": remote.get(path(view["id"], "/comparison")), "tuning": tuning}
            print(json.dumps(found, indent=2))
        else:
            show_all(remote.get, view)
    except ArgumentError as error:
        typer.echo(f"hooke verdict: {plain(str(error))}", err=True)
        raise typer.Exit(1) from None


def show_all(get: Callable[[str], Any], view: Mapping[str, Any]) -> None:
    """Print what trials have chosen, if there are any, and the verdict; `view` is of `GET /experiments/{id}`."""
    from rich.console import Console

    from hooke.cli.verdict import show, show_choices

    console = Console()
    if _tuned(view):
        show_choices(console, get(path(view["id"], "/tuning")))
    show(console, get(path(view["id"], "/comparison")))


def _tuned(view: Mapping[str, Any]) -> bool:
    return bool(view["spec"].get("tuning"))
