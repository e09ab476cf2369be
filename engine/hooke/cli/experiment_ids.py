"""Experiments as users name them on a command line: by id or by number."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote, urlencode

import typer

from hooke.cli.remote import Remote
from hooke.errors import ArgumentError

ExperimentsArgument = Annotated[
    list[str],
    typer.Argument(metavar="EXPERIMENT", help="Ids of experiments, exp_..., or numbers.", show_default=False),
]
ExperimentArgument = Annotated[
    str, typer.Argument(metavar="EXPERIMENT", help="Its id, exp_..., or its number.", show_default=False)
]
LIST, DELETED = "/experiments", "/deleted-experiments"
_PAGE, _MOST = 200, 10_000


def path(experiment: str, rest: str = "") -> str:
    """Return the path of an experiment with this id."""
    return f"/experiments/{quote(experiment, safe='')}{rest}"


def pages(remote: Remote, place: str, most: int, **query: str) -> list[dict[str, Any]]:
    """Return up to `most` items of a list."""
    found: list[dict[str, Any]] = []
    while True:
        page = remote.get(f"{place}?{urlencode(query | {'limit': str(min(_PAGE, most - len(found)))})}")
        found += page["items"]
        if page["next_cursor"] is None or len(found) >= most:
            return found
        query |= {"cursor": page["next_cursor"]}


def id_of(remote: Remote, experiment: str, place: str = LIST) -> str:
    """Return the id of an experiment that is given by id or number; `place`: the list that it is in.

    Raises ArgumentError if the list has no such number.
    """
    if not (experiment.isascii() and experiment.isdigit()):
        return experiment
    if place == LIST:
        chosen = f"number = {experiment} and (archived or not archived)"
        found = pages(remote, place, 1, filter=chosen)
    else:
        number = experiment.lstrip("0")
        found = [each for each in pages(remote, place, _MOST) if str(each["number"]) == number]
    if not found:
        raise ArgumentError(f"no {'' if place == LIST else 'deleted '}experiment has the number {experiment}")
    return str(found[0]["id"])
