"""Processes for runs in virtual time: one per core, at the lowest priority, none of which outlives its parent."""

from __future__ import annotations

import multiprocessing
import os
import signal
from concurrent.futures import ProcessPoolExecutor

from hooke.cluster.guard import die_with_parent


def make_pool() -> ProcessPoolExecutor:
    """Return a pool; its processes die with this one, however it ends."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(os.cpu_count(), context, initializer=_begin, initargs=(os.getpid(),))


def _begin(parent: int) -> None:
    die_with_parent(signal.SIGKILL, parent)
    os.nice(19)
