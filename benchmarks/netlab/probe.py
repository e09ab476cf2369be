"""What ranks on a lab measure: `python -m benchmarks.netlab.probe pair|collectives OUT`.

`pair` (two ranks): latency and bandwidth by plain MPI messages. `collectives` (any number): Hooke's own
all-reduce of one LeNet's weights by every schedule, and the library's. Rank 0 writes OUT.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np
from hooke.comm.collectives import Collective
from hooke.comm.mpi.communicator import MpiComm
from mpi4py import MPI

ELEMENTS = 431_080
"""Of LeNet: 1.72 MB of float32."""
PINGS, STREAMS, SUMS = 200, 5, 22
STREAM_BYTES = (4 * ELEMENTS, 6_000_000)
"""Of one LeNet, and enough for the transport to choose its way of sending large messages."""


def pair(comm: MPI.Intracomm) -> dict[str, Any]:
    """Measure between ranks 0 and 1: half a round trip of 8 bytes (median), and the rates of longer messages."""
    small = np.zeros(1)
    me, peer = comm.rank, 1 - comm.rank
    trips = []
    for _ in range(PINGS):
        began = time.perf_counter()
        if me == 0:
            comm.Send(small, peer)
            comm.Recv(small, peer)
        else:
            comm.Recv(small, peer)
            comm.Send(small, peer)
        trips.append((time.perf_counter() - began) / 2)
    rates = {str(size): _rates(comm, size) for size in STREAM_BYTES}
    return {"latency_seconds": statistics.median(trips[PINGS // 10 :]), "bits_per_second": rates}


def _rates(comm: MPI.Intracomm, size: int) -> dict[str, float]:
    """Return bits per second each way alone, and of each while both are in use, for messages of `size` bytes."""
    data, other, word = np.zeros(size, np.uint8), np.zeros(size, np.uint8), np.zeros(1)
    peer = 1 - comm.rank

    def one_way(sender: int) -> None:
        if comm.rank == sender:
            comm.Send(data, peer)
            comm.Recv(word, peer)  # else the sender's clock would stop at what its buffers have taken
        else:
            comm.Recv(data, peer)
            comm.Send(word, peer)

    def both() -> None:
        comm.Sendrecv(data, peer, 0, other, peer, 0)

    def rate(move: Callable[..., None], *arguments: int) -> float:
        seconds = []
        for _ in range(STREAMS):
            comm.Barrier()
            began = time.perf_counter()
            move(*arguments)
            seconds.append(time.perf_counter() - began)
        return 8 * size / statistics.median(seconds)

    return {"1 to 2": rate(one_way, 0), "2 to 1": rate(one_way, 1), "both at once": rate(both)}


def collectives(comm: MPI.Intracomm) -> dict[str, Any]:
    """Measure the all-reduce of every collective: seconds of the slowest rank, [least, median, most]."""
    found: dict[str, Any] = {}
    for collective in get_args(Collective):
        mine = MpiComm(collective, comm)
        x = np.zeros(ELEMENTS, np.float32)
        seconds = []
        for _ in range(SUMS):
            mine.barrier()
            began = time.perf_counter()
            mine.allreduce(x)
            seconds.append(time.perf_counter() - began)
        slowest = np.array(seconds[2:])  # the first ones open connections
        comm.Allreduce(MPI.IN_PLACE, slowest, MPI.MAX)
        mine.close()
        found[collective] = [float(slowest.min()), float(np.median(slowest)), float(slowest.max())]
    return {"elements": ELEMENTS, "bytes": 4 * ELEMENTS, "seconds": found}


def main() -> None:
    """Measure what the command line names."""
    what, out = sys.argv[1:]
    comm = MPI.COMM_WORLD
    found = {"pair": pair, "collectives": collectives}[what](comm)
    if comm.rank == 0:
        Path(out).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
