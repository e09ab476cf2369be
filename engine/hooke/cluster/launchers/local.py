"""Starts ranks on this machine: under mpirun, or as one process for a virtual world."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from hooke.cluster.launchers import base
from hooke.cluster.launchers.base import Launch
from hooke.errors import LaunchError


def mpirun() -> str:
    """Return the path of mpirun: the one installed beside this Python, else the first in PATH."""
    beside = Path(sys.executable).with_name("mpirun")
    found = str(beside) if beside.exists() else shutil.which("mpirun")
    if found is None:
        raise LaunchError(
            f"no mpirun beside {sys.executable} and none in PATH: install the `compute` extra "
            "(it brings the mpich wheel), or put a site's MPI into PATH"
        )
    return found


class LocalLauncher:
    """The launcher of the cluster `local`."""

    def command(self, launch: Launch) -> list[str]:
        """Return mpirun with one guard per rank; for a virtual world, the guard alone."""
        if launch.world == "virtual":
            return base.guarded(launch)
        return [mpirun(), "-n", str(launch.ranks), *base.guarded(launch)]

    def environment(self, launch: Launch, inherited: Mapping[str, str]) -> dict[str, str]:
        """Return the common environment, with Hydra set to fork locally even inside a batch allocation."""
        return base.environment(launch, inherited) | {
            "UCX_LOG_LEVEL": "error",  # otherwise its finalize warnings fill the log
            "HYDRA_LAUNCHER": "fork",
        }
