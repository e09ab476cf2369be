"""The file of a backup, a compressed tar: a manifest, then the parts that it lists with size, mode and SHA-256.

    manifest.json      a Manifest
    database           an SQLite file, or an archive of pg_dump
    home/...           files of the home folder; those of a bucket are in home/objects/
    configuration/...  files of HOOKE_CONFIGURATION

Nothing of an archive is used before all of it has been checked.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import os
import re
import shutil
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Literal

from hooke.cluster.places import described
from hooke.errors import HookeError
from hooke.spec.frozen import Frozen
from pydantic import Field, ValidationError, field_validator

MANIFEST = "manifest.json"
DATABASE = "database"
HOME = "home/"
CONFIGURATION = "configuration/"
MANIFEST_LIMIT = 256 * 1024 * 1024
"""Maximum bytes of a manifest; one with 100,000 files has about 15 MB."""
_NAME = re.compile(r"database|(?:home|configuration)(?:/(?!\.\.?(?:/|$))[^/]+)+")
_LEVEL = 1
_BLOCK = 1 << 20


class BackupError(HookeError):
    """A backup or a restoration is not possible; the message says why, and what to do."""


class Part(Frozen):
    """One file of a backup."""

    name: str
    """`database`, `home/...` or `configuration/...`: a path that leaves no folder."""
    bytes: int = Field(ge=0)
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    mode: int = Field(ge=0, le=0o777)
    """Permissions of the restored file."""
    group: str | None = None
    """Name of the group of a file of the configuration, which services read as members of it."""

    @field_validator("name")
    @classmethod
    def _stays_inside(cls, value: str) -> str:
        if not (_NAME.fullmatch(value) and value.isprintable()):
            raise ValueError(f"{value[:200]!r} cannot be the name of a file in a backup")
        return value


class Manifest(Frozen):
    """What a backup holds, and what made it."""

    format: Literal["hooke.backup/1"] = "hooke.backup/1"
    version: str
    """Version of the distribution that made it."""
    migration: str
    """Revision of its tables."""
    database: Literal["sqlite", "postgresql"]
    made_at: datetime
    parts: list[Part]


def copied(source: IO[bytes], target: IO[bytes] | None) -> tuple[int, str]:
    """Copy a stream to its end; return the number of bytes and their SHA-256. None: only these."""
    size, digest = 0, hashlib.sha256()
    while block := source.read(_BLOCK):
        digest.update(block)
        if target is not None:
            target.write(block)
        size += len(block)
    return size, digest.hexdigest()


def write(target: IO[bytes], manifest: Manifest, files: Mapping[str, Path]) -> None:
    """Write a backup to a stream; `files`: where the content of each part is. Raises OSError."""
    text = manifest.model_dump_json(indent=1, exclude_none=True).encode()
    with (
        gzip.GzipFile(filename="", mode="wb", compresslevel=_LEVEL, fileobj=target) as packed,
        tarfile.open(fileobj=packed, mode="w|") as tar,
    ):
        tar.addfile(_header(MANIFEST, len(text), 0o600), io.BytesIO(text))
        for part in manifest.parts:
            with files[part.name].open("rb") as content:
                tar.addfile(_header(part.name, part.bytes, part.mode), content)


def _header(name: str, size: int, mode: int) -> tarfile.TarInfo:
    header = tarfile.TarInfo(name)
    header.size, header.mode = size, mode
    return header


def unpack(
    source: IO[bytes], check: Callable[[Manifest], None], folder: Path, wanted: Callable[[Part], bool]
) -> Manifest:
    """Unpack a backup into a folder, which stays to be removed after an error; return the manifest.

    `check` is called with the manifest before anything is unpacked, and may raise BackupError. Parts that are not
    `wanted` are checked, and not written. Raises BackupError for an archive that is damaged or holds what its
    manifest does not list, OSError if the disk refuses it.
    """
    with _damage_told():
        with (
            gzip.GzipFile(mode="rb", fileobj=source) as packed,
            tarfile.open(fileobj=packed, mode="r|") as tar,
        ):
            members = iter(tar)
            manifest = _manifest(tar, next(members, None))
            check(manifest)
            missing = {part.name: part for part in manifest.parts}
            _check_space(folder, sum(part.bytes for part in manifest.parts if wanted(part)))
            for member in members:
                part = missing.pop(member.name, None)
                if part is None or not _is_file(member) or member.size != part.bytes:
                    raise BackupError(f"the backup is damaged: its manifest does not list this {member.name!r}")
                _unpack_part(_content(tar, member), folder / part.name if wanted(part) else None, part)
            while packed.read(_BLOCK):  # to its end, where the checksum of all is
                continue
        if missing:
            raise BackupError(f"the backup is damaged: it lacks {min(missing)!r}, {len(missing)} part(s) in all")
    return manifest


@contextmanager
def _damage_told() -> Iterator[None]:
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error, tarfile.TarError) as error:
        raise BackupError(f"this is not a backup, or it is damaged: {error}") from error


def _manifest(tar: tarfile.TarFile, member: tarfile.TarInfo | None) -> Manifest:
    if member is None or member.name != MANIFEST or not _is_file(member) or member.size > MANIFEST_LIMIT:
        raise BackupError(f"this is not a backup of Hooke: it does not begin with {MANIFEST}")
    try:
        return Manifest.model_validate_json(_content(tar, member).read())
    except ValidationError as error:
        fault = error.errors()[0]
        place = "/".join(map(str, fault["loc"]))
        raise BackupError(f"{MANIFEST} of the backup is not valid: {place}: {fault['msg']}") from None


def _is_file(member: tarfile.TarInfo) -> bool:
    return member.type in (tarfile.REGTYPE, tarfile.AREGTYPE)


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    content = tar.extractfile(member)
    assert content is not None  # noqa: S101 - it is a regular file
    return content


def _check_space(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise BackupError(f"the backup needs {needed:,} bytes, and {free:,} are free on the disk of {folder}")


def _make_folder(folder: Path) -> None:
    """Make a folder and those above it for its owner only: `mkdir` gives its mode to the last of them."""
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(mode=0o700)


def _unpack_part(content: IO[bytes], path: Path | None, part: Part) -> None:
    """Check a part, and write it to a new file; None: nowhere."""
    if path is None:
        digest = copied(content, None)[1]
    else:
        _make_folder(path.parent)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            digest = copied(content, file)[1]
            os.fchmod(descriptor, part.mode)
            file.flush()
            os.fsync(descriptor)
    if digest != part.sha256:
        raise BackupError(f"the backup is damaged: {part.name!r} is not what its manifest says")


@contextmanager
def system_errors(full: str = "") -> Iterator[None]:
    """Raise an error of the system, such as a full disk, as BackupError with its name and file.

    `full`: what is said of a full disk beside that.
    """
    try:
        yield
    except OSError as error:
        more = f"; {full}" if full and error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        raise BackupError(f"{described(error)}{more}") from error
