"""Played by MPI ranks: staged vectors, and a placement that is really applied; rank 0 prints one JSON document.

Run as `mpirun -n P python -m mpi4py -m tests.engine.hardware.program`.
"""

import json
import os
import re
import threading
from pathlib import Path

from hooke.comm.mpi.communicator import MpiComm
from hooke.hardware import affinity, binding
from hooke.hardware.placing import among, need
from hooke.spec.specification import Compute
from mpi4py import MPI

from tests.engine.hardware.staged_cases import CASES, both


def policies_in_use() -> list[str]:
    """Return the memory policies of this process as the kernel tells them."""
    return sorted(set(re.findall(r"^\w+ (\S+)", Path("/proc/self/numa_maps").read_text(), re.M)))


def placed(comm: MpiComm) -> dict[str, object]:
    started = threading.Event()
    ended = threading.Event()
    old = threading.Thread(target=lambda: (started.set(), ended.wait()))
    old.start()
    started.wait()
    whole = among(Compute(placement="none", threads="group"), comm, server=False).threads
    found = among(Compute(placement="core", threads="group"), comm, server=False)
    again = among(Compute(placement="core", threads="group"), comm, server=False)
    cpus = [sorted(os.sched_getaffinity(int(task.name))) for task in Path("/proc/self/task").iterdir()]
    crowded = comm.split(0)._patience.crowded
    affinity.unpin()
    if len(os.sched_getaffinity(0)) >= comm.size:
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[comm.rank]})  # as a launcher does
    bound = among(Compute(placement="core", threads="group"), comm, server=False)
    ended.set()
    old.join()
    how, failed = binding.prefer((0,))
    policies = policies_in_use() if how else []
    released = binding.release()
    after = policies_in_use() if how else []
    return {
        "whole": whole,
        "threads": found.threads,
        "cpus": cpus,
        "notes": found.confirm(need(1000)),
        "too_much": found.confirm(2**50),
        "again": again.notes,
        "crowded": crowded,
        "bound": bound.notes,
        "memory": [how, failed, released, policies, after],
    }


def main() -> None:
    comm = MpiComm("tree")
    answers = {}
    for name in CASES:
        for wire in (False, True):
            plain, staged, buffers = both(comm, name, wire)
            answers[f"{name} {wire}"] = MPI.COMM_WORLD.gather((plain == staged, len(plain), buffers))
    answers["placed"] = MPI.COMM_WORLD.gather(placed(comm))
    if comm.rank == 0:
        print(json.dumps(answers))


if __name__ == "__main__":
    main()
