"""The steps of a run as one file: compressed columns, from which its chunks can be restored byte by byte.

    HOOKEST1     magic number
    blocks       one for each column of each segment
    index        JSON, compressed by zlib: the run, its segments, their chunks and the places of their columns
    end          place and size of the index, two little-endian uint64

A segment is a sequence of chunks of one rank of one attempt with the same columns. A block is a column of all of
its steps: the values, or, where that takes less, the differences of successive values as unsigned integers, which
are exact for every bit pattern (NaN, -0 and Inf, too). Of these, the first bytes come first, then the second ones,
and so on, each sequence compressed by zlib, whose checksum tells damage. What does not shrink is stored as it is.
The sequences of a short block are compressed together.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, NamedTuple

import numpy as np
from hooke.spec.events import ABSENT, STEP_COLUMNS
from numpy.typing import NDArray

from hooke_api.storage import blocks
from hooke_api.storage.blocks import Column
from hooke_api.storage.objects import DamagedObject

MAGIC = b"HOOKEST1"
SEGMENT_STEPS = 131_072
"""Steps after which a segment gets no further chunk: what is held in memory at a time."""
LEVEL = 3
SHORT_STEPS = 8192
"""Steps up to which a block is short."""
SAMPLE = 4096
"""Values by which differences, and bytes by which compression are tried."""
WORTH = 0.95
"""Share of its size to which a sequence of bytes has to shrink."""
_END = struct.Struct("<QQ")


class StoredChunk(NamedTuple):
    """A row of the table `chunks`, without its run and id."""

    attempt: int
    rank: int
    seq: int
    n: int
    header: dict[str, Any]
    data: bytes


class UnusualChunk(ValueError):
    """A chunk that `blocks.pack` would not have packed so, as an imported one may be: only a row can hold it."""


@dataclass(frozen=True)
class _Block:
    """Where a column is: the sizes of its compressed sequences add up to that of the block."""

    at: int
    dtype: str
    differences: bool
    sizes: list[int]


@dataclass(frozen=True)
class Segment:
    """Consecutive chunks of one rank of one attempt."""

    attempt: int
    rank: int
    seqs: list[int]
    counts: list[int]
    """Steps of each chunk."""
    blocks: Mapping[str, _Block]
    """In the order of the columns in the chunks."""

    @property
    def n(self) -> int:
        """Return the number of steps."""
        return sum(self.counts)


class StepsWriter:
    """Writes chunks that come in the order of attempt, rank and seq to an empty file."""

    def __init__(self, file: IO[bytes], run: str) -> None:
        self._file = file
        self._run = run
        self._at = file.write(MAGIC)
        self._held: list[StoredChunk] = []
        self._held_steps = 0
        self._segments: list[dict[str, Any]] = []
        self.chunks = self.steps = self.raw = 0
        """Number of chunks and steps so far, and bytes of the chunks' columns."""

    def add(self, chunk: StoredChunk) -> None:
        """Add the next chunk. Raises UnusualChunk."""
        _check_usual(chunk)
        if self._held and not self._continues(chunk):
            self._write_segment()
        self._held.append(chunk)
        self._held_steps += chunk.n
        self.chunks += 1
        self.steps += chunk.n
        self.raw += len(chunk.data)

    def close(self) -> None:
        """Write what is held, and the index."""
        if self._held:
            self._write_segment()
        index = zlib.compress(json.dumps({"run": self._run, "segments": self._segments}).encode(), LEVEL)
        self._file.write(index + _END.pack(self._at, len(index)))

    def _continues(self, chunk: StoredChunk) -> bool:
        last = self._held[-1]
        same = (last.attempt, last.rank, *last.header) == (chunk.attempt, chunk.rank, *chunk.header)
        return same and self._held_steps + chunk.n <= SEGMENT_STEPS

    def _write_segment(self) -> None:
        held, self._held, self._held_steps = self._held, [], 0
        places: dict[str, list[Any]] = {}
        for name, (_, dtype) in held[0].header.items():
            parts = [blocks.read(each.n, each.header, each.data, [name])[name] for each in held]
            differences, packed = _pack(np.concatenate(parts))
            places[name] = [self._at, dtype, differences, [len(each) for each in packed]]
            for each in packed:
                self._at += self._file.write(each)
        self._segments.append({
            "attempt": held[0].attempt,
            "rank": held[0].rank,
            "seqs": [each.seq for each in held],
            "counts": [each.n for each in held],
            "blocks": places,
        })  # fmt: skip


def _check_usual(chunk: StoredChunk) -> None:
    offset = 0
    for name, (at, dtype) in chunk.header.items():
        if at != offset or dtype != STEP_COLUMNS.get(name):
            raise UnusualChunk(f"column {name!r} of chunk {chunk.seq} of rank {chunk.rank}")
        offset += chunk.n * np.dtype(dtype).itemsize
    if len(chunk.data) != offset or chunk.n < 1:
        raise UnusualChunk(f"chunk {chunk.seq} of rank {chunk.rank}: {len(chunk.data)} bytes")


def _bits(values: Column) -> NDArray[Any]:
    return values.view(f"<u{values.dtype.itemsize}")


def _differences(bits: NDArray[Any]) -> NDArray[Any]:
    """Return the first value, and the difference of each following one to the one before it (modulo 2^bits)."""
    return np.diff(bits, prepend=bits.dtype.type(0))


def _sequences(bits: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the first bytes of all values, the second ones, ...: shape (bytes of a value, values)."""
    return np.ascontiguousarray(bits.view(np.uint8).reshape(len(bits), -1).T)


def _pack(values: Column) -> tuple[bool, list[bytes]]:
    """Return whether differences are stored, and the compressed sequences, or one of all of them."""
    bits = _bits(values)
    sample = bits[:SAMPLE]
    tried = [sum(len(_compressed(each)) for each in _sequences(kind)) for kind in (sample, _differences(sample))]
    differences = tried[1] < tried[0]
    sequences = _sequences(_differences(bits) if differences else bits)
    if len(bits) <= SHORT_STEPS:
        return differences, [zlib.compress(sequences.tobytes(), LEVEL)]
    return differences, [_compressed(each) for each in sequences]


def _compressed(sequence: NDArray[np.uint8]) -> bytes:
    sample = sequence[:SAMPLE].tobytes()
    shrinks = len(zlib.compress(sample, 1)) < WORTH * len(sample)
    return zlib.compress(sequence.tobytes(), LEVEL if shrinks else 0)


@contextmanager
def _damage_told() -> Iterator[None]:
    try:
        yield
    except (zlib.error, struct.error, ValueError, KeyError, IndexError, TypeError, OverflowError) as error:
        raise DamagedObject(f"it is damaged: {error}") from error


class StepsFile:
    """Reads a file that a StepsWriter has written. Raises DamagedObject, and OSError."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        with _damage_told():
            size = file.seek(0, 2)
            if size < len(MAGIC) + _END.size or self._bytes(0, len(MAGIC)) != MAGIC:
                raise ValueError("it does not begin as files of steps do")
            at, length = _END.unpack(self._bytes(size - _END.size, _END.size))
            if at + length + _END.size != size:
                raise ValueError("its index is not where it has to be")
            index = json.loads(zlib.decompress(self._bytes(at, length)))
            self.run = str(index["run"])
            self.segments = [_segment(each) for each in index["segments"]]

    def columns(self, segment: Segment, names: Iterable[str]) -> dict[str, Column]:
        """Return columns of a segment; missing ones have the value of `ABSENT`, as `blocks.read` returns it."""
        found = {}
        with _damage_told():
            for name in names:
                if name in segment.blocks:
                    found[name] = self._column(segment.n, segment.blocks[name])
                else:
                    found[name] = np.full(segment.n, ABSENT.get(name, np.nan), STEP_COLUMNS[name])
        return found

    def chunks(self) -> Iterator[StoredChunk]:
        """Yield all chunks, as they were written."""
        for segment in self.segments:
            columns = self.columns(segment, segment.blocks)
            begin = 0
            for seq, n in zip(segment.seqs, segment.counts, strict=True):
                header, data = blocks.pack({name: each[begin : begin + n] for name, each in columns.items()})
                yield StoredChunk(segment.attempt, segment.rank, seq, n, header, data)
                begin += n

    def _column(self, n: int, block: _Block) -> Column:
        dtype = np.dtype(block.dtype)
        packed = self._bytes(block.at, sum(block.sizes))
        made = np.empty((n, dtype.itemsize), np.uint8)
        begin = place = 0
        for size in block.sizes:
            raw = np.frombuffer(zlib.decompress(packed[begin : begin + size], bufsize=n), np.uint8).reshape(-1, n)
            made[:, place : place + len(raw)] = raw.T
            begin, place = begin + size, place + len(raw)
        if place != dtype.itemsize:
            raise ValueError(f"a column has {place} bytes for each step")
        bits = made.reshape(-1).view(f"<u{dtype.itemsize}")
        if block.differences:
            np.cumsum(bits, dtype=bits.dtype, out=bits)
        return bits.view(dtype)

    def _bytes(self, at: int, size: int) -> bytes:
        self._file.seek(at)
        found = self._file.read(size)
        if len(found) != size:
            raise ValueError("it ends too early")
        return found


def _segment(told: Mapping[str, Any]) -> Segment:
    places = {name: _Block(*block) for name, block in told["blocks"].items()}
    return Segment(told["attempt"], told["rank"], told["seqs"], told["counts"], places)
