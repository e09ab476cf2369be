"""The launcher interface: turns one launch into a command line and an environment."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hooke.cluster.environment import absolute, for_user_code
from hooke.cluster.processes import members, stopped, sweep

TRAIN = ("-m", "mpi4py", "-m", "hooke.loop.train")
"""Program of a rank, as arguments of Python; `-m mpi4py` makes an uncaught exception end all ranks."""

_NOT_INHERITED = ("PMI_", "PMIX_", "OMPI_", "PRTE_")
"""Beginnings of the names of variables of a surrounding MPI."""


@dataclass(frozen=True)
class Launch:
    """Everything about one start of ranks: one attempt, or several that share its processes."""

    world: Literal["mpi", "virtual"]
    ranks: int
    """Number of MPI processes: as many as the largest attempt needs; 1 for a virtual world."""
    folders: tuple[Path, ...]
    """The attempts' folders, in the order in which they are to run."""
    ids: tuple[str, ...]
    """`<run>.<attempt>` of each."""
    program: tuple[str, ...] = TRAIN
    """Arguments of Python; the folders are appended."""


class Launcher(ABC):
    """Starts ranks on a kind of cluster; the supervisor owns the process of `command` until it has ended."""

    @abstractmethod
    def command(self, launch: Launch) -> list[str]:
        """Return the argument list to execute. Raises LaunchError with what is missing."""

    @abstractmethod
    def environment(self, launch: Launch, inherited: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of every process of the launch."""

    def family(self, launch: Launch) -> Literal["hydra", "openmpi"] | None:
        """Return whose mpirun `command` is, which decides how it is signalled and watched; None: it is none."""
        return "hydra" if launch.world == "mpi" else None

    def unreachable(self) -> str:
        """Return which hosts do not answer before a launch, in a sentence; empty: all do. May take seconds."""
        return ""

    def cut_off(self) -> str:
        """Return why ranks cannot be reached any more, in a sentence; empty if they can. Must not block."""
        return ""

    def alive(self, ids: Collection[str]) -> str:
        """Return what is left of these attempts, or why that is unknown, in a sentence; empty: nothing."""
        left = members(ids)
        return f"{len(left)} of its processes are still running" if left else ""

    def stopped(self, ids: Collection[str]) -> list[str]:
        """Return a sentence for each process that starts their ranks and that a signal has stopped."""
        return stopped(ids)

    def sweep(self, ids: Collection[str]) -> list[int]:
        """Kill every process of these attempts; return those that remain."""
        return sweep(ids)


LOCAL = {
    "UCX_LOG_LEVEL": "error",  # otherwise its finalize warnings fill the log
    "HYDRA_LAUNCHER": "fork",
    "OMPI_MCA_odls_base_sigkill_timeout": "10",  # from SIGTERM to SIGKILL: time for a checkpoint
    "PRTE_MCA_odls_base_sigkill_timeout": "10",
}
"""Variables for an mpirun that starts all ranks on this host."""
BETWEEN_HOSTS = {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"}
"""MPICH's settings for TCP between hosts. Over UCX, large messages wait for the receiver's next poll
(measurements: docs/netlab.md)."""
_CHOICES = ("MPIR_CVAR_CH4_NETMOD", "MPIR_CVAR_OFI_", "FI_", "UCX_")
_FAST_NETWORKS = Path("/sys/class/infiniband")


def transport(inherited: Mapping[str, str], fast_networks: Path = _FAST_NETWORKS) -> dict[str, str]:
    """Return additional variables for ranks on several hosts: MPICH's transport where there is only TCP.

    Empty if the environment configures the transport already (any variable of libfabric or UCX, or MPICH's choice
    of the two) or if this host has InfiniBand or RoCE devices, which MPICH detects. Other MPI libraries ignore
    them.
    """
    chosen = any(name.startswith(_CHOICES) and name != "UCX_LOG_LEVEL" for name in inherited)
    fast = fast_networks.is_dir() and any(fast_networks.iterdir())
    return {} if chosen or fast else dict(BETWEEN_HOSTS)


def guarded(launch: Launch) -> list[str]:
    """Return the command of one rank: its guard with the program."""
    folders = [str(folder) for folder in launch.folders]
    program = [sys.executable, *launch.program, *folders]
    return [sys.executable, "-m", "hooke.cluster.guard", *folders, "--", *program]


def environment(launch: Launch, inherited: Mapping[str, str]) -> dict[str, str]:
    """Return `inherited` without secrets and without a surrounding MPI, plus what every rank needs."""
    kept = {name: value for name, value in for_user_code(inherited).items() if not name.startswith(_NOT_INHERITED)}
    return absolute(kept) | {
        "HOOKE_ATTEMPT": ",".join(launch.ids),  # identifies every process of an attempt in /proc
        "OMP_NUM_THREADS": "1",  # one thread per rank: reproducible bits, and ranks share the cores
        "PYTHONUNBUFFERED": "1",  # no output is lost when a rank is killed
    }
