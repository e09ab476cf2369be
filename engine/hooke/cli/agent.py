"""`hooke agent`: runs the agent of a cluster in the foreground."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def agent(  # noqa: PLR0913, PLR0917 - the options of a command
    cluster: Annotated[str | None, typer.Option("--cluster", "--name", help="Name of the cluster.")] = None,
    api: Annotated[str | None, typer.Option(help="Base URL of the API.")] = None,
    broker: Annotated[
        str | None, typer.Option(help="URL of Redis, without password.", show_default="HOOKE_REDIS_URL")
    ] = None,
    broker_password_file: Annotated[Path | None, typer.Option(help="File with the password of Redis.")] = None,
    token_file: Annotated[Path | None, typer.Option(help="File with the token of the cluster.")] = None,
    home: Annotated[
        Path | None, typer.Option(help="Folder for runs and jobs.", show_default="~/.hooke-agent/CLUSTER")
    ] = None,
    launcher: Annotated[
        str | None,
        typer.Option(
            metavar="KIND[,OPTION=VALUE...]",
            help="What starts ranks: local, hosts, slurm or psij, with plain options, as slurm,slots=64.",
            show_default="local",
        ),
    ] = None,
    user_code_account: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Account of this host under which users' code runs; needs root.",
            show_default="that of the agent",
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="TOML file with these options (token_file = ...) and the launcher.")
    ] = None,
) -> None:
    """Run the agent of a cluster until Ctrl-C: it joins the server and starts runs here."""
    from hooke.errors import HookeError

    try:
        from hooke.cluster import agent as running
        from hooke.cluster import site
    except ModuleNotFoundError as error:
        install = "pip install -c constraints.txt -e 'engine[cluster,compute]' in the clone of Hooke"
        typer.echo(f"hooke agent: {error.name} is missing: {install}", err=True)
        raise typer.Exit(1) from None
    try:
        running.run(
            site.read(
                config,
                {
                    "cluster": cluster,
                    "api": api,
                    "broker": broker,
                    "broker_password_file": broker_password_file,
                    "token_file": token_file,
                    "home": home,
                    "launcher": launcher,
                    "user_code_account": user_code_account,
                },
            )
        )
    except HookeError as error:
        typer.echo(f"hooke agent: {error}", err=True)
        raise typer.Exit(1) from None
