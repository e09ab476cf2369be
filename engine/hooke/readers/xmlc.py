"""Reads data sets in the text format of the Extreme Classification Repository (Bhatia et al., 2016).

The first line is `items features labels`; every other line is an item, `l1,l2,... f:v f:v ...`. Accepted:

- ids are whole numbers from 0, below the counts of the first line; both ascend in a line, each once;
- values are finite decimal numbers, also negative or with an exponent; they are rounded to float32;
- a line without labels begins with a blank; a line with nothing is an item with neither labels nor features;
- blanks between fields are one or several spaces or tabs, and may end a line;
- lines end with LF or CRLF; the last one may lack its end; empty lines may follow it.

Everything else is an error that names line and column (in bytes, from 1). A folder may have histories of users
instead (`hooke.readers.histories`).
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from hooke.errors import DataInvalid, DataMissing
from hooke.readers import bag_files
from hooke.readers.bag_files import Files
from hooke.readers.sparse_lines import MOST_IDS, Rules, shown

if TYPE_CHECKING:
    from hooke.objective.bags import Bags
    from hooke.readers.sparse_tokens import Block

KIND = "xmlc"
_COUNT, _BLANKS = rb"([0-9]{1,18})", rb"[ \t]+"


def find(name: str, workload: str = "xmlc-mlp", also: str = "") -> Files:
    """Return the files of both parts: `train.txt` and `test.txt`, or with .gz. Only their presence is checked.

    Where there are none but `histories.txt`, it is both parts. They are in $HOOKE_DATA/xmlc/<name> or
    $HOOKE_DATA/<name>. Raises DataMissing with the files to provide; `also`: others that would do.
    """
    put = f"Put train.txt and test.txt, or histories.txt (or with .gz), into a folder `{KIND}/{name}`{also}"
    places = bag_files.folders(name, KIND, workload, "a data set in the XMLC format", put)
    for place in places:
        train, test = (bag_files.existing(place / f"{part}.txt") for part in ("train", "test"))
        if train and test:
            return Files(train, test)
        if histories := bag_files.existing(place / "histories.txt"):
            return Files(histories, None)
    lacking = "; ".join(
        f"{place} lacks "
        + " and ".join(f"{p}.txt" for p in ("train", "test") if not bag_files.existing(place / f"{p}.txt"))
        if place.is_dir()
        else f"there is no folder {place}"
        for place in places
    )
    raise DataMissing(f"{workload} does not find its data: {lacking}. {put}")


def parts(name: str, workload: str = "xmlc-mlp") -> tuple[Bags, Bags]:
    """Return the training and the test part, memory-mapped from the cache, opened once per process.

    Raises DataMissing for missing files, DataInvalid for faults in them, and for parts that do not fit together.
    """
    files = find(name, workload)
    with bag_files.READING:
        return _parts(files, name)


@functools.cache
def _parts(files: Files, name: str) -> tuple[Bags, Bags]:
    from hooke.readers import bag_cache

    if files.test is None:
        raise DataInvalid(
            f"{files.train} has histories of users, and no training and test part: only xmlc-mlp learns from them"
        )
    heads = [XmlcText(path) for path in (files.train, files.test)]  # compared before either is read
    if (heads[0].features, heads[0].labels) != (heads[1].features, heads[1].labels):
        raise DataInvalid(
            f"{files.train} has {heads[0].features} features and {heads[0].labels} labels by its first line, "
            f"{files.test} {heads[1].features} and {heads[1].labels}: both parts need the same"
        )
    train, test = (bag_cache.load(text, KIND, f"{name}-{text.path.name.split('.')[0]}") for text in heads)
    return train, test


def read(path: Path) -> Bags:
    """Return the items of one file in memory, without a cache. Raises DataInvalid with the place of a fault."""
    from hooke.readers import sparse_text

    return sparse_text.collect(XmlcText(path))


class XmlcText:
    """A file in the XMLC format; its first line is read at once. Raises DataInvalid."""

    flags = 0
    counted: ClassVar[str] = "items"
    """What a line is."""

    def __init__(self, path: Path) -> None:
        from hooke.readers import sparse_text

        self.path = path
        with contextlib.closing(sparse_text.lines(path)) as lines:
            self._declare(next(lines, (1, b""))[1])

    def _declare(self, text: bytes) -> bytes:
        """Read the counts of the first line; return what follows it."""
        first, _, rest = text.partition(b"\n")
        self._counts(first)
        return rest

    def _counts(self, first: bytes) -> None:
        """Set the counts that the first line has."""
        self.items, self.features, self.labels = header(self.path, first, "items", "features", "labels")

    def _block(self, line: int, text: bytes) -> Block:
        """Return the items of whole lines, the first of which has the number `line`."""
        from hooke.readers import sparse_text

        return sparse_text.parsed(self.path, line, text, Rules(self.features, self.labels))

    def __iter__(self) -> Iterator[Block]:
        from hooke.readers import sparse_text

        left = self.items
        for first, lines in sparse_text.lines(self.path):
            line, text = first, lines
            if first == 1:
                line, text = 2, self._declare(lines)
                left = self.items
            items, rest = _cut(text, left)
            if items:
                block = self._block(line, items)
                left -= len(block)
                yield block
            self._nothing(line + items.count(b"\n"), rest)
        if left:
            raise DataInvalid(
                f"{self.path}, line 1: declares {self.items} {self.counted}; the file ends after "
                f"{self.items - left}: "
                "fetch it again, or correct the first number"
            )

    def _nothing(self, line: int, rest: bytes) -> None:
        """Verify that only empty lines follow the last item."""
        if stray := rest.lstrip(b" \t\r\n"):
            line += rest[: len(rest) - len(stray)].count(b"\n")
            raise DataInvalid(
                f"{self.path}, line {line}: the first line declares {self.items} {self.counted}, and more follow: "
                "fetch the file again, or correct the first number"
            )


def header(path: Path, line: bytes, *whats: str) -> tuple[int, ...]:
    """Return the counts of a first line: whole numbers, as many as there are names. Raises DataInvalid."""
    form = f"`{' '.join(whats)}`"
    if not line:
        raise DataInvalid(f"{path}, line 1: empty; it should be {form}: fetch the file again")
    if line.startswith(b"\xef\xbb\xbf"):
        raise DataInvalid(f"{path}, line 1, column 1: begins with a byte order mark: save the file without one")
    found = re.fullmatch(_COUNT + (_BLANKS + _COUNT) * (len(whats) - 1) + rb"[ \t]*\r?", line)
    if not found:
        words = {2: "two", 3: "three"}
        raise DataInvalid(
            f"{path}, line 1, column 1: {shown(line)} is not {form}, {words[len(whats)]} whole numbers"
        )
    counts = tuple(map(int, found.groups()))
    for place, (what, count) in enumerate(zip(whats, counts, strict=True), 1):
        if count < 1 or (place > 1 and count > MOST_IDS):
            raise DataInvalid(
                f"{path}, line 1, column {found.start(place) + 1}: {count} {what}; expected 1 to {MOST_IDS}"
            )
    return counts


def _cut(text: bytes, count: int) -> tuple[bytes, bytes]:
    """Divide whole lines after the first `count` of them."""
    if text.count(b"\n") <= count:
        return text, b""
    import numpy as np

    if not count:
        return b"", text
    end = int(np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n"))[count - 1]) + 1
    return text[:end], text[end:]
