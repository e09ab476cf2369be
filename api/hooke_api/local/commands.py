"""The commands `hooke up` and `hooke demo`; they join by the entry-point group `hooke.commands`."""

from __future__ import annotations

import os
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
HostOption = Annotated[
    str, typer.Option("--host", envvar="HOOKE_HOST", help="Address to listen on; 0.0.0.0: all of this machine.")
]


KeepOption = Annotated[
    str | None,
    typer.Option(
        "--keep-runs",
        envvar="HOOKE_KEEP_RUNS",
        metavar="TIME",
        help="Delete experiments that ended longer ago, such as 90d, unless they are starred or protected.",
        show_default="forever",
    ),
]


def up(
    home: HomeOption = None,
    port: PortOption = None,
    host: HostOption = "127.0.0.1",
    keep_runs: KeepOption = None,
) -> None:
    """Start Hooke on this machine and keep it running until Ctrl-C."""
    from hooke_api.local.serve import serve

    if keep_runs:
        _check_keep(keep_runs)
        os.environ["HOOKE_KEEP_RUNS"] = keep_runs  # the API is a process of its own, and reads it there
    raise typer.Exit(serve(_home(home), host, port))


def demo(
    spec: Annotated[
        Path | None,
        typer.Argument(metavar="SPEC.yaml", help="Experiment to run.", show_default="the example comparison"),
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


def _check_keep(text: str) -> None:
    """Exit with a sentence unless a text is a duration that the API accepts."""
    from hooke_api.base.durations import at_least
    from hooke_api.base.settings import LEAST_KEPT

    try:
        at_least(text, LEAST_KEPT)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--keep-runs") from None


def _home(given: Path | None) -> Path:
    return given or Path.home() / ".hooke"
