"""The shared memory that MPICH holds in /dev/shm, noted for the guard of this rank.

MPICH removes these segments, of 1 MB and more for each rank of a host, in MPI_Finalize. Of a job whose ranks are
killed, as all are when one fails, they would stay until the host is started again. They are named after the job.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

NOTE = "HOOKE_SEGMENTS"
"""Environment variable with the file in which a guard (`hooke.cluster.guard`) looks for their names."""
_MAPPED = re.compile(r"/dev/shm/mpich_\w+$", re.MULTILINE)  # noqa: S108 - where Linux keeps shared memory, not a file of ours


def note_segments() -> None:
    """Write the names of the segments that this process has mapped, if a guard has started it."""
    file = os.environ.get(NOTE)
    if file is None:
        return
    with suppress(OSError):  # not Linux, or a full disk: nothing depends on it
        names = set(_MAPPED.findall(Path("/proc/self/maps").read_text()))
        if names:
            Path(file).write_text("".join(f"{name}\n" for name in sorted(names)))
