"""What a client has of a series already: it names marks of its points, and gets only those behind.

A mark holds digests of some beginnings of a series. Nothing is remembered of an answer, so that any process can
tell how much of it is still as it was. M4 keeps the same points of a full bucket whatever follows, so a curve that
grows has most of its points in common with what a client has.
"""

from __future__ import annotations

from hashlib import blake2b

from hooke_api.metrics.table import Floats

TAILS = (0, 8, 64)
"""Points at the end that a beginning leaves out: none, a bucket with gaps and a step of each rank, many steps."""
LEAST = 8
"""Points below which a beginning has no digest."""
MOST_LETTERS = 90
"""Of a mark."""
PATTERN = r"^([0-9]{1,6}-[0-9a-f]{16}(\.|$))*$"


def mark(x: Floats, y: Floats) -> str:
    """Return the mark of a series: `POINTS-DIGEST` of some beginnings, the longest first."""
    ends = [len(x) - tail for tail in TAILS if len(x) - tail >= LEAST]
    return ".".join(f"{end}-{_digest(x, y, end)}" for end in ends)


def kept(known: str, x: Floats, y: Floats) -> int:
    """Return the number of points with which a series begins that a client has, by its mark of them."""
    for part in filter(None, known.split(".")):
        end, _, digest = part.partition("-")
        if int(end) <= len(x) and digest == _digest(x, y, int(end)):
            return int(end)
    return 0


def _digest(x: Floats, y: Floats, end: int) -> str:
    digest = blake2b(x[:end].tobytes(), digest_size=8)
    digest.update(y[:end].tobytes())
    return digest.hexdigest()
