"""Sizes of bucket ids by hash family, without NumPy: a specification is checked where no run takes place."""

from __future__ import annotations

MOST_BITS = 24
"""Bits of a bucket id. A table has 2**bits offsets of 4 bytes: 64 MiB with 24 bits."""
WIDTH = 8
"""Coordinates among which a hash of the winner families finds the largest (m), so that it has log2(m) bits."""
BITS = {"simhash": 1, "simhash-sparse": 1, "wta": 3, "dwta": 3, "minhash": 3}
"""Family -> bits of one of its hashes."""
_USUAL = {1: 9, 3: 4}
"""Bits of a hash -> K where none is given: 512 buckets of signs, and 4,096 of winners (decision 106)."""


def most_hashes(family: str) -> int:
    """Return the largest number of hashes per table (K) of a family."""
    return MOST_BITS // BITS[family]


def usual_hashes(family: str) -> int:
    """Return the number of hashes per table (K) where none is given."""
    return _USUAL[BITS[family]]


def bytes_of_code(bits: int) -> int:
    """Return the bytes in which tables keep a code."""
    return 1 if bits <= 8 else 2 if bits <= 16 else 4


def bytes_of_tables(rows: int, tables: int, bits: int) -> int:
    """Return the memory of filled hash tables of so many rows: codes, ids and offsets, and the order of rows."""
    return tables * (rows * (4 + bytes_of_code(bits)) + 4 * ((1 << bits) + 1)) + 4 * rows


def fault_of_hashes(family: str, hashes: int) -> str | None:
    """Return why a family cannot have so many hashes per table; None: it can."""
    if hashes <= most_hashes(family):
        return None
    return (
        f"{hashes} hashes of {family} make bucket ids of {hashes * BITS[family]} bits, and at most {MOST_BITS} "
        f"are possible: give at most {most_hashes(family)}"
    )
