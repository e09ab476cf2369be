"""Processes for runs in virtual time, at the lowest priority, none of which outlives its parent."""

from __future__ import annotations

import multiprocessing
import os
import signal
from concurrent.futures import ProcessPoolExecutor

from hooke.cluster.guard import die_with_parent


def make_pool(processes: int | None = None) -> ProcessPoolExecutor:
    """Return a pool, of one process per core if no number is given; its processes die with this one."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(processes or os.cpu_count(), context, initializer=_begin, initargs=(os.getpid(),))


def _begin(parent: int) -> None:
    die_with_parent(signal.SIGKILL, parent)
    os.nice(19)
