"""Files that a command writes at its end: what would prevent it is told at the beginning."""

from __future__ import annotations

from pathlib import Path

import typer


def check_writable(path: Path | None, option: str) -> None:
    """Raise BadParameter, which names the option, unless the file can be written; nothing is changed."""
    if path is None:
        return
    there = path.exists()
    try:
        path.open("ab").close()
    except OSError as error:
        lost = f"the folder of {path} does not exist: create it"
        why = f"{path} cannot be written: {error.strerror}; choose another file"
        raise typer.BadParameter(why if path.parent.is_dir() else lost, param_hint=option) from None
    if not there:
        path.resolve().unlink()  # what a link leads to, not the link
