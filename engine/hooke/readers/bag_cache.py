"""The binary cache of parsed sparse text: a folder of .npy files, which every process maps into its memory.

The folder's name has a hash of what identifies the text (path, size, time of change, first and last MiB) and of
the form's version, so that what is in a folder never changes: a changed text gets another folder. See
docs/decisions/0057-cache-of-sparse-text.md.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from hooke.errors import DataInvalid
from hooke.objective.bags import Bags, Csr
from hooke.readers import places, sparse_text
from hooke.readers.sparse_text import Text
from hooke.readers.sparse_tokens import Block

VERSION = 1
ARRAYS: dict[str, type[np.generic]] = {
    "feature_starts": np.int64,
    "feature_ids": np.int32,
    "feature_values": np.float32,
    "label_starts": np.int64,
    "label_ids": np.int32,
}
"""Name of an array, and of its file -> its type."""
INDEX = "bags.json"
HEADER = 128
"""Bytes before the elements of a .npy file here."""
SAMPLE = 1 << 20
"""Bytes at either end of a text that identify it."""
VERIFIED = 1 << 30
"""Caches of at most so many bytes are verified by checksums when they are opened, larger ones by sizes."""
STALE = 86_400.0
"""Seconds after which an unfinished folder belongs to a process that has ended."""


class _Unwritable(Exception):
    """The cache cannot be written: its disk is full or read-only."""


def load(text: Text, kind: str, name: str) -> Bags:
    """Return the items of a text, memory-mapped from the cache, which is made where it is missing or damaged.

    `kind`: folder of the cache; `name`: beginning of the name inside it. Sets the counts of `text`. If the cache
    cannot be written the items are in memory. Raises DataInvalid for a text with faults; then nothing is kept.
    """
    source = _identity(text.path, kind)
    digest = hashlib.sha256(json.dumps([VERSION, source]).encode()).hexdigest()
    kept = places.cache(kind) / f"{name.replace('/', '-')}-{digest[:24]}"
    try:
        return _mapped(kept, source, text)
    except (OSError, ValueError, KeyError, TypeError):  # missing or damaged: make it
        pass
    try:
        return _made(kept, source, text)
    except _Unwritable:
        bags = sparse_text.collect(text)
        _unchanged(text.path, source, kind)
        return bags


def _identity(path: Path, kind: str) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            ends = hashlib.sha256()
            for place in (0, max(0, size - SAMPLE)):
                file.seek(place)
                ends.update(file.read(SAMPLE))
        changed = path.stat().st_mtime_ns
    except OSError as error:
        raise DataInvalid(f"{path} cannot be read ({error})") from None
    return {
        "format": kind,
        "path": str(path.resolve()),
        "bytes": size,
        "mtime_ns": changed,
        "ends": ends.hexdigest(),
    }


def _unchanged(path: Path, source: dict[str, Any], kind: str) -> None:
    if _identity(path, kind) != source:
        raise DataInvalid(f"{path} was changed while it was read; start again when it is complete")


def _made(kept: Path, source: dict[str, Any], text: Text) -> Bags:
    with _writing():
        kept.parent.mkdir(parents=True, exist_ok=True)
        _sweep(kept.parent)
        draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=kept.parent))
    try:
        with _Writer(draft) as writer:
            for block in text:
                writer.append(block)
            arrays = writer.finish()
        _unchanged(text.path, source, source["format"])
        counts = {"features": text.features, "labels": text.labels, "flags": text.flags}
        with _writing():
            (draft / INDEX).write_text(
                json.dumps({"version": VERSION, "source": source, **counts, "arrays": arrays})
            )
            bags = _mapped(draft, source, text)  # stays mapped, whatever becomes of the folder
        with contextlib.suppress(OSError):
            _publish(draft, kept, source, text)
        return bags
    finally:
        shutil.rmtree(draft, ignore_errors=True)  # published: no longer there


def _publish(draft: Path, kept: Path, source: dict[str, Any], text: Text) -> None:
    """Rename the draft; another process may have been faster, or left a damaged folder there."""
    for _ in range(4):
        try:
            draft.rename(kept)
            return
        except OSError:  # a folder that is not empty is never replaced
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                _mapped(kept, source, text)
                return
        aside = Path(tempfile.mkdtemp(prefix=".draft-", dir=kept.parent))
        with contextlib.suppress(OSError):
            kept.rename(aside)  # over an empty folder
        shutil.rmtree(aside, ignore_errors=True)


def _sweep(parent: Path) -> None:
    """Remove what processes left that were killed while they wrote."""
    for draft in parent.glob(".draft-*"):
        with contextlib.suppress(OSError):
            if time.time() - draft.stat().st_mtime > STALE:
                shutil.rmtree(draft, ignore_errors=True)


@contextlib.contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _Unwritable from error


def _header(dtype: type[np.generic], count: int) -> bytes:
    """Return the header of a .npy file of one dimension (NEP 1, version 1.0), as long for any `count`."""
    form = f"{{'descr': '{np.dtype(dtype).str}', 'fortran_order': False, 'shape': ({count},), }}"
    return b"\x93NUMPY\x01\x00" + (HEADER - 10).to_bytes(2, "little") + form.ljust(HEADER - 11).encode() + b"\n"


class _Writer:
    """Appends blocks to the files of a draft. Raises _Unwritable where the disk does not take them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, BinaryIO] = {}
        self._sums = dict.fromkeys(ARRAYS, 0)
        self._counts = dict.fromkeys(ARRAYS, 0)

    def __enter__(self) -> _Writer:
        return self

    def append(self, block: Block) -> None:
        """Append items."""
        if not self._files:
            self._add("feature_starts", np.zeros(1, dtype=np.int64))
            self._add("label_starts", np.zeros(1, dtype=np.int64))
        for kind, rows in (("feature", block.features), ("label", block.labels)):
            self._add(f"{kind}_starts", rows.starts[1:] + self._counts[f"{kind}_ids"])
            self._add(f"{kind}_ids", rows.ids)
            if rows.values is not None:
                self._add(f"{kind}_values", rows.values)

    def _add(self, name: str, elements: NDArray[Any]) -> None:
        data = np.ascontiguousarray(elements).view(np.uint8).data
        with _writing():
            if name not in self._files:
                self._files[name] = (self._folder / f"{name}.npy").open("wb")
                self._files[name].write(bytes(HEADER))
            self._files[name].write(data)
        self._sums[name] = zlib.crc32(data, self._sums[name])
        self._counts[name] += len(elements)

    def finish(self) -> dict[str, dict[str, int]]:
        """Complete the headers and close the files; return the number of elements and the CRC-32 of each."""
        with _writing():
            for name, file in self._files.items():
                file.seek(0)
                file.write(_header(ARRAYS[name], self._counts[name]))
                file.close()
        return {name: {"count": self._counts[name], "crc32": self._sums[name]} for name in ARRAYS}

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        for file in self._files.values():
            with contextlib.suppress(OSError):
                file.close()


def _mapped(folder: Path, source: dict[str, Any], text: Text) -> Bags:
    """Return the items of a complete folder. Raises OSError, ValueError, KeyError or TypeError for any other."""
    index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    if (index["version"], index["source"]) != (VERSION, source):
        raise ValueError(f"{folder} belongs to another text or version")
    form: dict[str, dict[str, int]] = index["arrays"]
    total = sum(form[name]["count"] * np.dtype(dtype).itemsize for name, dtype in ARRAYS.items())
    arrays = {name: _array(folder / f"{name}.npy", ARRAYS[name], form[name], total <= VERIFIED) for name in ARRAYS}
    bags = Bags(
        Csr(arrays["feature_starts"], arrays["feature_ids"], arrays["feature_values"]),
        Csr(arrays["label_starts"], arrays["label_ids"]),
        int(index["features"]),
        int(index["labels"]),
    )
    text.features, text.labels, text.flags = bags.feature_count, bags.label_count, int(index["flags"])
    return bags


def _array(path: Path, dtype: type[np.generic], form: dict[str, int], verified: bool) -> NDArray[Any]:
    count = form["count"]
    with path.open("rb") as file:
        whole = file.read(HEADER) == _header(dtype, count)
        size = file.seek(0, 2)
    if not whole or size != HEADER + count * np.dtype(dtype).itemsize:
        raise ValueError(f"{path} is damaged")
    if not count:
        return np.empty(0, dtype=dtype)
    # A plain array over the map: indexing an np.memmap costs several microseconds more each time.
    array = np.asarray(np.memmap(path, dtype=dtype, mode="r", offset=HEADER, shape=(count,)))
    if verified and zlib.crc32(array.view(np.uint8).data) != form["crc32"]:
        raise ValueError(f"{path} is damaged")
    return array
