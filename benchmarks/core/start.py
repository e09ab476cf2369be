"""How long `hooke --help` takes, from the start of the process to its end."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from statistics import median

Result = tuple[str, float, str, float | None]
TIMES = 9


def measure() -> Iterator[Result]:
    for what, arguments, limit in (
        ("python -c pass", ["-c", "pass"], None),
        ("hooke --version", ["-m", "hooke", "--version"], None),
        ("hooke --help", ["-m", "hooke", "--help"], 0.2),
    ):
        took = []
        for _ in range(TIMES):
            began = time.perf_counter()
            subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
            took.append(time.perf_counter() - began)
        yield what, median(took), "s", limit
