"""What two hosts see while they compute behind an all-reduce.

`python overlap_program.py OUT ELEMENTS`, as MPI ranks; rank 0 writes OUT. The clock is not ours: the kernel counts
what the host's interface has sent.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from hooke.comm.mpi.communicator import MpiComm
from hooke.objective.flat import FlatObjective
from hooke.objective.models.lenet import lenet
from hooke.objective.samples import Samples
from mpi4py import MPI

LIMIT_SECONDS = 120.0
"""Of computation, in which the transfer has to be complete."""


def sent() -> int:
    """Return the bytes that this host has sent."""
    (line,) = [text for text in Path("/proc/self/net/dev").read_text().splitlines() if "eth0:" in text]
    return int(line.split(":")[1].split()[8])


def main() -> None:
    torch.set_num_threads(1)
    images = torch.zeros((64, 1, 28, 28), dtype=torch.uint8)
    problem = FlatObjective(
        lenet, *(Samples(images, torch.zeros(64, dtype=torch.int64), 1 / 255) for _ in range(2))
    )
    problem.bind(problem.initial(0), problem.allocate())
    batch = problem.pick(np.arange(16))
    comm = MpiComm("halving")
    x, total = (np.full(int(sys.argv[2]), value, np.float32) for value in (1, 0))
    comm.iallreduce(x, total).wait()  # connections are open from here on
    comm.barrier()
    before, began = sent(), time.perf_counter()
    pending = comm.iallreduce(x, total)

    def compute_until(condition: Callable[[], bool]) -> None:
        while not condition() and time.perf_counter() - began < LIMIT_SECONDS:
            problem.gradient(batch)  # no call into MPI

    compute_until(lambda: bool((total == comm.size).all()) and sent() - before > x.nbytes)
    behind, complete = sent() - before, bool((total == comm.size).all())
    one = np.ones(1, np.float32)
    last = comm.iallreduce(one)  # when it is there, the thread has taken note of what was posted before it
    compute_until(lambda: one[0] == comm.size)
    computed = time.perf_counter() - began
    pending.wait()
    last.wait()
    found = {
        "sent behind the gradient": behind,
        "complete": complete,
        "hidden": pending.hidden,
        "computed": computed,
        "host": comm.ranks_on_this_host,
        "machine": comm.ranks_on_this_machine,
    }
    gathered = MPI.COMM_WORLD.gather(found)
    if gathered:
        Path(sys.argv[1]).write_text(json.dumps(gathered))
    comm.close()


if __name__ == "__main__":
    main()
