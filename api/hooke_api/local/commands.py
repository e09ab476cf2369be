"""The commands `hooke up` and `hooke demo`; they join by the entry-point group `hooke.commands`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

HomeOption = Annotated[
    Path | None,
    typer.Option("--home", envvar="HOOKE_HOME", help="Folder of data, secrets and logs.", show_default="~/.hooke"),
]
PortOption = Annotated[
    int | None,
    typer.Option(
        "--port",
        envvar="HOOKE_PORT",
        min=1,
        max=65535,
        help="Port of the dashboard.",
        show_default="7450, or the next free one",
    ),
]
HostOption = Annotated[str, typer.Option("--host", help="Address to listen on.")]


def up(home: HomeOption = None, port: PortOption = None, host: HostOption = "127.0.0.1") -> None:
    """Start Hooke on this machine and keep it running until Ctrl-C."""
    from hooke_api.local.serve import serve

    raise typer.Exit(serve(_home(home), host, port))


def demo(
    spec: Annotated[
        Path | None,
        typer.Argument(metavar="[SPEC.yaml]", help="Experiment to run.", show_default="the example comparison"),
    ] = None,
    home: HomeOption = None,
    port: PortOption = None,
    host: HostOption = "127.0.0.1",
    end: Annotated[
        bool, typer.Option("--exit", help="End after the verdict, with status 0 only if every run succeeded.")
    ] = False,
) -> None:
    """Start Hooke, run a comparison, print its verdict, and stay up until Ctrl-C."""
    from hooke_api.local.demonstration import Demonstration
    from hooke_api.local.serve import serve

    raise typer.Exit(serve(_home(home), host, port, Demonstration.of(spec), end=end))


def _home(given: Path | None) -> Path:
    return given or Path.home() / ".hooke"
