"""M4 downsampling: keeps the first, last, minimum and maximum of every bucket, so that no spike is lost.

Source: Jugel, Jerzak, Hackenbroich, Markl, "M4: A Visualization-Oriented Time Series Data Aggregation",
VLDB 2014. Here a bucket is 2^k consecutive points, counted from the first point of the series. A full bucket
therefore does not change when points are appended. When the result would exceed its limit, pairs of buckets are
merged, and the points then kept are a subset of those kept before. No point ever moves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

LEAST_POINTS = 16
"""Minimum number of points: one bucket with gaps on either side."""


def bucket_size(n: int, most: int, per_bucket: int) -> int:
    """Return the smallest power of two for which the buckets of `n` points keep at most `most` points in total."""
    size = 1
    while per_bucket * -(-n // size) > most:
        size *= 2
    return size


def _extremes(y: Floats, size: int, of: str) -> Indices:
    """Return the index of the minimum or maximum of each bucket; the last bucket may be short."""
    pick = np.argmin if of == "min" else np.argmax
    full = len(y) // size * size
    found: Indices = pick(y[:full].reshape(-1, size), axis=1) + np.arange(0, full, size)
    return np.append(found, full + pick(y[full:])) if full < len(y) else found


def _gaps(missing: NDArray[np.bool_], size: int) -> Indices:
    """Return the index of the first missing value of each bucket that has one."""
    where = np.flatnonzero(missing)
    _, first = np.unique(where // size, return_index=True)
    return where[first].astype(np.int64)


def m4(y: Floats, most: int) -> Indices:
    """Return the indices to keep, ascending, at most `most`, always including the first and last point.

    y: values in the order of their x, shape (n,). Values that are not finite are gaps: every bucket with gaps
    keeps the first one in addition to the extremes. Raises ValueError if most < LEAST_POINTS.
    """
    if most < LEAST_POINTS:
        raise ValueError(f"at least {LEAST_POINTS} points are required, not {most}")
    n = len(y)
    if n <= most:
        return np.arange(n, dtype=np.int64)
    return of_buckets(y, bucket_size(n, most, 4 if np.isfinite(y).all() else 5))


def of_buckets(y: Floats, size: int) -> Indices:
    """Return the indices that are kept of each bucket of `size` points, ascending; the last one may be short."""
    n = len(y)
    missing = ~np.isfinite(y)
    starts = np.arange(0, n, size, dtype=np.int64)
    kept = [starts, np.minimum(starts + size, n) - 1]
    if missing.any():
        kept.append(_extremes(np.where(missing, np.inf, y), size, "min"))
        kept.append(_extremes(np.where(missing, -np.inf, y), size, "max"))
        kept.append(_gaps(missing, size))
    else:
        kept += [_extremes(y, size, "min"), _extremes(y, size, "max")]
    return ascending(np.concatenate(kept))


def ascending(values: NDArray[np.int64]) -> Indices:
    """Return whole numbers in ascending order, each once; of few, numpy's `unique` takes three times as long."""
    if not len(values):
        return values
    ordered = np.sort(values)
    return ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))]


def again(at: Indices, y: Floats, n: int, gaps: bool, most: int) -> Indices:
    """Return which points M4 keeps, at most `most`, of a series of which only some points are known.

    at: places of the known points in the series, ascending, shape (k,); among them are those that `m4` keeps of
    the whole series at some limit of at least `most`. y: their values, shape (k,). n: length of the series. gaps:
    whether any of its values is not finite. The points returned are those that `m4` keeps of the whole series,
    because a bucket is a union of smaller ones, and its extremes are extremes of these.
    """
    if n <= most:
        return np.arange(len(at), dtype=np.int64)
    return of_known(at, y, bucket_size(n, most, 5 if gaps else 4))


def of_known(at: Indices, y: Floats, size: int) -> Indices:
    """Return which of the known points (see `again`) are kept of each bucket of `size` points, ascending."""
    bucket = at // size
    starts = np.flatnonzero(np.diff(bucket, prepend=-1))
    kept = [starts, np.append(starts[1:], len(at)) - 1]
    missing, order = ~np.isfinite(y), np.arange(len(at))
    for sign in (1.0, -1.0):
        height = np.where(missing, np.inf, sign * y)
        kept.append(np.lexsort((order, height, bucket))[starts])  # the first of the lowest of each bucket
    where = np.flatnonzero(missing)
    _, first = np.unique(bucket[where], return_index=True)
    kept.append(where[first])
    return ascending(np.concatenate(kept).astype(np.int64))
