"""Reads histories of users for recommenders: the items that each has chosen, in the order of time.

The first line is `users items`; every other line has the items of one user, the earliest first, between blanks:
whole numbers from 0, below the number of items, also repeated ones. A line with nothing is a user without any.
Blanks, ends of lines and compression are as in `hooke.readers.xmlc`, and so are faults: line and column.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hooke.errors import DataInvalid
from hooke.objective.bags import Csr
from hooke.objective.histories import Pairs, in_time
from hooke.readers import bag_cache, bag_files, xmlc
from hooke.readers.sparse_lines import LONGEST_ID, LineFault, shown
from hooke.readers.sparse_tokens import Block

Parts = tuple[Pairs, Pairs, Pairs]


def parts(name: str, window: int, workload: str = "xmlc-mlp") -> Parts:
    """Return training, validation and test part of `histories.txt`, made once per process.

    Parsed lines are mapped from the cache as those of other sparse text, and pairs are made when they are taken.
    Raises DataMissing, and DataInvalid for faults and for histories that are too short.
    """
    files = xmlc.find(name, workload)
    with bag_files.READING:
        return _parts(files.train, name, window)


@functools.cache
def _parts(path: Path, name: str, window: int) -> Parts:
    text = HistoryText(path)
    lines = bag_cache.load(text, xmlc.KIND, f"{name}-histories")
    train, validation, test = in_time(lines.labels, lines.label_count, window)
    if not len(train):
        raise DataInvalid(
            f"{path}: no user has four items, so that nothing is left to train with: of each user the last item "
            "is tested, and the one before it validates"
        )
    return train, validation, test


def read(path: Path) -> Csr:
    """Return the histories of one file in memory, without a cache. Raises DataInvalid with a fault's place."""
    from hooke.readers import sparse_text

    return sparse_text.collect(HistoryText(path)).labels


class HistoryText(xmlc.XmlcText):
    """A file of histories; a user counts as an item without features, whose labels are the history."""

    counted: ClassVar[str] = "users"

    def _counts(self, first: bytes) -> None:
        self.items, self.labels = xmlc.header(self.path, first, "users", "items")
        self.features = self.labels

    def _block(self, line: int, text: bytes) -> Block:
        found = _parsed(text, self.labels)
        if found is None:
            for number, each in enumerate(text[:-1].split(b"\n"), line):
                try:
                    _check(each, self.labels)
                except LineFault as fault:
                    raise DataInvalid(f"{self.path}, line {number}, column {fault.column}: {fault}") from None
            raise DataInvalid(f"{self.path}, line {line}: not accepted, although no line has a fault; report it")
        none = Csr(np.zeros(len(found) + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))
        return Block(none, found)


def _parsed(text: bytes, items: int) -> Csr | None:
    """Return the histories of whole lines; None if any has a fault."""
    if text.translate(None, b"0123456789 \t\r\n") or b"\r" in text.replace(b"\r\n", b"\n"):
        return None
    buffer = np.frombuffer(text, dtype=np.uint8)
    digits = np.concatenate([[False], buffer - np.uint8(ord("0")) < 10, [False]])
    edges = np.flatnonzero(digits[1:] != digits[:-1])
    first, last = edges[::2], edges[1::2]
    if len(first) and int((last - first).max()) > LONGEST_ID:
        return None
    ids = np.fromstring(text.decode(), np.int64, sep=" ") if len(first) else np.zeros(0, np.int64)
    if len(ids) and int(ids.max()) >= items:
        return None
    ends: NDArray[np.int64] = np.flatnonzero(buffer == ord("\n"))
    starts = np.concatenate([[0], np.searchsorted(first, ends)]).astype(np.int64)
    return Csr(starts, ids.astype(np.int32))


def _check(line: bytes, items: int) -> None:
    """Raise LineFault for the first fault of a line."""
    for column, field in _fields(line.removesuffix(b"\r")):
        if not field.isdigit():
            raise LineFault(
                column,
                f"{shown(field)} is not a whole number from 0 to {items - 1}: a line has the items of a user, "
                "between blanks",
            )
        if len(field) > LONGEST_ID:
            raise LineFault(column, f"item {shown(field)} has more than {LONGEST_ID} digits")
        if int(field) >= items:
            raise LineFault(column, f"item {int(field)} is too large: {items} items count from 0 to {items - 1}")


def _fields(line: bytes) -> Iterator[tuple[int, bytes]]:
    column = 1
    for field in line.replace(b"\t", b" ").split(b" "):
        if field:
            yield column, field
        column += len(field) + 1
