"""Makes the launcher of given settings."""

from __future__ import annotations

from hooke.cluster.launchers.base import Launcher
from hooke.cluster.launchers.local import LocalLauncher
from hooke.cluster.launchers.settings import HostsSettings, LauncherSettings, PsijSettings, SlurmSettings
from hooke.cluster.launchers.slurm import SlurmLauncher
from hooke.errors import LaunchError


def make(settings: LauncherSettings) -> Launcher:
    """Return the launcher of these settings. Raises LaunchError if a package that it needs is missing."""
    if isinstance(settings, SlurmSettings):
        return SlurmLauncher(settings)
    if isinstance(settings, HostsSettings | PsijSettings):
        raise LaunchError(f"the launcher `{settings.kind}` is not available in this version")
    return LocalLauncher(settings)
