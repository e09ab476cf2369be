"""Plays all cases over MPI: `mpirun -n 3 python -m mpi4py -m tests.engine.trace.program FOLDER`."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import sys
from pathlib import Path

import torch
from hooke.comm.mpi.communicator import MpiComm

from tests.engine.trace.cases import CASES, play


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    comm = MpiComm("tree")
    for name in CASES:
        place = folder / name
        place.mkdir(exist_ok=True)
        play(comm, name, place, "mpi")
        comm.barrier()
    comm.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
