"""Errors of a disk in the output of a rank: they are no fault of the program that met them."""

from __future__ import annotations

import re
from collections.abc import Sequence

_TOLD = {
    "28": "no space is left on a disk of {} (ENOSPC)",
    "122": "a disk quota is used up on {} (EDQUOT)",
    "30": "a disk of {} can only be read (EROFS)",
    "5": "a disk of {} does not work (EIO)",
}
_FULL = re.compile(r"\bOSError: \[Errno (28|122)\]")
_NAMED = re.compile(r"\bENOSPC\b")
_BROKEN = re.compile(r"\bOSError: \[Errno (5|30)\](?:[^:]*$|.*/runs/[^/]+/\d+/)")
"""Of a file without a name, as an open journal, or of the attempt: one of the user's own may be read-only."""


def disk_fault(lines: Sequence[str], host: str) -> str | None:
    """Return the error of a disk that is the end of a traceback, in words; None: it is another error."""
    for line in lines:
        if found := _FULL.search(line) or _BROKEN.search(line):
            return _TOLD[found[1]].format(host)
        if _NAMED.search(line):
            return _TOLD["28"].format(host)
    return None
