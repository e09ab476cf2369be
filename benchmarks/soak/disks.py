"""Small disks of memory, and filling them; folders where nothing can be mounted."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path


class Disk:
    """A file system of a given size; without the right to mount one, a folder that cannot be filled."""

    def __init__(self, path: Path, megabytes: int) -> None:
        self.path = path
        path.mkdir(mode=0o755)
        command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "tmpfs", str(path)]
        self.mounted = subprocess.run(command, check=False, capture_output=True).returncode == 0

    @property
    def _ballast(self) -> Path:
        return self.path / "ballast"

    def fill(self) -> bool:
        """Leave no byte free; return whether that is possible here."""
        if not self.mounted:
            return False
        with self._ballast.open("ab") as file:
            for block in (1 << 20, 1 << 12):
                with suppress(OSError):
                    while True:
                        os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, block)
        return True

    def free(self) -> None:
        """Give back what `fill` took."""
        self._ballast.unlink(missing_ok=True)

    def close(self) -> None:
        """Unmount it."""
        if self.mounted:
            subprocess.run(["umount", "--lazy", str(self.path)], check=False)
            self.mounted = False
