"""Energy that the processors and memory of this host have used since a moment, by the counters of RAPL.

Linux shows them as zones of /sys/class/powercap. Counted are packages, and of each its `dram`, which it does not
include. The other parts of a package (`core`, `uncore`) are included, and `psys`, where there is one, includes
all. A counter begins anew behind `max_energy_range_uj`: that of a package of 300 W after about 15 minutes, so it
has to be read more often. Since CVE-2020-8694 only root may read.
Source: Linux, Documentation/power/powercap/powercap.rst.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hooke.hardware.files import number, text

PLACE = "sys/class/powercap"
READ_EVERY = 30.0
"""Longest time between two readings, s: every counter is read several times before it begins anew."""
MOST_WATTS = 5000.0
"""More than a zone can use: a counter that seems to have counted faster was reset."""


@dataclass
class _Zone:
    """One counter: the largest value it shows before it begins anew, and its latest one, in microjoules."""

    path: Path
    most: int
    last: int


class EnergyMeter:
    """Adds up what the counters of this host count from the first reading on."""

    def __init__(self, root: Path = Path("/")) -> None:
        """`root`: where `sys` is."""
        self._folder = root / PLACE
        self._zones: dict[str, _Zone] | None = None
        self._used = 0
        self._began = self._at = 0.0
        self.lacking = "not read yet"
        """Why there is no figure; empty: there is one. Once missing, it stays so, or the sum would be too low."""

    @property
    def joules(self) -> float | None:
        """Return what was used from the first to the latest reading; None: `lacking` says why."""
        return None if self.lacking else round(self._used / 1e6, 3)

    @property
    def seconds(self) -> float:
        """Return the time from the first to the latest reading."""
        return self._at - self._began

    def due(self, now: float) -> bool:
        """Return whether the counters have to be read, lest one begins anew unseen. `now`: s, as of `read`."""
        return bool(self._zones) and not self.lacking and now - self._at >= READ_EVERY

    def read(self, now: float) -> None:
        """Read all counters at a time, s, by a clock that never jumps."""
        if self._zones is None:
            self._begin(now)
        elif not self.lacking:
            self._add(self._zones, now - self._at)
            self._at = now

    def _begin(self, now: float) -> None:
        self._began = self._at = now
        self._zones, self.lacking = {}, ""
        for path in self._found():
            value = self._value(path)
            if value is None:
                return
            self._zones[path.name] = _Zone(path, number(path / "max_energy_range_uj") or 0, value)
        if not self._zones:
            self.lacking = f"not readable here: no counter of RAPL in {self._folder}"

    def _add(self, zones: dict[str, _Zone], passed: float) -> None:
        found = {path.name: path for path in self._found()}
        if set(found) != set(zones):
            changed = ", ".join(sorted(set(found) ^ set(zones)))
            self.lacking = f"not known: {changed} appeared or went away while the run was going on"
            return
        for zone in zones.values():
            value = self._value(zone.path)
            if value is None:
                return
            used = value - zone.last if value >= zone.last else value - zone.last + zone.most
            if used < 0 or used > MOST_WATTS * 1e6 * max(passed, 1.0):
                self.lacking = f"not known: the counter {zone.path}/energy_uj was reset"
                return
            self._used += used
            zone.last = value

    def _found(self) -> list[Path]:
        """Return the zones that are counted."""
        zones = sorted(self._folder.glob("intel-rapl:[0-9]*"))  # also those of AMD's processors
        packages = {path.name for path in zones if path.name.count(":") == 1 and text(path / "name") != "psys"}
        return [
            path
            for path in zones
            if path.name in packages
            or (path.name.rpartition(":")[0] in packages and text(path / "name") == "dram")
        ]

    def _value(self, zone: Path) -> int | None:
        """Return a counter; None, and `lacking` says why, if it cannot be read."""
        path = zone / "energy_uj"
        try:
            return int(path.read_text())
        except PermissionError:
            who = "since CVE-2020-8694, Linux lets only root read it"
            self.lacking = f"not readable here: permission denied on {path} ({who})"
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "no number"
            self.lacking = f"not readable here: {path}: {why}"
        return None
