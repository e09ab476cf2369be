"""Starts ranks on this machine: under mpirun, or as one process for a virtual world."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from hooke.cluster.launchers import base, mpi
from hooke.cluster.launchers.base import Launch, Launcher
from hooke.cluster.launchers.settings import LocalSettings
from hooke.cluster.processes import sweep
from hooke.hardware.description import usable_cores


def mpirun() -> str:
    """Return the path of mpirun: the one installed beside this Python, else the first in PATH."""
    return mpi.default_path()


class LocalLauncher(Launcher):
    """mpirun on this host."""

    def __init__(self, settings: LocalSettings | None = None) -> None:
        self._settings = settings or LocalSettings()

    def command(self, launch: Launch) -> list[str]:
        """Return mpirun with one guard per rank; for a virtual world, the guard alone."""
        if launch.world == "virtual":
            return base.guarded(launch)
        mpirun = mpi.find(self._settings.mpirun)
        return mpirun.command(launch.ranks, usable_cores(), self._settings.options, base.guarded(launch))

    def environment(self, launch: Launch, inherited: Mapping[str, str]) -> dict[str, str]:
        """Return the common environment, with Hydra set to fork locally even inside a batch allocation."""
        return base.environment(launch, inherited) | base.LOCAL | self._library(launch, inherited)

    def family(self, launch: Launch) -> mpi.Family | None:
        """Return whose mpirun starts the ranks; None without one."""
        return None if launch.world == "virtual" else mpi.find(self._settings.mpirun).family

    def sweep(self, ids: Collection[str]) -> list[int]:
        """Kill every process of these attempts, and of a supervisor all that it has started for them."""
        return sweep(ids, family=True)

    def _library(self, launch: Launch, inherited: Mapping[str, str]) -> dict[str, str]:
        if launch.world == "virtual":
            return {}
        mpirun = mpi.find(self._settings.mpirun)
        return mpi.variables_of_library(mpirun, self._settings.libmpi, launch.folders[0], inherited)
