"""Reads a bundle that anybody may have made: within limits, and nothing of it becomes a path or a program."""

from __future__ import annotations

import hashlib
import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, cast

from hooke.errors import SpecError
from pydantic import TypeAdapter, ValidationError

from hooke_api.exchange.manifest import (
    ALGORITHMS,
    EXPERIMENT,
    FREELY,
    MANIFEST,
    MOST_DOCUMENT,
    MOST_INFLATED,
    MOST_LINE,
    MOST_RATIO,
    OPTIONAL,
    PARTS,
    VERSION,
    AlgorithmRecord,
    BundleError,
    ExperimentRecord,
    Manifest,
)
from hooke_api.exchange.records import parsed

_END = struct.Struct("<4s4H2LH")
"""End of the central directory of a zip: signature, disks and entries, its size and place, length of a comment."""
_LARGE = b"PK\x06\x07"
_MOST_DIRECTORY = 64 * 1024
MOST_ENTRIES = 64
_BLOCK = 1 << 18
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError),
    *(NotImplementedError, RuntimeError, OverflowError, ValueError),
)
"""What `zipfile` raises for a file that is none, or not a whole one."""


class Bundle:
    """A bundle whose size, parts and checksums have been found right. Raises BundleError everywhere."""

    def __init__(self, file: IO[bytes]) -> None:
        _check_directory(file)
        with damage_told():
            self._archive = zipfile.ZipFile(file)
        self._entries = _entries(self._archive, file)
        self.manifest = self._manifest()
        self._check_parts()

    def _manifest(self) -> Manifest:
        text = self._document(MANIFEST)
        with in_part(MANIFEST):
            value = parsed(text)
            version = value.get("version") if isinstance(value, dict) else None
            if type(version) is int and version > VERSION:
                raise BundleError(
                    f"the format has version {version}, and this Hooke reads up to {VERSION}: import it into a "
                    "newer one"
                )
            return Manifest.model_validate(value)

    def _check_parts(self) -> None:
        listed = {part.name: part for part in self.manifest.parts}
        held = set(self._entries) - {MANIFEST}
        if len(listed) != len(self.manifest.parts) or set(listed) != held:
            other = min(set(listed) ^ held, default=MANIFEST)
            raise BundleError(f"its manifest and its parts differ: {other!r}")
        if missing := [name for name in PARTS if name not in held and name not in OPTIONAL]:
            raise BundleError(f"it lacks {missing[0]!r}")
        for name, part in listed.items():
            size, digest = self._measured(name)
            if (size, digest) != (part.bytes, part.sha256):
                raise BundleError(f"it is damaged: the checksum of {name!r} is not that of its manifest")

    def _measured(self, name: str) -> tuple[int, str]:
        size, digest = 0, hashlib.sha256()
        with damage_told(), self._archive.open(self._entries[name]) as part:
            while block := part.read(_BLOCK):
                size += len(block)
                digest.update(block)
        return size, digest.hexdigest()

    def _document(self, name: str) -> bytes:
        if name not in self._entries:
            raise BundleError(f"this is not a bundle of an experiment: it has no {name!r}")
        if self._entries[name].file_size > MOST_DOCUMENT:
            raise BundleError(f"{name!r} has more than {MOST_DOCUMENT} bytes")
        with damage_told(), self._archive.open(self._entries[name]) as part:
            return part.read()

    @property
    def experiment(self) -> ExperimentRecord:
        """Return the experiment."""
        with in_part(EXPERIMENT):
            return ExperimentRecord.model_validate(parsed(self._document(EXPERIMENT)))

    @property
    def algorithms(self) -> list[AlgorithmRecord]:
        """Return its algorithms."""
        with in_part(ALGORITHMS):
            return TypeAdapter(list[AlgorithmRecord]).validate_python(parsed(self._document(ALGORITHMS)))

    def lines(self, name: str) -> Iterator[bytes]:
        """Yield the lines of a part; none if the bundle does not have it."""
        if name not in self._entries:
            return
        with (
            damage_told(),
            self._archive.open(self._entries[name]) as part,
            io.BufferedReader(cast(io.RawIOBase, part), _BLOCK) as file,
        ):
            number = 0
            while line := file.readline(MOST_LINE + 1):
                number += 1
                if len(line) > MOST_LINE:
                    raise BundleError(f"line {number} of {name!r} has more than {MOST_LINE} bytes")
                yield line


def _check_directory(file: IO[bytes]) -> None:
    """Check the size of the list of parts before it is read: every entry of it becomes an object."""
    size = file.seek(0, io.SEEK_END)
    tail = min(size, _END.size + 20)
    file.seek(size - tail)
    end = file.read(tail)
    file.seek(0)
    if len(end) < _END.size or not end[-_END.size :].startswith(b"PK\x05\x06"):
        raise BundleError("it is not a zip file, or it is cut off: its end is missing")
    _, _, _, _, entries, directory, _, comment = _END.unpack(end[-_END.size :])
    if comment or entries > MOST_ENTRIES or directory > _MOST_DIRECTORY or end.startswith(_LARGE):
        raise BundleError("this is not a bundle of an experiment: it has too many parts")


def _entries(archive: zipfile.ZipFile, file: IO[bytes]) -> dict[str, zipfile.ZipInfo]:
    """Return the parts by name. Raises BundleError for one that a bundle does not have, or for too much of it."""
    found: dict[str, zipfile.ZipInfo] = {}
    for entry in archive.infolist():
        if entry.filename not in (*PARTS, MANIFEST):
            raise BundleError(f"it has a part {entry.filename[:100]!r}, which no bundle has")
        if entry.filename in found:
            raise BundleError(f"it has the part {entry.filename!r} twice")
        if entry.flag_bits & 0x1 or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise BundleError(f"its part {entry.filename!r} is encrypted, or packed in another way than zip's own")
        found[entry.filename] = entry
    inflated, packed = sum(entry.file_size for entry in found.values()), file.seek(0, io.SEEK_END)
    if inflated > MOST_INFLATED:
        raise BundleError(f"it has {inflated:,} bytes when unpacked; the limit is {MOST_INFLATED:,}")
    if inflated > max(FREELY, MOST_RATIO * packed):
        raise BundleError(
            f"it has {packed:,} bytes and {inflated:,} when unpacked, more than {MOST_RATIO} times as many"
        )
    return found


@contextmanager
def damage_told() -> Iterator[None]:
    """Raise what a damaged zip leads to as BundleError."""
    try:
        yield
    except _DAMAGE as error:
        raise BundleError(f"it is damaged: {error}") from error


@contextmanager
def in_part(name: str, line: int | None = None) -> Iterator[None]:
    """Raise a fault of a part as BundleError with its place."""
    place = f"{name!r}" if line is None else f"line {line} of {name!r}"
    try:
        yield
    except BundleError as error:
        raise BundleError(f"{place}: {error}") from None
    except ValidationError as error:
        fault = error.errors()[0]
        where = "/".join(map(str, fault["loc"]))
        raise BundleError(f"{place}: {where}: {fault['msg']}") from None
    except SpecError as error:
        raise BundleError(f"{place}: {error}") from None
