"""Plays many cases in one mpirun: `mpirun -n 5 python -m mpi4py -m tests.engine.contract.program FOLDER`.

FOLDER/cases.pkl is a list of cases; each rank leaves FOLDER/<number>.<rank>.pkl for the cases it took part in.
Ranks form groups, so that starting Python is paid once and small cases run side by side.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pickle
import sys
import time
from pathlib import Path

import torch
from hooke.comm.mpi.communicator import MpiComm
from mpi4py import MPI

from tests.engine.contract.cases import Case, play, watched

STAGES: tuple[tuple[range, ...], ...] = (
    (range(0, 5),),
    (range(0, 2), range(2, 5)),
    (range(0, 4), range(4, 5)),
)
"""One after the other, groups of ranks that work at the same time; a case goes where its ranks fit exactly."""


def play_stage(groups: tuple[range, ...], cases: list[Case], folder: Path) -> None:
    """Play the cases whose number of ranks is that of this rank's group."""
    rank = MPI.COMM_WORLD.Get_rank()
    color = next((k for k, group in enumerate(groups) if rank in group), MPI.UNDEFINED)
    part = MPI.COMM_WORLD.Split(color)
    if part == MPI.COMM_NULL:
        return
    for collective in ("tree", "halving"):
        comm = MpiComm(collective, part)
        for number, case in enumerate(cases):
            if case.ranks == comm.size and case.collective == collective:
                place = folder / str(number)
                place.mkdir(exist_ok=True)
                played = play(comm, case, "mpi", place)
                (folder / f"{number}.{comm.rank}.pkl").write_bytes(pickle.dumps(played))
        comm.close()


def main(folder: Path) -> None:
    """Play all stages; then wait for the others without holding a core."""
    torch.set_num_threads(1)
    cases: list[Case] = pickle.loads((folder / "cases.pkl").read_bytes())
    with watched():
        for groups in STAGES:
            play_stage(groups, cases, folder)
            done = MPI.COMM_WORLD.Ibarrier()
            while not done.Test():
                time.sleep(0.002)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
