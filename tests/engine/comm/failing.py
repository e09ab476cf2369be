"""Rank 1 raises while the others wait for it."""

import numpy as np
from hooke.comm.mpi.communicator import MpiComm

comm = MpiComm("tree")
pending = comm.iallreduce(np.ones(1000, np.float32))
pending.wait()
if comm.rank == 1:
    raise ZeroDivisionError("on purpose")
comm.allreduce(np.ones(1000, np.float32))
print("survived")
