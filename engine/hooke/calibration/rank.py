"""A rank of a calibration: `python -m mpi4py -m hooke.calibration.rank FOLDER`; rank 0 writes `measured.json`."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch, as in a run

import gc  # noqa: E402 - the line above must come first

if __name__ == "__main__":
    gc.disable()  # until all is imported, as in a run

import sys  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402

import torch  # noqa: E402, F401 - part of the start-up that is measured

from hooke.calibration import compute, network  # noqa: E402
from hooke.calibration.request import ANSWER, REQUEST, Answer, Request  # noqa: E402
from hooke.calibration.sharing import outnumber_cores  # noqa: E402
from hooke.comm.mpi.communicator import MpiComm  # noqa: E402
from hooke.hardware.description import describe, usable_cores  # noqa: E402

_SHARE_NETWORK = 0.6


def main(folder: Path) -> None:
    """Measure what the request in `folder` asks for."""
    load = os.getloadavg()[0]
    wanted = Request.model_validate_json((folder / REQUEST).read_text())
    comm = MpiComm()
    comm.barrier()
    ready = max(comm.world.allgather(time.time()))
    hosts = len(set(comm.world.allgather(os.uname().nodename)))
    oversubscribed = outnumber_cores(comm)
    curves, rates = [], []
    if not wanted.only_start:
        share = _SHARE_NETWORK if wanted.workloads else 1.0
        curves = network.measure(comm, wanted.seconds * share)
        for each in wanted.workloads:
            found = compute.measure(comm, each, wanted.seconds * (1 - share) / len(wanted.workloads))
            rates += [found] if found is not None else []
    if comm.rank == 0:
        hardware, versions = describe()
        answer = Answer(
            ready=ready,
            hosts=hosts,
            cores=usable_cores(),
            load=load,
            oversubscribed=oversubscribed,
            hardware=hardware,
            versions=versions,
            curves=curves,
            compute=rates,
        )
        (folder / ANSWER).write_text(answer.model_dump_json())
    comm.barrier()
    comm.close()


if __name__ == "__main__":
    gc.freeze()
    gc.enable()
    main(Path(sys.argv[1]))
