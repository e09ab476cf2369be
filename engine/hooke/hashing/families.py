"""The families by name."""

from __future__ import annotations

from collections.abc import Callable

from hooke.errors import ArgumentError
from hooke.hashing.family import Family
from hooke.hashing.simhash import SimHash, SparseSimHash
from hooke.hashing.winners import DWTA, WTA, MinHash

FAMILIES: dict[str, Callable[[int, int, int, int], Family]] = {
    "dwta": DWTA,
    "minhash": MinHash,
    "simhash": SimHash,
    "simhash-sparse": SparseSimHash,
    "wta": WTA,
}


def make_family(name: str, dim: int, per_table: int, tables: int, seed: int = 0) -> Family:
    """Return the family called `name` with K = `per_table` hashes in each of L = `tables` tables.

    Raises:
        ArgumentError: the name is unknown, or the sizes are not possible.
    """
    if name not in FAMILIES:
        raise ArgumentError(f"no hash family is called {name!r}; there are: {', '.join(sorted(FAMILIES))}")
    return FAMILIES[name](dim, per_table, tables, seed)
