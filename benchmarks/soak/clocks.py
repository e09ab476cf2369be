"""Clocks of single services that can be set: libfaketime between a process and the C library.

It changes what processes are told of the time of day (CLOCK_REALTIME, gettimeofday, time), as a clock does that
somebody sets. Their monotonic clock goes on, as the kernel's does. Children inherit it: supervisors and ranks have
the clock of their agent.
"""

from __future__ import annotations

from pathlib import Path

_PLACES = ("/usr/lib/*/faketime/libfaketimeMT.so.1", "/usr/lib/faketime/libfaketimeMT.so.1")
CACHED_SECONDS = 1
"""How often a process reads its file."""


def library() -> Path | None:
    """Return the library; None if it is not installed (package libfaketime)."""
    found = [path for place in _PLACES for path in Path("/").glob(place.lstrip("/"))]
    return found[0] if found else None


class Clocks:
    """A file for each service, with the difference of its clock. Raises SystemExit without the library."""

    def __init__(self, folder: Path) -> None:
        found = library()
        if found is None:
            raise SystemExit("soak: clocks that jump need libfaketime (package libfaketime)")
        self._library, self._folder = found, folder
        folder.mkdir(mode=0o755)

    def variables(self, name: str) -> dict[str, str]:
        """Return the environment of a service, whose clock is right at first."""
        self.set(name, 0)
        return {
            "LD_PRELOAD": str(self._library),
            "FAKETIME_TIMESTAMP_FILE": str(self._folder / name),
            "FAKETIME_CACHE_DURATION": str(CACHED_SECONDS),
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_DISABLE_SHM": "1",
            "NO_FAKE_STAT": "1",
        }

    def set(self, name: str, seconds: int) -> None:
        """Have the clock of a service be so many seconds ahead of this machine's."""
        path = self._folder / name
        written = path.with_suffix(".new")
        written.write_text(f"{seconds:+d}\n")
        written.chmod(0o644)
        written.replace(path)
