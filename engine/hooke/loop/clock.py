"""One train clock for all ranks: the deciding rank reads when it starts, and for how long it stands.

A rank that leaves a collective operation may have to wait for a core, 20 ms and more where ranks outnumber cores.
If every rank read the clock after that, the others would work meanwhile although the clock stood. Therefore the
deciding rank reads the time before it lets the others continue, and all ranks are off the clock for the same
seconds. What a rank waits for its core is idle time. See decision 0039.

In virtual time no rank waits for a core: all leave at the same moment, and nothing is sent.
"""

from __future__ import annotations

import zlib

from hooke.loop.state import RankState
from hooke.trace.recording import clock_of


def start_clock(r: RankState) -> None:
    """Start the clock on all ranks and empty the ledger; collective, and all ranks must have met before.

    Ranks on the machine of the deciding rank take its time over; the clock of another machine cannot be compared
    with it, and a rank there starts when it learns of the start.
    """
    at: float | None = None
    if r.spec.virtual is None:
        machine = float(zlib.crc32(clock_of(r.spec.world).encode()))
        began, theirs = r.comm.control.allreduce((r.comm.clock(), machine) if r.deciding else (0.0, 0.0))
        at = began if machine == theirs else None
    r.ledger.begin(r.restored_seconds, at)


def restart_clock(r: RankState, stopped: float, worked: float = 0.0, longest: float = 0.0) -> float:
    """Let all ranks continue, and return the seconds for which the clock stood; collective.

    Called in phase evaluate, which this rank entered at `stopped`; then it worked for `worked` seconds on the
    clock, and the slowest rank for `longest`. What follows is on the clock.
    """
    seconds = r.comm.clock() - stopped - longest
    if r.spec.virtual is None:
        (seconds,) = r.comm.control.allreduce((seconds if r.deciding else 0.0,))
    if r.spec.virtual is None or longest > worked:
        r.ledger.leave_stop(stopped, seconds, worked)
    return seconds
