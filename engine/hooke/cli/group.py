"""The `hooke` command: a table of command names and targets; a command is imported when it is called.

Other distributions add commands by entry points of the group `hooke.commands`, `name = "module:function"`, with
functions for typer. The help text of a command is the first line of its docstring, read from the source file, so
`hooke --help` imports no command. Searching entry points takes 30 ms, so it is done only for `--help` and for
names that are not in the table.
"""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

OWN = {
    "run": "hooke.cli.run:run",
    "algorithms": "hooke.cli.catalogues:algorithms",
    "workloads": "hooke.cli.catalogues:workloads",
    "hardware": "hooke.cli.hardware:hardware",
    "agent": "hooke.cli.agent:agent",
    "clusters": "hooke.cli.clusters:app",
    "experiments": "hooke.cli.experiments:app",
    "runs": "hooke.cli.runs:app",
    "submit": "hooke.cli.submit:submit",
    "verdict": "hooke.cli.experiment_verdict:verdict",
    "users": "hooke.cli.users:app",
    "projects": "hooke.cli.projects:app",
    "tokens": "hooke.cli.tokens:app",
    "webhooks": "hooke.cli.webhooks:app",
    "audit": "hooke.cli.audit:audit",
    "calibrate": "hooke.cli.calibrate:calibrate",
}
"""Name -> "module:function", or "module:app" of a group, of the engine's own commands, as the help lists them."""
GROUP = "hooke.commands"


@functools.cache
def joined() -> dict[str, str]:
    """Return the commands of other distributions, name -> "module:function"; built-in names take precedence."""
    from importlib.metadata import entry_points

    found = sorted((point.name, point.value) for point in entry_points(group=GROUP))
    return {name: target for name, target in found if name not in OWN}


def summary(target: str) -> str:
    """Return the first line of the docstring of "module:function", without importing the module or its parents.

    Of a group of commands, "module:app", it is that of the module, behind the name of the command.
    """
    module, _, function = target.partition(":")
    source = _source(module)
    if source is None:
        return ""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return (ast.get_docstring(node) or "").partition("\n")[0]
    return (ast.get_docstring(tree) or "").partition("\n")[0].partition(": ")[2].capitalize()


def _source(module: str) -> Path | None:
    top, *inner = module.split(".")
    spec = importlib.util.find_spec(top)  # a top-level name: finding it imports nothing
    if spec is None:
        return None
    if not inner:
        return Path(spec.origin) if spec.origin and spec.origin.endswith(".py") else None
    for folder in spec.submodule_search_locations or ():
        place = Path(folder, *inner)
        for candidate in (place.with_suffix(".py"), place / "__init__.py"):
            if candidate.is_file():
                return candidate
    return None


def load(name: str, target: str) -> Any:
    """Import "module:function" and return it as a command of the given name."""
    module, _, function = target.partition(":")
    found = getattr(importlib.import_module(module), function)
    if isinstance(found, typer.Typer):
        return typer.main.get_command(found)
    one = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    one.command(name)(found)
    return typer.main.get_command(one)


class Commands(TyperGroup):
    """A command group that imports a command when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return all command names, built-in ones first."""
        del ctx
        return [*OWN, *joined()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import and return the command; exit with status 2 and a list of names if it does not exist."""
        target = OWN.get(cmd_name) or joined().get(cmd_name)
        if target is not None:
            return load(cmd_name, target)
        return ctx.fail(f"no command is called {cmd_name!r}; there are: {', '.join(self.list_commands(ctx))}")

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands of the help page."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary(target)) for name, target in (OWN | joined()).items()])


app = typer.Typer(
    cls=Commands,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        # by name: the package offers what stands above the command line
        typer.echo(f"hooke {importlib.import_module('hooke').__version__}")
        raise typer.Exit


@app.callback()
def hooke_(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Hooke: a laboratory for distributed training algorithms."""
    del version  # handled by its callback
