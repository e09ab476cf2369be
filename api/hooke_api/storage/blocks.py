"""Chunks of steps as columns, written by ingest and read for charts."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
from hooke.spec.events import ABSENT, STEP_COLUMNS
from numpy.typing import NDArray

Column = NDArray[Any]
"""One value per step, in the dtype of STEP_COLUMNS; shape (n,)."""


class BlockError(ValueError):
    """A block cannot be decoded; `column` is the column with the error."""

    def __init__(self, column: str, message: str) -> None:
        self.column = column
        super().__init__(message)


def decode(n: int, columns: Mapping[str, str]) -> dict[str, Column]:
    """Return the columns of a journal block of `n` steps. Raises BlockError."""
    for name in columns:
        if name not in STEP_COLUMNS:
            raise BlockError(name, f"no column has this name; known: {', '.join(STEP_COLUMNS)}")
    found = {}
    for name, dtype in STEP_COLUMNS.items():
        text = columns.get(name)
        if text is None:
            if name not in ABSENT:
                raise BlockError(name, "this column is missing")
            continue
        try:
            raw = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise BlockError(name, "not base64") from None
        size = np.dtype(dtype).itemsize
        if len(raw) != n * size:
            raise BlockError(name, f"{len(raw)} bytes, but {n} values of {size} bytes are {n * size}")
        found[name] = np.frombuffer(raw, dtype)
    return found


def join(blocks: Sequence[Mapping[str, Column]]) -> dict[str, Column]:
    """Concatenate blocks; optional columns missing in some blocks are filled with the value of `ABSENT`."""
    if len(blocks) == 1:
        return dict(blocks[0])
    names = [name for name in STEP_COLUMNS if any(name in block for block in blocks)]
    return {
        name: np.concatenate([block[name] if name in block else _absent(name, block) for block in blocks])
        for name in names
    }


def _absent(name: str, block: Mapping[str, Column]) -> Column:
    return np.full(len(block["step"]), ABSENT.get(name, np.nan), STEP_COLUMNS[name])


def pack(columns: Mapping[str, Column]) -> tuple[dict[str, list[Any]], bytes]:
    """Return the header {column: [offset, dtype]} and the data of a chunk."""
    header: dict[str, list[Any]] = {}
    parts, offset = [], 0
    for name, values in columns.items():
        raw = values.tobytes()
        header[name] = [offset, STEP_COLUMNS[name]]
        parts.append(raw)
        offset += len(raw)
    return header, b"".join(parts)


def read(n: int, header: Mapping[str, Any], data: bytes, names: Iterable[str]) -> dict[str, Column]:
    """Return columns of a stored chunk of `n` steps without copying; missing ones have the value of `ABSENT`."""
    found = {}
    for name in names:
        if name in header:
            offset, dtype = header[name]
            found[name] = np.frombuffer(data, dtype, n, offset)
        else:
            found[name] = np.full(n, ABSENT.get(name, np.nan), STEP_COLUMNS[name])
    return found


def read_joined(chunks: Sequence[tuple[int, Mapping[str, Any], bytes]], names: Sequence[str]) -> dict[str, Column]:
    """Return columns of consecutive chunks (steps, header, data), one behind the other, as copies.

    Chunks of as many steps with the same header, which ingest makes, are read together and not one by one. Raises
    ValueError for one that is damaged.
    """
    found: dict[str, list[Column]] = {name: [] for name in names}
    for (n, header), same in groupby(chunks, key=itemgetter(0, 1)):
        data = [chunk[2] for chunk in same]
        if len({len(each) for each in data}) > 1:
            raise ValueError("chunks of as many steps differ in size")
        rows = np.frombuffer(b"".join(data), np.uint8).reshape(len(data), -1)
        for name in names:
            if name in header:
                offset, dtype = header[name]
                own = rows[:, offset : offset + n * np.dtype(dtype).itemsize].copy()
                found[name].append(own.view(dtype).reshape(n * len(data)))
            else:
                found[name].append(np.full(n * len(data), ABSENT.get(name, np.nan), STEP_COLUMNS[name]))
    return {name: parts[0] if len(parts) == 1 else np.concatenate(parts) for name, parts in found.items()}
