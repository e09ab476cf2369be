"""Time of `hooke --help`, from the start of the process to its end; best of several."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

Result = tuple[str, float, str, float | None]
TIMES = 15


def best(arguments: list[str]) -> tuple[float, float]:
    """Return (wall seconds, processor seconds)."""
    wall, processor = [], []
    for _ in range(TIMES):
        began = time.perf_counter()
        process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        wall.append(time.perf_counter() - began)
        processor.append(used.ru_utime + used.ru_stime)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, arguments
    return min(wall), min(processor)


def measure() -> Iterator[Result]:
    for what, arguments, limit in (
        ("python -c pass", ["-c", "pass"], None),
        ("hooke --version", ["-m", "hooke", "--version"], None),
        ("hooke --help", ["-m", "hooke", "--help"], 0.2),
    ):
        wall, processor = best(arguments)
        yield what, wall, "s", limit
        yield f"{what}, processor time", processor, "s", None
