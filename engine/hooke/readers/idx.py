"""The IDX format of MNIST: big-endian header (magic, one size per dimension), then one byte per element.

Strict: a file that does not match its header exactly is rejected, with the position of the error.
"""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from hooke.errors import DataInvalid

UNSIGNED_BYTE = 0x08
MAX_BYTES = 1 << 30
"""Maximum size of the data, so that a damaged header cannot request all memory."""


@dataclass(frozen=True)
class Idx:
    """An array of unsigned bytes, row-major; `data` is writable so that a tensor may share it."""

    shape: tuple[int, ...]
    data: bytearray


def read(path: Path, dimensions: int) -> Idx:
    """Return the array in a file, gzip-compressed if its name ends in .gz.

    Raises DataInvalid for a wrong magic number, type or number of dimensions, and for a file that is longer,
    shorter or otherwise damaged.
    """
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            return _parse(file, path, dimensions)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataInvalid(f"{path}: damaged gzip file ({error}); fetch it again") from None


def _parse(file: BinaryIO | gzip.GzipFile, path: Path, dimensions: int) -> Idx:
    header_size = 4 + 4 * dimensions
    header = file.read(header_size)
    if len(header) < 4:
        raise DataInvalid(f"{path}: {len(header)} bytes; an IDX file begins with a 4-byte magic number")
    expected = UNSIGNED_BYTE << 8 | dimensions
    magic = int.from_bytes(header[:4], "big")
    if magic != expected:
        raise DataInvalid(
            f"{path}: magic number 0x{magic:08x}, expected 0x{expected:08x} "
            f"(IDX, unsigned bytes, {dimensions} dimension(s))"
        )
    if len(header) < header_size:
        raise DataInvalid(f"{path}: ends inside its header, after {len(header)} of {header_size} bytes")
    shape = struct.unpack(f">{dimensions}I", header[4:])
    size = math.prod(shape)
    if size > MAX_BYTES:
        raise DataInvalid(f"{path}: its header declares {size} bytes {shape}; at most {MAX_BYTES} are read")
    data = file.read(size + 1)
    if len(data) != size:
        found = f"ends after {len(data)} of them" if len(data) < size else "continues after them"
        raise DataInvalid(f"{path}: its header declares {size} bytes of data {shape}; the file {found}")
    return Idx(shape, bytearray(data))
