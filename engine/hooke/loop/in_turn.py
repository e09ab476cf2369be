"""Several runs under one mpirun, one after the other: processes start, and import PyTorch, once for all."""

from __future__ import annotations

import gc
import sys
import time
from array import array
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import cast

from mpi4py import MPI

from hooke.comm.mpi.launched import check_together
from hooke.comm.mpi.segments import note_segments
from hooke.errors import CommError
from hooke.loop.output import write_output_to

SHORTEST, LONGEST = 1e-3, 0.25
"""Seconds between two looks of a rank that waits: a tenth of what it has waited, within these."""


def _any(world: MPI.Intracomm, *mine: bool) -> tuple[bool, ...]:
    """Return for each word whether it is true on any rank; waits asleep for the slowest rank."""
    words, began = array("i", mine), time.monotonic()
    try:
        request = world.Iallreduce(MPI.IN_PLACE, words, MPI.MAX)
        while not request.Test():
            time.sleep(min(max(SHORTEST, (time.monotonic() - began) / 10), LONGEST))
    except MPI.Exception as error:
        raise CommError(f"MPI reports between two runs: {error}") from error
    return tuple(map(bool, words))


def run_in_turn(
    folders: Iterable[Path],
    cancelled: Callable[[], bool],
    ranks: Callable[[Path], int],
    run: Callable[[Path, MPI.Intracomm], None],
) -> None:
    """Run the folders in turn, each on as many of the ranks as it needs; collective over all ranks.

    `ranks(folder)`: number of ranks of a run; `run(folder, world)`: runs it on the calling rank, one of `world`.
    The others wait asleep. A folder with a file `cancel` is skipped; nothing more is run once `cancelled()` is
    true on any rank. If a run raises, the caller must end all processes: the other ranks wait for this one.
    """
    world, interval = MPI.COMM_WORLD, sys.getswitchinterval()
    check_together(world.Get_size(), MPI.Get_library_version().splitlines()[0])
    note_segments()
    for folder in folders:
        sys.setswitchinterval(interval)  # a run with background messages shortens it
        cancel, skip = _any(world, cancelled(), (folder / "cancel").exists())
        if cancel:
            return
        if skip:
            continue
        takes_part = world.Get_rank() < ranks(folder)
        part = cast(MPI.Intracomm, world.Split(0 if takes_part else 1, world.Get_rank()))
        if takes_part:
            write_output_to(folder)
            run(folder, part)
        part.Free()
        gc.collect()  # the vectors of a run, before the next one allocates its own
