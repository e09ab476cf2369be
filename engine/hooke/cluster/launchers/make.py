"""Makes the launcher of given settings."""

from __future__ import annotations

from hooke.cluster.launchers.base import Launcher
from hooke.cluster.launchers.hosts import HostsLauncher
from hooke.cluster.launchers.local import LocalLauncher
from hooke.cluster.launchers.psij import PsijLauncher
from hooke.cluster.launchers.settings import HostsSettings, LauncherSettings, PsijSettings, SlurmSettings
from hooke.cluster.launchers.slurm import SlurmLauncher


def make(settings: LauncherSettings) -> Launcher:
    """Return the launcher of these settings."""
    if isinstance(settings, SlurmSettings):
        return SlurmLauncher(settings)
    if isinstance(settings, PsijSettings):
        return PsijLauncher(settings)
    if isinstance(settings, HostsSettings):
        return HostsLauncher(settings)
    return LocalLauncher(settings)
