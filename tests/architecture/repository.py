"""Which files belong to the project, and which of them a command writes."""

import functools
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@functools.cache
def tracked() -> tuple[Path, ...]:
    """Return every file that belongs to the project."""
    listed = subprocess.run(["git", "ls-files", "-z"], check=False, cwd=ROOT, capture_output=True)
    if listed.returncode != 0:
        pytest.skip("NOT TESTED HERE: this is no git working tree, so what belongs to the project is unknown")
    names = listed.stdout.decode().split("\0")
    return tuple(ROOT / name for name in names if name and (ROOT / name).is_file())


@functools.cache
def generated() -> frozenset[str]:
    """Return the names of the files that .gitattributes says are generated."""
    names = "\0".join(path.relative_to(ROOT).as_posix() for path in tracked())
    command = ["git", "check-attr", "--stdin", "-z", "linguist-generated"]
    told = subprocess.run(command, input=names.encode(), check=True, cwd=ROOT, capture_output=True)
    fields = told.stdout.decode().split("\0")
    return frozenset(name for name, value in zip(fields[::3], fields[2::3], strict=False) if value == "set")
