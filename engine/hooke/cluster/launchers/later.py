"""Repeats a command until it succeeds, for hosts that are cut off: `python -m ...later command...`."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence

PAUSE, PATIENCE, GIVE_UP = 2.0, 60.0, 7 * 86400.0
"""Seconds between two tries; of one try; and after which it is given up."""


def kill_later(command: Sequence[str]) -> None:
    """Start a process of its own session that repeats `command` until its status is 0."""
    python = [sys.executable, "-m", "hooke.cluster.launchers.later", *command]
    detached = 'exec "$@" </dev/null >/dev/null 2>&1 &'  # a child of nobody who would have to wait for it
    subprocess.run(["sh", "-c", detached, "later", *python], start_new_session=True, check=False)


def main(command: list[str]) -> int:
    """Repeat the command; return 0 once it has succeeded, 1 after giving up."""
    until = time.monotonic() + GIVE_UP
    while time.monotonic() < until:
        try:
            if subprocess.run(command, timeout=PATIENCE, check=False, stdin=subprocess.DEVNULL).returncode == 0:
                return 0
        except (OSError, subprocess.TimeoutExpired):
            pass
        time.sleep(PAUSE)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
