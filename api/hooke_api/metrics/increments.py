"""What has changed of the bands of an experiment since a client's last answer.

A curve grows at its end, or changes where one of its seeds is; everything before and after stays. A client names
the version that it has, and gets for every band the part between what it keeps at the beginning and at the end.
The newest answers are remembered, as many as the caches of the process have room for; another version is answered
in full.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from hooke_api.base.caches import MIB, Budget, Cache
from hooke_api.metrics.schemas import Band, BandAnswer

COLUMNS = ("x", "mean", "low", "high", "n")

_Columns = NDArray[np.float64]
_Key = tuple[str, str, int, str]


@dataclass(frozen=True)
class _Known:
    """A band as it was answered: columns, and how many points of each run are behind them."""

    columns: _Columns
    points: list[tuple[str, int]]


_Remembered = dict[_Key, _Known]
MOST = 3 * MIB
"""Bytes of the caches that answers may take: a viewer needs the last one, and curves are dearer to make."""
_OF_POINT = 200
"""Bytes of the entry of a run in `points`, about."""


class Increments:
    """The newest answers of a process, by version. May be used from several threads."""

    def __init__(self, budget: Budget | None = None) -> None:
        """`budget`: of all caches of the process; None: one of its own."""
        self._answers: Cache[str, _Remembered] = Cache(budget or Budget(8 * MIB), _size, MOST)

    def since(self, answer: BandAnswer, version: str | None) -> BandAnswer:
        """Return an answer with its version, as what has changed since another version if that is remembered."""
        known = {_key(band): _known(band) for band in answer.bands}
        now = _version(answer, known)
        earlier = self._answers.get(version) if version else None
        self._answers.put(now, known)
        if earlier is None:
            return answer.model_copy(update={"version": now})
        bands = [
            cut(band, earlier.get(key), known[key])
            for band in answer.bands
            if not _same(earlier.get(key := _key(band)), known[key])
        ]
        return answer.model_copy(update={"version": now, "since": version, "bands": bands})


def cut(band: Band, earlier: _Known | None, now: _Known) -> Band:
    """Return a band with only the points between those that an earlier answer begins and ends with, too."""
    if earlier is None:
        return band
    old, new = earlier.columns, now.columns
    shared = min(old.shape[1], new.shape[1])
    before = _equal(old[:, :shared], new[:, :shared])
    rest = shared - before
    after = _equal(old[:, ::-1][:, :rest], new[:, ::-1][:, :rest])
    end = new.shape[1] - after
    columns = {name: getattr(band, name)[before:end] for name in COLUMNS}
    return band.model_copy(update={"kept_before": before, "kept_after": after, **columns})


def _equal(old: _Columns, new: _Columns) -> int:
    """Return the number of columns with which both begin."""
    same = ((old == new) | (np.isnan(old) & np.isnan(new))).all(axis=0)
    return int(same.argmin()) if not same.all() else len(same)


def _same(old: _Known | None, new: _Known) -> bool:
    return (
        old is not None and old.points == new.points and np.array_equal(old.columns, new.columns, equal_nan=True)
    )


def _key(band: Band) -> _Key:
    return band.variant, band.cluster, band.workers, band.metric


def _size(answer: _Remembered) -> int:
    """Return the size of an answer in memory, some 10 kB per band."""
    return sum(band.columns.nbytes + _OF_POINT * len(band.points) for band in answer.values())


def _known(band: Band) -> _Known:
    columns = np.array([getattr(band, name) for name in COLUMNS], dtype=np.float64)
    return _Known(columns, list(zip(band.runs, band.evaluations, strict=False)))


def _version(answer: BandAnswer, known: _Remembered) -> str:
    digest = blake2b(f"{answer.axis} {answer.unit}".encode(), digest_size=12)
    for key, band in known.items():
        digest.update(repr((key, band.columns.shape, band.points)).encode())
        digest.update(band.columns.tobytes())
    return digest.hexdigest()
