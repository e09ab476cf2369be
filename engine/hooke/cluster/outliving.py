"""A guard that outlives its rank, which a signal has killed, so that mpirun lets the other ranks go on.

MPICH's mpirun ends all processes as soon as one that it has started ends by a signal, also with the option
`-disable-auto-cleanup`; so does Open MPI's. What it has started is the guard. The messages among the others do not
need the rank, and in the end the guard takes leave for it (`hooke.comm.mpi.leaving`): not with Open MPI.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Collection
from pathlib import Path

from hooke.comm.mpi.leaving import possible, take_leave

SIZES = ("PMI_SIZE",)
"""Environment variables in which Hydra passes the number of ranks."""
LOOK = 0.2
"""Seconds between two looks for exit records."""
GRACE = 130.0
"""Seconds for which the others may end after a request for that: more than their guards give them."""


def tolerated(folders: list[str], rank: int) -> bool:
    """Return whether the others may go on without this rank: a worker of one run, with `on_bad_worker: drop`.

    Only beside a server, which drops it; others would wait for the rank in their next exchange with all.
    """
    try:
        with Path(folders[0], "spec.json").open() as file:
            spec = json.load(file)
        alone = len(folders) == 1 and spec["on_bad_worker"] == "drop"
        return possible() and alone and rank < spec["workers"] < _ranks()
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _ranks() -> int:
    """Return the number of ranks by the launcher; 0 if it is not known."""
    return next((int(os.environ[name]) for name in SIZES if os.environ.get(name, "").isdigit()), 0)


def outlive(folder: str, rank: int, signals: Collection[signal.Signals]) -> bool:
    """Wait until the others have ended, so that mpirun ends none of them; return whether all ended as they should.

    One of these signals asks all ranks to end: False if the others have not done so after GRACE.
    """
    ranks = _ranks()
    left, until = set(range(ranks)) - {rank}, float("inf")
    while left:
        if signal.sigtimedwait(signals, LOOK) is not None:
            until = min(until, time.monotonic() + GRACE)
        if time.monotonic() > until:
            return False
        for other in sorted(left):
            try:
                with Path(folder, f"exit.{other}.json").open() as file:
                    code = json.load(file)["code"]
            except (OSError, ValueError):
                continue
            left.discard(other)
            if code not in (0, None):
                return False
    try:
        take_leave()
    except OSError:
        return False
    return ranks > 0
