"""What has changed of the bands of an experiment since a client's last answer.

A curve grows at its end, or changes where one of its seeds is; everything before and after stays. A client names the
version that it has, and gets for every band the part between what it keeps at the beginning and at the end. The
newest answers are remembered; another version is answered in full.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from hooke_api.metrics.schemas import Band, BandAnswer

REMEMBERED = 32
"""Number of answers, each of some 10 kB per band."""
COLUMNS = ("x", "mean", "low", "high", "n")

_Columns = NDArray[np.float64]
_Remembered = dict[tuple[str, str, int, str], _Columns]


class Increments:
    """The newest answers of a process, by version. May be used from several threads."""

    def __init__(self, most: int = REMEMBERED) -> None:
        self._most = most
        self._answers: OrderedDict[str, _Remembered] = OrderedDict()
        self._lock = threading.Lock()

    def since(self, answer: BandAnswer, version: str | None) -> BandAnswer:
        """Return an answer with its version, as what has changed since another version if that is remembered."""
        columns = {_key(band): _columns(band) for band in answer.bands}
        now = _version(answer, columns)
        with self._lock:
            earlier = self._answers.get(version) if version else None
            self._answers[now] = columns
            self._answers.move_to_end(now)
            while len(self._answers) > self._most:
                self._answers.popitem(last=False)
        if earlier is None:
            return answer.model_copy(update={"version": now})
        bands = [cut(band, earlier.get(_key(band)), columns[_key(band)]) for band in answer.bands]
        return answer.model_copy(update={"version": now, "since": version, "bands": bands})


def cut(band: Band, old: _Columns | None, new: _Columns) -> Band:
    """Return a band with only the points between those that an earlier answer begins and ends with, too."""
    if old is None:
        return band
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


def _key(band: Band) -> tuple[str, str, int, str]:
    return band.variant, band.cluster, band.workers, band.metric


def _columns(band: Band) -> _Columns:
    return np.array([getattr(band, name) for name in COLUMNS], dtype=np.float64)


def _version(answer: BandAnswer, columns: _Remembered) -> str:
    digest = blake2b(f"{answer.axis} {answer.unit}".encode(), digest_size=12)
    for key, values in columns.items():
        digest.update(repr((key, values.shape)).encode())
        digest.update(values.tobytes())
    return digest.hexdigest()
