"""Starts a Python program in copies of a process that has imported PyTorch, which takes longer than most runs."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # as the product does before it imports PyTorch
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["numpy", "torch"])


def run(command: Sequence[str], environment: Mapping[str, str], output: Path, seconds: float) -> int:
    """Run the program command[0] to its end and return its exit status; standard output and error go to a file.

    Raises subprocess.TimeoutExpired after `seconds`; the program is then killed.
    """
    process = _context.Process(target=_become, args=(list(command), dict(environment), str(output)))
    process.start()
    process.join(seconds)
    if process.exitcode is None:
        process.kill()
        process.join()
        raise subprocess.TimeoutExpired(list(command), seconds)
    return process.exitcode


def _become(command: list[str], environment: dict[str, str], output: str) -> None:
    """Be this program from now on, in the copy."""
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[:] = command
    runpy.run_path(command[0], run_name="__main__")
