"""A PostgreSQL server for the time of a measurement, from the binaries that are installed, with its own defaults.

With `plans`, it writes the plans of statements that take long to its log, by its module auto_explain.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

TEMPORARY = "temporary"
"""What names such a server in place of an address."""
START_SECONDS = 60.0


def program() -> Path | None:
    """Return the server's program, also where distributions hide it; None: it is not installed."""
    found = shutil.which("postgres")
    hidden = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: float(path.parts[4]))
    return Path(found) if found else hidden[-1] if hidden else None


@contextmanager
def temporary(plans_ms: float | None = None, log: Path | None = None) -> Iterator[str]:
    """Yield the URL of a server on a new folder, which ends with the block; it listens on a socket of files alone.

    `plans_ms`: statements that take longer leave their plans in the file `log`. Raises FileNotFoundError if
    PostgreSQL is not installed.
    """
    found = program()
    if found is None:
        raise FileNotFoundError("PostgreSQL is not installed")
    folder = Path(tempfile.mkdtemp(prefix="hooke-bench-pg-"))
    user = "nobody" if os.geteuid() == 0 else None  # it refuses to run as root
    if user is not None:
        shutil.chown(folder, user)
    place = log or folder.with_suffix(".log")
    place.parent.mkdir(parents=True, exist_ok=True)
    data = folder / "data"
    options = ["-D", str(data), "-U", "hooke", "-A", "trust", "-E", "UTF8", "--no-sync"]
    init = [str(found.with_name("initdb")), *options]
    subprocess.run(init, check=True, stdout=subprocess.DEVNULL, cwd="/", user=user)
    command = [str(found), "-D", str(data), "-k", str(folder), "-c", "listen_addresses=", *_explaining(plans_ms)]
    with place.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, cwd="/", user=user)
    try:
        _wait(folder, process, place)
        yield f"postgresql://hooke@/postgres?host={folder}"
    finally:
        process.send_signal(signal.SIGINT)  # ends what is connected
        process.wait(START_SECONDS)
        shutil.rmtree(folder)
        if log is None:
            place.unlink()


def _explaining(plans_ms: float | None) -> list[str]:
    if plans_ms is None:
        return []
    settings = {
        "session_preload_libraries": "auto_explain",
        "auto_explain.log_min_duration": f"{plans_ms:g}ms",
        "auto_explain.log_analyze": "on",
        "auto_explain.log_buffers": "on",
        "auto_explain.log_timing": "off",  # clocks are read for each row, which takes longer than the rows
    }
    return [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]


def _wait(folder: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            psycopg.connect(host=str(folder), user="hooke", dbname="postgres").close()
            return
        except psycopg.OperationalError:
            time.sleep(0.05)
    raise TimeoutError(f"PostgreSQL did not start: {log.read_text(errors='replace')[-2000:]}")
