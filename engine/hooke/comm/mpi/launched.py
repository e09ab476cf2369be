"""Checks that the processes of a launch found one another: an MPI library that does not understand the launcher
makes every process a run of its own."""

from __future__ import annotations

import os
from collections.abc import Mapping

from hooke.errors import LaunchError

SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")
"""Environment variables in which Open MPI, MPICH and Slurm pass the number of processes."""


def check_together(size: int, library: str, environment: Mapping[str, str] | None = None) -> None:
    """Raise LaunchError if the launcher started several processes and MPI sees one.

    `size`: ranks of MPI.COMM_WORLD; `library`: what the MPI library calls itself.
    """
    given = os.environ if environment is None else environment
    name = next((name for name in SIZES if given.get(name, "").isdigit()), None)
    if name is None or size != 1 or int(given[name]) == 1:
        return
    raise LaunchError(
        f"the launcher started {given[name]} processes ({name}), but each of them is alone: mpi4py has loaded "
        f"{library}, which does not understand this launcher. Name the library that belongs to it: "
        "`libmpi` in the launcher's settings, or MPI4PY_LIBMPI"
    )
