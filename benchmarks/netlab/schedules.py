"""All-reduces side by side: the catalogue's schedules and PyTorch's gloo, in turn, for messages of several sizes.

    mpirun -n 4 python -m mpi4py -m benchmarks.netlab.schedules FILE            ranks of this machine
    python -m benchmarks.netlab run -- python -m mpi4py -m benchmarks.netlab.schedules FILE    hosts of a lab

In each round every schedule adds one vector, in an order that changes from round to round, so that whatever else
the machine does meets all of them. FILE gets the seconds of the slowest rank, by size and schedule, a list with
one number for each round. `summary` compares them as ratios of the same round.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from hooke.comm.collectives import Collective
from hooke.comm.mpi.communicator import MpiComm
from mpi4py import MPI

SIZES = (4_096, 65_536, 1_724_320, 4_194_304)
"""Bytes; the third one is LeNet's."""
SCHEDULES: tuple[Collective, ...] = ("tree", "halving", "ring")
AGAINST = "halving"
WARM = 2
"""First rounds that do not count: they open connections."""
Seconds = dict[str, dict[str, list[float]]]


def measure(world: MPI.Intracomm, sizes: Sequence[int], rounds: int, store: str | None) -> Seconds:
    """Return the seconds of the slowest rank by size in bytes and schedule; the same on every rank.

    `store`: address of PyTorch's store (`file:///...`), with which gloo takes part; None: without gloo.
    """
    comms = [MpiComm(schedule, world) for schedule in SCHEDULES]
    ways: dict[str, Callable[[Any], object]] = {comm.collective: comm.allreduce for comm in comms}
    if store:
        ways["gloo"] = _gloo(world, store)
    found: Seconds = {}
    for size in sizes:
        x, taken = np.zeros(size // 4, np.float32), {name: list[float]() for name in ways}
        for number in range(WARM + rounds):
            names = list(ways)
            for name in names[number % len(names) :] + names[: number % len(names)]:
                comms[0].barrier()
                began = time.perf_counter()
                ways[name](x)
                taken[name].append(time.perf_counter() - began)
        found[str(size)] = {name: _slowest(world, each[WARM:]) for name, each in taken.items()}
    for comm in comms:
        comm.close()
    return found


def _gloo(world: MPI.Intracomm, store: str) -> Callable[[Any], object]:
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=store, rank=world.rank, world_size=world.size)
    return lambda x: dist.all_reduce(torch.from_numpy(x))


def _slowest(world: MPI.Intracomm, seconds: Sequence[float]) -> list[float]:
    own = np.array(seconds)
    world.Allreduce(MPI.IN_PLACE, own, MPI.MAX)
    return [float(each) for each in own]


def summary(found: Mapping[str, Mapping[str, Sequence[float]]]) -> list[str]:
    """Return a line for each size and schedule: its median, and how many times that of `AGAINST` it takes.

    The ratio is the median of those of each round, with its quartiles.
    """
    lines = []
    for size, by_schedule in found.items():
        for name, seconds in by_schedule.items():
            ratios = [one / other for one, other in zip(seconds, by_schedule[AGAINST], strict=True)]
            low, middle, high = statistics.quantiles(ratios, n=4)
            text = f"{int(size):>9,} B  {name:<8} {1e3 * statistics.median(seconds):9.3f} ms"
            lines.append(f"{text}  {middle:.2f}x ({low:.2f} to {high:.2f})")
    return lines


def main() -> None:
    """Measure; rank 0 writes the file and prints the summary."""
    parser = argparse.ArgumentParser(prog="benchmarks.netlab.schedules", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="bytes")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument(
        "--gloo", metavar="FILE", help="with PyTorch's gloo; FILE: where its ranks meet, not there yet"
    )
    options = parser.parse_args()
    store = f"file://{Path(options.gloo).resolve()}" if options.gloo else None
    found = measure(MPI.COMM_WORLD, options.sizes, options.rounds, store)
    if MPI.COMM_WORLD.rank == 0:
        options.file.write_text(json.dumps({"ranks": MPI.COMM_WORLD.size, "seconds": found}) + "\n")
        print("\n".join(summary(found)))


if __name__ == "__main__":
    main()
