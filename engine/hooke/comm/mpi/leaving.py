"""The end of a process without MPI_Finalize, which waits for all ranks, one of which is gone.

Hydra, which starts the ranks of MPICH, ends all others as soon as one ends that has not taken its leave. It takes
it by a line of the protocol PMI-1, over the file whose number is in `PMI_FD`; a guard has it, too, and can take it
for its rank. Open MPI's mpirun, and Slurm, know nothing like it: there a run ends with any of its processes.
"""

from __future__ import annotations

import os

FILE, HYDRA = "PMI_FD", "HYDI_CONTROL_FD"
"""Environment variables: the number of the open file; and one of Hydra alone: Slurm's PMI-2 has the first, too."""


def possible() -> bool:
    """Return whether this process can take its leave: the launcher of its rank is Hydra."""
    return os.environ.get(FILE, "").isdigit() and HYDRA in os.environ


def take_leave() -> None:
    """Tell the launcher that this rank has ended as it should. Raises OSError if the launcher has ended."""
    file, answer = int(os.environ[FILE]), b""
    os.write(file, b"cmd=finalize\n")
    while not answer.endswith(b"\n"):
        if not (answer := os.read(file, 1000)):  # the end of the file, again and again
            raise ConnectionResetError("the launcher has ended: nobody answers a leave")
