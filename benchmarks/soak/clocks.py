"""Clocks of single services that can be set: `clock.c` between a process and the C library.

It changes what processes are told of the time of day, as a clock does that somebody sets. Their monotonic clock
goes on, as the kernel's does. Children inherit it: supervisors and ranks have the clock of their agent.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("clock.c")


class Clocks:
    """A file for each service: the seconds that its clock is ahead. Raises SystemExit without a C compiler."""

    def __init__(self, folder: Path) -> None:
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            raise SystemExit("soak: clocks that jump need a C compiler (package gcc)")
        folder.mkdir(mode=0o755)
        self._library, self._folder = folder / "clock.so", folder
        command = [compiler, "-O2", "-shared", "-fPIC", "-o", str(self._library), str(SOURCE), "-ldl"]
        subprocess.run(command, check=True)

    def variables(self, name: str) -> dict[str, str]:
        """Return the environment of a service, whose clock is right at first."""
        self.set(name, 0)
        return {"LD_PRELOAD": str(self._library), "SOAK_CLOCK": str(self._folder / name)}

    def set(self, name: str, seconds: int) -> None:
        """Have the clock of a service be so many seconds ahead of this machine's, from now on."""
        path = self._folder / name
        if not path.exists():
            path.touch(mode=0o644)
        with path.open("r+b") as file:  # in place: processes have mapped it
            file.write(struct.pack("=q", seconds))
