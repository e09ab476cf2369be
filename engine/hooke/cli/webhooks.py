"""`hooke webhooks`: notify other servers when runs and experiments start or end."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from hooke.cli.remote import ApiOption, HomeOption, Remote, tell, write_secret
from hooke.cli.text import columns, moment
from hooke.errors import ArgumentError

app = typer.Typer(
    help="Notify other servers when runs and experiments start or end.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

IdArgument = Annotated[str, typer.Argument(metavar="WEBHOOK", help="Id of the webhook, whk_...")]
TEST_SECONDS = 45.0
"""Seconds for which `test` waits for an outcome: an attempt may take ten, after a pause of fifteen."""
LOOK_SECONDS = 0.25


def _path(webhook: str, rest: str = "") -> str:
    return f"/webhooks/{quote(webhook, safe='')}{rest}"


@app.command("list")
def list_(api: ApiOption = None, home: HomeOption = None) -> None:
    """List the webhooks with the outcome of the last attempt."""

    def told(remote: Remote) -> str:
        items = remote.get("/webhooks")["items"]
        rows = [("WEBHOOK", "STATE", "PROJECT", "EVENTS", "LAST SENT", "OUTCOME", "WAITING", "DROPPED", "URL")]
        rows += [
            (
                *(each["id"], state(each), each.get("project") or "all", ",".join(each["events"])),
                moment(each["last_at"]),
                *(each["last_why"] or "-", str(each["waiting"]), str(each["dropped"]), each["url"]),
            )
            for each in items
        ]
        return columns(rows, "  ") if items else "there is no webhook: add one with `hooke webhooks add URL`"

    tell("webhooks", told, api, home)


def state(webhook: dict[str, Any]) -> str:
    """Return the state of a webhook in words."""
    if webhook["active"]:
        return "on"
    return f"off: {webhook['off_why']}" if webhook["off_why"] else "off"


@app.command()
def add(
    url: Annotated[str, typer.Argument(metavar="URL", help="Address of the receiver, https://...")],
    event: Annotated[
        list[str] | None,
        typer.Option(
            help="An event, such as run.failed; may be repeated.",
            show_default="run.failed and the ends of experiments",
        ),
    ] = None,
    project: Annotated[
        str | None, typer.Option(help="Send events of this project only.", show_default="of all projects")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File for the secret, mode 0600.", show_default="print it")
    ] = None,
    api: ApiOption = None,
    home: HomeOption = None,
) -> None:
    """Add a webhook and print the secret of its signatures, which is shown only once."""
    document: dict[str, Any] = {"url": url}
    if event:
        document["events"] = event
    if project is not None:
        document["project"] = project

    def made(remote: Remote) -> dict[str, Any]:
        found = remote.post("/webhooks", document)
        return {**found, "token": found["secret"]}

    def told(remote: Remote) -> str:
        if out is None:
            found = made(remote)
            return f"{found['id']}\n{found['secret']}"
        return f"{out} holds the secret of the webhook {write_secret(out, lambda: made(remote))['id']}"

    tell("webhooks", told, api, home)


@app.command()
def on(webhook: IdArgument, api: ApiOption = None, home: HomeOption = None) -> None:
    """Switch a webhook on: it gets events from now on."""

    def told(remote: Remote) -> str:
        remote.patch(_path(webhook), {"active": True})
        return f"{webhook} is on"

    tell("webhooks", told, api, home)


@app.command()
def off(webhook: IdArgument, api: ApiOption = None, home: HomeOption = None) -> None:
    """Switch a webhook off; waiting deliveries are discarded."""

    def told(remote: Remote) -> str:
        remote.patch(_path(webhook), {"active": False})
        return f"{webhook} is off"

    tell("webhooks", told, api, home)


@app.command()
def remove(webhook: IdArgument, api: ApiOption = None, home: HomeOption = None) -> None:
    """Remove a webhook with its deliveries."""

    def told(remote: Remote) -> str:
        remote.delete(_path(webhook))
        return f"{webhook} is removed"

    tell("webhooks", told, api, home)


@app.command()
def deliveries(
    webhook: IdArgument,
    limit: Annotated[int, typer.Option(min=1, max=500, help="Number of deliveries.")] = 20,
    api: ApiOption = None,
    home: HomeOption = None,
) -> None:
    """List the deliveries of a webhook, newest first."""

    def told(remote: Remote) -> str:
        items = remote.get(f"{_path(webhook, '/deliveries')}?limit={limit}")["items"]
        rows = [("DELIVERY", "EVENT", "SINCE", "STATE", "ATTEMPTS", "NEXT", "OUTCOME")]
        rows += [
            (
                *(each["id"], each["event"], moment(each["created_at"]), each["state"]),
                *(str(each["attempts"]), moment(each["next_at"]), each["why"] or "-"),
            )
            for each in items
        ]
        return columns(rows, "  ") if items else f"{webhook} has no deliveries"

    tell("webhooks", told, api, home)


@app.command()
def redeliver(
    delivery: Annotated[str, typer.Argument(metavar="DELIVERY", help="Id of the delivery, msg_...")],
    api: ApiOption = None,
    home: HomeOption = None,
) -> None:
    """Send a delivery again now, with the same id and body."""

    def told(remote: Remote) -> str:
        remote.post(f"/webhook-deliveries/{quote(delivery, safe='')}/redeliver")
        return f"{delivery} is sent again"

    tell("webhooks", told, api, home)


@app.command()
def test(webhook: IdArgument, api: ApiOption = None, home: HomeOption = None) -> None:
    """Send a test and print the outcome; exit status 1 unless it was delivered."""

    def told(remote: Remote) -> str:
        delivery = remote.post(_path(webhook, "/test"))["id"]
        until = time.monotonic() + TEST_SECONDS
        while time.monotonic() < until:
            items = remote.get(f"{_path(webhook, '/deliveries')}?limit=100")["items"]
            found = next((each for each in items if each["id"] == delivery), None)
            if found is None or found["state"] not in ("waiting", "delivered"):
                raise ArgumentError(f"the test was not delivered: {found['why'] if found else 'it is gone'}")
            if found["state"] == "delivered":
                return f"the test was delivered: {found['why']}"
            time.sleep(LOOK_SECONDS)
        raise ArgumentError(f"no outcome of the test within {TEST_SECONDS:g} s: see `hooke webhooks deliveries`")

    tell("webhooks", told, api, home)
