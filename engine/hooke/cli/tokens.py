"""`hooke tokens`: create, list and revoke tokens of users, machines and agents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from hooke.cli.remote import ApiOption, HomeOption, Remote, tell, write_secret
from hooke.cli.text import columns, moment

app = typer.Typer(
    help="Create, list and revoke tokens of users, machines and agents.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

SCOPES = "read, submit, operate or admin, each with those before it; or agent:CLUSTER."


@app.command()
def create(  # noqa: PLR0913 - the options of the command line
    label: Annotated[str, typer.Argument(metavar="LABEL", help="What it is for; of a machine, its name.")],
    scope: Annotated[str, typer.Option(help=SCOPES)] = "read",
    days: Annotated[int | None, typer.Option(help="Days until it expires.", show_default="90")] = None,
    machine: Annotated[
        bool, typer.Option("--machine", help="For a machine, not for yourself; administrators only.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="File for the token, mode 0600.", show_default="print it")
    ] = None,
    api: ApiOption = None,
    home: HomeOption = None,
) -> None:
    """Create a token; it is shown only once. Programs send it; for `hooke`, set it in HOOKE_TOKEN."""
    document: dict[str, Any] = {"label": label, "scope": scope, "machine": machine}
    if days is not None:
        document["days"] = days

    def told(remote: Remote) -> str:
        if out is None:
            return str(remote.post("/tokens", document)["token"])
        made = write_secret(out, lambda: remote.post("/tokens", document))
        return f"{out} holds the token {made['id']}, {made['scope']}, until {moment(made['expires_at'])}"

    tell("tokens", told, api, home)


@app.command("list")
def list_(api: ApiOption = None, home: HomeOption = None) -> None:
    """List your tokens without the secrets; for an administrator those of all, of machines and of agents."""

    def told(remote: Remote) -> str:
        items = remote.get("/tokens")["items"]
        rows = [("TOKEN", "OF", "LABEL", "SCOPE", "MADE", "EXPIRES", "LAST USED", "REVOKED")]
        moments = ("created_at", "expires_at", "used_at", "revoked_at")
        rows += [
            (each["id"], _of(each), each["label"], each["scope"], *(moment(each[name]) for name in moments))
            for each in items
        ]
        return columns(rows, "  ") if items else "there is no token: create one with `hooke tokens create LABEL`"

    tell("tokens", told, api, home)


def _of(token: dict[str, Any]) -> str:
    return token["user"] or ("an agent" if token["scope"].startswith("agent:") else "a machine")


@app.command()
def revoke(
    token: Annotated[str, typer.Argument(metavar="TOKEN", help="Id of the token, tok_...")],
    api: ApiOption = None,
    home: HomeOption = None,
) -> None:
    """Revoke a token at once."""

    def told(remote: Remote) -> str:
        found = remote.post(f"/tokens/{quote(token, safe='')}/revoke")
        return f"{token} ({found['label']}) is revoked"

    tell("tokens", told, api, home)
