"""`hooke submit`: sends an experiment to a server, and waits for its verdict if asked to."""

from __future__ import annotations

import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hooke.cli.remote import ApiOption, HomeOption, Remote, in_project
from hooke.cli.text import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

LOOK_SECONDS = 1.0
OUTAGE_SECONDS = 900.0
"""How long a server may not answer before the wait for an experiment ends; the experiment does not need it."""


def submit(  # noqa: PLR0913 - the options of the command line
    spec: Annotated[Path, typer.Argument(metavar="SPEC.yaml", help="Experiment to run.")],
    cluster: Annotated[
        list[str] | None,
        typer.Option(help="Run on this cluster instead of those in the file; may be repeated."),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it has ended and print the verdict.")] = False,
    project: Annotated[str | None, typer.Option(help="Project of the experiment.", show_default="default")] = None,
    check: Annotated[bool, typer.Option("--check", help="Only check: print faults and warnings.")] = False,
    api: ApiOption = None,
    home: HomeOption = None,
) -> None:
    """Send an experiment to the server; print its warnings and the address of its page.

    With --cluster its virtual clusters are left out; workers and seeds are those of its first real cluster, or as
    many workers as cores allow, at most four, and three seeds.
    """
    from hooke.cli.document import read
    from hooke.errors import HookeError

    try:
        remote = Remote.connect(api, home)
        document = on_clusters(read(spec), cluster or [])
        into = in_project(project)
        key = secrets.token_urlsafe(16)
        for fault in remote.post(f"/experiments/dry-run{into}", document, key=key)["warnings"]:
            typer.echo(f"warning: {fault['pointer'] or '/'}: {fault['message']}", err=True)
        if check:
            return
        experiment = remote.post(f"/experiments{into}", document, key=key)
        print(f"{remote.base}/experiments/{experiment['id']}", flush=True)
        if wait and not _well(remote, experiment["id"]):
            raise typer.Exit(1)
    except KeyboardInterrupt:
        typer.echo("the experiment continues if its address was printed", err=True)
        raise typer.Exit(130) from None
    except (HookeError, OSError) as error:
        said = f"{error.filename or spec}: {error.strerror}" if isinstance(error, OSError) else plain(str(error))
        typer.echo(f"hooke submit: {said}", err=True)
        raise typer.Exit(1) from None


def on_clusters(document: Any, names: Sequence[str]) -> Any:
    """Return an experiment with each of its real clusters replaced by these; without names, unchanged.

    The first real cluster of the file gives workers and seeds, and its virtual clusters are left out.
    """
    if not names or not isinstance(document, dict) or not isinstance(document.get("clusters"), list):
        return document
    real = [each for each in document["clusters"] if isinstance(each, dict) and not each.get("virtual")]
    first = real[0] if real else {"workers": ["auto"]}
    return document | {"clusters": [first | {"name": name} for name in names]}


def _well(remote: Remote, experiment: str) -> bool:
    """Wait for the end of an experiment, print its verdict; return whether every run succeeded."""
    from hooke.cli.experiment_verdict import show_all

    told = ""
    while not (view := _patient(remote, f"/experiments/{experiment}"))["finished_at"]:
        counts = ", ".join(f"{count} {state}" for state, count in view["runs"].items() if count)
        if counts != told:
            typer.echo(counts, err=True)
        told = counts
        time.sleep(LOOK_SECONDS)
    show_all(lambda path: _patient(remote, path), view)
    return bool(view["state"] == "succeeded")


def _patient(remote: Remote, path: str) -> Any:
    """Return a document; while the server is away, ask again. Raises ServerAway after OUTAGE_SECONDS."""
    from hooke.errors import ServerAway

    until, told = time.monotonic() + OUTAGE_SECONDS, False
    while True:
        try:
            return remote.get(path)
        except ServerAway as error:
            if time.monotonic() > until:
                raise
            if not told:
                typer.echo(f"{error}; retrying for {OUTAGE_SECONDS / 60:.0f} min", err=True)
            told = True
            time.sleep(LOOK_SECONDS)
