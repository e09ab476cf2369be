"""`hooke clusters`: list clusters; create their tokens; drain, resume and remove them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from hooke.cli.remote import ApiOption, HomeOption, Remote, tell, write_secret
from hooke.cli.text import columns, moment

app = typer.Typer(
    help="List clusters; create their tokens; drain, resume and remove them.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

NameArgument = Annotated[str, typer.Argument(metavar="CLUSTER", help="Name of the cluster.")]


def _path(cluster: str, rest: str = "") -> str:
    return f"/clusters/{quote(cluster, safe='')}{rest}"


@app.command("list")
def list_(api: ApiOption = None, home: HomeOption = None) -> None:
    """List the clusters with their state, slots, launcher and versions."""

    def told(remote: Remote) -> str:
        items = remote.get("/clusters")["items"]
        if not items:
            return "no cluster has joined: create a token with `hooke clusters token CLUSTER`"
        rows = [("CLUSTER", "STATE", "SLOTS", "LAUNCHER", "HOST", "PROCESSOR", "HOOKE")]
        return columns([*rows, *map(_row, items)], "  ")

    tell("clusters", told, api, home)


def state(cluster: dict[str, Any]) -> str:
    """Return the state of a cluster in words."""
    if not cluster["online"]:
        return f"offline since {moment(cluster['seen_at'])}"
    if cluster.get("held_until"):
        return f"paused until {moment(cluster['held_until'])}"
    return ("drained" if not cluster["busy"] else "draining") if cluster["draining"] else "online"


def _row(cluster: dict[str, Any]) -> tuple[str, ...]:
    hardware, versions = cluster["hardware"], cluster["versions"]
    slots = f"{cluster['busy']} of {cluster['slots']} busy"
    told = (str(hardware.get("host", "")), str(hardware.get("cpu", "")), str(versions.get("hooke", "")))
    return (cluster["name"], state(cluster), slots, cluster["launcher"], *told)


@app.command()
def show(cluster: NameArgument, api: ApiOption = None, home: HomeOption = None) -> None:
    """Show everything that the agent of a cluster reports."""

    def told(remote: Remote) -> str:
        found = remote.get(_path(cluster))
        rows = [
            ("state", state(found)),
            ("slots", f"{found['busy']} of {found['slots']} busy"),
            ("cores", str(found["cores"])),
            ("launcher", found["launcher"]),
        ]
        if found.get("held_until"):
            rows.append(("paused", f"until {moment(found['held_until'])}: a launch failed {found['held_why']}"))
        if found.get("clock_offset") is not None:
            rows.append(("clock", f"{found['clock_offset']:+.1f} s from the server's"))
        if found.get("machine_shared_with"):
            rows.append(("machine", f"shared with {', '.join(found['machine_shared_with'])}: they take turns"))
        rows += [(name, str(value)) for name, value in sorted(found["hardware"].items()) if value != ""]
        rows += [(f"version of {name}", value) for name, value in sorted(found["versions"].items())]
        rows += [(f"data of {name}", why) for name, why in sorted(found["missing_data"].items())]
        rows += [(f"{each['kind']} {each['name']}", each["error"]) for each in found["problems"]]
        return columns(rows, "  ")

    tell("clusters", told, api, home)


@app.command()
def token(
    cluster: NameArgument,
    label: Annotated[str, typer.Option(help="A note for the list of tokens, such as the host it is for.")] = "",
    days: Annotated[int, typer.Option(help="Days until it expires; its agent renews it before.")] = 90,
    out: Annotated[
        Path | None, typer.Option(help="File for the token, mode 0600.", show_default="print it")
    ] = None,
    api: ApiOption = None,
    home: HomeOption = None,
) -> None:
    """Create a token for the agent of a cluster; it is shown only once."""
    document = {"label": label, "days": days}

    def told(remote: Remote) -> str:
        if out is None:
            return str(remote.post(_path(cluster, "/tokens"), document)["token"])
        made = write_secret(out, lambda: remote.post(_path(cluster, "/tokens"), document))
        return f"{out} holds the token {made['id']} of the cluster {cluster}, until {moment(made['expires_at'])}"

    tell("clusters", told, api, home)


@app.command()
def tokens(cluster: NameArgument, api: ApiOption = None, home: HomeOption = None) -> None:
    """List the tokens of a cluster, without the secrets."""

    def told(remote: Remote) -> str:
        items = remote.get(_path(cluster, "/tokens"))["items"]
        rows = [("TOKEN", "LABEL", "MADE", "EXPIRES", "LAST USED", "REVOKED")]
        moments = ("created_at", "expires_at", "used_at", "revoked_at")
        rows += [(each["id"], each["label"], *(moment(each[name]) for name in moments)) for each in items]
        return columns(rows, "  ") if items else f"the cluster {cluster} has no token"

    tell("clusters", told, api, home)


@app.command()
def revoke(
    token_id: Annotated[str, typer.Argument(metavar="TOKEN", help="Id of the token, tok_...")],
    api: ApiOption = None,
    home: HomeOption = None,
) -> None:
    """Revoke a token at once; runs that have started continue and report."""

    def told(remote: Remote) -> str:
        found = remote.post(f"/cluster-tokens/{quote(token_id, safe='')}/revoke")
        return f"{token_id} of the cluster {found['cluster']} is revoked"

    tell("clusters", told, api, home)


@app.command()
def drain(cluster: NameArgument, api: ApiOption = None, home: HomeOption = None) -> None:
    """Send no new runs to a cluster; runs that were sent continue."""

    def told(remote: Remote) -> str:
        busy = remote.post(_path(cluster, "/drain"))["busy"]
        return f"{cluster} gets no new runs" + ("; runs that were sent continue" if busy else "")

    tell("clusters", told, api, home)


@app.command()
def resume(cluster: NameArgument, api: ApiOption = None, home: HomeOption = None) -> None:
    """Send runs to a drained cluster again."""

    def told(remote: Remote) -> str:
        remote.post(_path(cluster, "/resume"))
        return f"{cluster} gets runs again"

    tell("clusters", told, api, home)


@app.command()
def remove(cluster: NameArgument, api: ApiOption = None, home: HomeOption = None) -> None:
    """Remove a cluster and revoke its tokens; its runs stay readable."""

    def told(remote: Remote) -> str:
        remote.delete(_path(cluster))
        return f"{cluster} is removed, and its tokens are revoked; its runs stay readable"

    tell("clusters", told, api, home)
