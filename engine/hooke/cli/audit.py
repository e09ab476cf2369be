"""`hooke audit`: the audit trail, which says who changed what, when, and from where."""

from __future__ import annotations

import json
from typing import Annotated, Any
from urllib.parse import urlencode

import typer

from hooke.cli.remote import ApiOption, HomeOption, Remote, tell
from hooke.cli.text import columns, moment
from hooke.errors import ArgumentError

KINDS = ("jsonl", "csv")
MOST = 500


def audit(  # noqa: PLR0913 - the options of the command line
    actor: Annotated[str | None, typer.Option(help="Only actions of this user, machine or owner.")] = None,
    action: Annotated[str | None, typer.Option(help="Only this operation of the API, such as cancel_run.")] = None,
    subject: Annotated[
        str | None, typer.Option(help="Only actions on this experiment, run, cluster, user or token.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=MOST, help="Number of entries shown, newest first.")] = 50,
    export: Annotated[str | None, typer.Option(help="Print all entries instead: jsonl or csv.")] = None,
    api: ApiOption = None,
    home: HomeOption = None,
) -> None:
    """Show the audit trail: who changed what, when, from where, with the state before and after."""
    wanted = {"actor": actor, "action": action, "subject": subject}
    query = {name: value for name, value in wanted.items() if value is not None}

    def told(remote: Remote) -> str:
        if export is not None:
            if export not in KINDS:
                raise ArgumentError(f"--export {export!r} is not a format: choose {' or '.join(KINDS)}")
            return str(remote.get(f"/audit/export?{urlencode(query | {'kind': export})}")).rstrip("\n")
        items = remote.get(f"/audit?{urlencode(query | {'limit': limit})}")["items"]
        rows = [("WHEN", "WHO", "FROM", "WITH", "ACTION", "OF", "BEFORE", "AFTER")]
        return columns([*rows, *map(_row, items)], "  ") if items else "no entries match"

    tell("audit", told, api, home)


def _row(entry: dict[str, Any]) -> tuple[str, ...]:
    before, after = (_short(entry[name]) for name in ("before", "after"))
    told = (entry["actor"], entry["address"] or "-", entry["credential"] or "-", entry["action"], entry["subject"])
    return (moment(entry["at"]), *told, before, after)


def _short(state: dict[str, Any] | None) -> str:
    return ", ".join(f"{name} {_value(value)}" for name, value in (state or {}).items()) or "-"


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
