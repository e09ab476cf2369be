"""Plays the MPI setups in one mpirun: `mpirun -n 4 python -m mpi4py -m tests.engine.loop.program FOLDER`."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pickle
import sys
from pathlib import Path

import torch
from hooke.comm.mpi import MpiComm
from mpi4py import MPI

from tests.engine.loop.setup import Setup, play

WORLD = 4


def main(folder: Path) -> None:
    """Play the setups one after the other, each on as many ranks as it takes."""
    torch.set_num_threads(1)
    setups: dict[str, Setup] = pickle.loads((folder / "setups.pkl").read_bytes())
    rank = MPI.COMM_WORLD.Get_rank()
    for size in sorted({setup.ranks for setup in setups.values()}):
        part = MPI.COMM_WORLD.Split(0 if rank < size else MPI.UNDEFINED)
        if part == MPI.COMM_NULL:
            continue
        comm = MpiComm("tree", part)
        for name, setup in setups.items():
            if setup.ranks == size:
                reports = play(comm, setup, "mpi", folder / name)
                (folder / f"{name}.{rank}.pkl").write_bytes(pickle.dumps(reports))
        comm.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
