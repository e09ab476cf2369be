"""`hooke users`: invite users, give them roles, disable them."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

import typer

from hooke.cli.remote import ApiOption, HomeOption, Remote, tell
from hooke.cli.text import columns, moment

app = typer.Typer(
    help="Invite users, give them roles, disable them.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

NameArgument = Annotated[str, typer.Argument(metavar="USER", help="Name of the user.")]
ROLES = "viewer, researcher, operator or admin; each includes those before it."


def _path(user: str, rest: str = "") -> str:
    return f"/users/{quote(user, safe='')}{rest}"


def _invitation(remote: Remote, made: dict[str, Any]) -> str:
    user = made["user"]
    until = moment(user["invite_until"])
    return f"{user['name']} sets a password at this address, once, until {until}:\n{remote.base}{made['path']}"


@app.command()
def add(
    user: NameArgument,
    role: Annotated[str, typer.Option(help=ROLES)] = "researcher",
    api: ApiOption = None,
    home: HomeOption = None,
) -> None:
    """Add a user and print the address where they set their password."""
    document = {"name": user, "role": role}
    tell("users", lambda remote: _invitation(remote, remote.post("/users", document)), api, home)


@app.command("list")
def list_(api: ApiOption = None, home: HomeOption = None) -> None:
    """List the users with their roles."""

    def told(remote: Remote) -> str:
        items = remote.get("/users")["items"]
        rows = [("USER", "ROLE", "STATE", "SINCE", "LAST SIGN-IN")]
        rows += [
            (each["name"], each["role"], state(each), moment(each["created_at"]), moment(each["signed_in_at"]))
            for each in items
        ]
        return columns(rows, "  ") if items else "there is no user: add one with `hooke users add USER`"

    tell("users", told, api, home)


def state(user: dict[str, Any]) -> str:
    """Return the state of a user in words."""
    if user["disabled"]:
        return "disabled"
    if user["has_password"] or user["linked"]:
        return "active"
    return "invited" if user["invite_until"] else "without password"


@app.command()
def role(
    user: NameArgument,
    role: Annotated[str, typer.Argument(metavar="ROLE", help=ROLES)],
    api: ApiOption = None,
    home: HomeOption = None,
) -> None:
    """Change the role of a user, at once."""

    def told(remote: Remote) -> str:
        return f"{user} is {remote.patch(_path(user), {'role': role})['role']}"

    tell("users", told, api, home)


@app.command()
def disable(user: NameArgument, api: ApiOption = None, home: HomeOption = None) -> None:
    """Disable a user: sessions and tokens end at once, runs continue."""

    def told(remote: Remote) -> str:
        remote.patch(_path(user), {"disabled": True})
        return f"{user} is disabled: sessions and tokens are refused; their runs continue"

    tell("users", told, api, home)


@app.command()
def enable(user: NameArgument, api: ApiOption = None, home: HomeOption = None) -> None:
    """Enable a disabled user, who can sign in again with the same password."""

    def told(remote: Remote) -> str:
        remote.patch(_path(user), {"disabled": False})
        return f"{user} signs in again"

    tell("users", told, api, home)


@app.command("sign-out")
def sign_out(user: NameArgument, api: ApiOption = None, home: HomeOption = None) -> None:
    """End all browser sessions of a user, or of the `owner`; tokens stay valid."""

    def told(remote: Remote) -> str:
        remote.post(_path(user, "/sign-out"))
        return f"the sessions of {user} have ended"

    tell("users", told, api, home)


@app.command()
def invite(user: NameArgument, api: ApiOption = None, home: HomeOption = None) -> None:
    """Print an address where a user sets a new password, for example one who forgot theirs."""
    tell("users", lambda remote: _invitation(remote, remote.post(_path(user, "/invite"))), api, home)
