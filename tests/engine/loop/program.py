"""Plays the MPI setups in one mpirun: `mpirun -n 4 python -m mpi4py -m tests.engine.loop.program FOLDER`."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pickle
import sys
import time
from pathlib import Path

import torch
from hooke.comm.mpi.communicator import MpiComm
from hooke.comm.mpi.window import MpiWindow
from hooke.errors import SpecError
from mpi4py import MPI

from tests.engine.loop.setup import Setup, play


class Apart(MpiComm):
    """Ranks whose windows share no memory, as on several hosts."""

    def window(self, initial, owner=0):
        return MpiWindow(self._sums, initial, owner, self._patience, self.traffic, map_memory=False)


def play_size(part: MPI.Intracomm, setups: dict[str, Setup], folder: Path) -> None:
    """Play the setups that take as many ranks as there are in this part."""
    for kind in (MpiComm, Apart):
        comm = kind("tree", part)
        for name, setup in setups.items():
            if setup.ranks == comm.size and setup.apart == (kind is Apart):
                try:
                    reports = play(comm, setup, "mpi", folder / name)
                except SpecError as error:  # on every rank alike, or the others would wait forever
                    reports = error.faults
                (folder / f"{name}.{comm.rank}.pkl").write_bytes(pickle.dumps(reports))
        comm.close()


def main(folder: Path) -> None:
    """Play the setups one after the other, each on as many ranks as it takes; the others sleep meanwhile."""
    torch.set_num_threads(1)
    setups: dict[str, Setup] = pickle.loads((folder / "setups.pkl").read_bytes())
    rank = MPI.COMM_WORLD.Get_rank()
    for size in sorted({setup.ranks for setup in setups.values()}):
        part = MPI.COMM_WORLD.Split(0 if rank < size else MPI.UNDEFINED)
        if part != MPI.COMM_NULL:
            play_size(part, setups, folder)
        done = MPI.COMM_WORLD.Ibarrier()  # MPI's blocking calls would occupy a core
        while not done.Test():
            time.sleep(0.005)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
