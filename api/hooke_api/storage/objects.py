"""Objects: files that are written once, read, and deleted, in a store that several API processes share.

A name belongs to one content forever, so nothing has to be locked. Which objects are in use is in the database
(`hooke_api.models.objects`). `FolderStore` is the store of one host, `hooke_api.storage.s3` that of several.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import IO

import structlog
from hooke.errors import HookeError

FOLDER = "objects"
"""Folder of the home folder with the objects."""
DRAFT = ".draft-"
DRAFT_SECONDS = 86_400.0
"""Age at which the draft of an object belongs to nobody any more."""
MOST_FAULTS = 1000
"""Faults that are remembered."""
_KEY = re.compile(r"[0-9a-f]{2}/[A-Za-z0-9_][A-Za-z0-9_.-]*")
_BLOCK = 1 << 20

log = structlog.get_logger("hooke.objects")

Step = Callable[[], None]
"""Called while something takes its time."""


def nothing() -> None:
    """Do nothing: who waits wants to hear nothing meanwhile."""


class ObjectFault(StrEnum):
    """What fails, as it is said to who needs no credential: without names of runs, folders or buckets."""

    READING = "the steps of {runs} cannot be read: `hooke objects` names them, and says why"
    MOVING = "the steps of {runs} cannot be compacted: the log of the server says why"
    REMOVING = "objects that no run has cannot be removed: the log of the server says why"


class ObjectError(HookeError):
    """An object cannot be read or written at present; the message says why."""


class MissingObject(ObjectError):
    """The store answers, and has no such object."""


class DamagedObject(ObjectError):
    """An object is not what was written."""


def new_key(run: str) -> str:
    """Return a new name for an object of a run; those of many runs are spread over 256 folders."""
    return f"{hashlib.sha256(run.encode()).hexdigest()[:2]}/{run}.{secrets.token_hex(8)}"


def digest_of(file: IO[bytes]) -> tuple[int, str]:
    """Return the size of a file and its SHA-256."""
    file.seek(0)
    size, digest = 0, hashlib.sha256()
    while block := file.read(_BLOCK):
        digest.update(block)
        size += len(block)
    return size, digest.hexdigest()


class ObjectStore(ABC):
    """A store. Its methods raise ObjectError; several threads may call them."""

    def __init__(self, drafts: Path) -> None:
        """`drafts`: the folder in which contents are written before they are stored."""
        self._drafts = drafts
        self._faults: dict[tuple[ObjectFault, str], str] = {}
        """What fails, and of which run -> why."""
        self._lock = threading.Lock()

    @property
    @abstractmethod
    def name(self) -> str:
        """Return where it is, for messages."""

    @abstractmethod
    def put(self, key: str, file: IO[bytes], step: Step = nothing) -> None:
        """Store the content of a file: all of it or nothing, and durably when this returns.

        `step` is called for every part that has gone on its way; what it raises ends this.
        """

    @abstractmethod
    def open(self, key: str, step: Step = nothing) -> AbstractContextManager[IO[bytes]]:
        """Return an object as a file with positions, `step` as above. Raises MissingObject."""

    @abstractmethod
    def delete(self, key: str) -> None:
        """Remove an object if it is there."""

    @abstractmethod
    def absent(self, key: str, size: int) -> str | None:
        """Return what is wrong with an object as far as it is seen at once; None: nothing, or nothing is seen."""

    @abstractmethod
    def size(self, key: str) -> int | None:
        """Return the bytes of an object; None: there is none of that name."""

    def tidy(self) -> None:  # noqa: B027 - most stores have nothing to do
        """Remove what interrupted writers have left."""

    def close(self) -> None:  # noqa: B027 - most stores have nothing to do
        """Close what is open."""

    @contextmanager
    def draft(self) -> Iterator[IO[bytes]]:
        """Yield an empty file for the content of an object; nothing of it is left at the end."""
        with system_errors():
            self._drafts.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = tempfile.TemporaryFile(dir=self._drafts, prefix=DRAFT)  # noqa: SIM115 - the next line does
        with file:
            yield file

    def note(self, fault: ObjectFault, why: str | None, run: str = "") -> None:
        """Remember, and log once, what has failed, and of which run; None: that works now."""
        with self._lock:
            before = self._faults.pop((fault, run), None)
            if why is not None and len(self._faults) < MOST_FAULTS:
                self._faults[fault, run] = why
        if why is not None and why != before:
            log.error("a fault of stored objects", fault=fault.name.lower(), run=run, why=why)

    def faulty(self) -> set[str]:
        """Return the runs of which something has failed in this process."""
        with self._lock:
            return {run for _, run in self._faults if run}

    def forget(self, run: str) -> None:
        """Forget what has failed of a run that is gone."""
        for fault in ObjectFault:
            self.note(fault, None, run)

    def warnings(self) -> list[str]:
        """Return what has failed in this process, and does so still as far as is known; no names, no places."""
        with self._lock:
            counted = Counter(fault for fault, _ in self._faults)
        return [
            fault.format(runs=f"{counted[fault]} run{'s' * (counted[fault] != 1)}")
            for fault in ObjectFault
            if counted[fault]
        ]


class FolderStore(ObjectStore):
    """A folder, which all API processes have to see."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.folder = folder

    @property
    def name(self) -> str:
        """Return where it is, for messages."""
        return f"the folder {self.folder}"

    def put(self, key: str, file: IO[bytes], step: Step = nothing) -> None:
        """Store the content of a file: under another name, then on the disk, then under its own."""
        target = self._path(key)
        draft = target.with_name(f"{DRAFT}{os.getpid()}-{secrets.token_hex(8)}")
        with system_errors():
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as copy:
                    file.seek(0)
                    while block := file.read(_BLOCK):
                        copy.write(block)
                        step()
                    copy.flush()
                    os.fsync(copy.fileno())
                draft.rename(target)
            finally:
                draft.unlink(missing_ok=True)
            for folder in (target.parent, self.folder, self.folder.parent):
                _sync(folder)

    @contextmanager
    def open(self, key: str, step: Step = nothing) -> Iterator[IO[bytes]]:  # noqa: ARG002 - it is there at once
        """Yield an object as a file with positions. Raises MissingObject."""
        try:
            with system_errors():
                file = self._path(key).open("rb")
        except FileNotFoundError:
            raise MissingObject("it is missing") from None
        with file:
            yield file

    def delete(self, key: str) -> None:
        """Remove an object if it is there."""
        with system_errors(), suppress(FileNotFoundError):
            self._path(key).unlink()

    def absent(self, key: str, size: int) -> str | None:
        """Return what is wrong with an object as far as it is seen at once."""
        try:
            found = self._path(key).stat().st_size
        except OSError as error:
            return "it is missing" if isinstance(error, FileNotFoundError) else str(error.strerror)
        return None if found == size else f"it is damaged: it has {found} bytes instead of {size}"

    def size(self, key: str) -> int | None:
        """Return the bytes of an object; None: there is none of that name."""
        try:
            with system_errors():
                return self._path(key).stat().st_size
        except FileNotFoundError:
            return None

    def tidy(self) -> None:
        """Remove the drafts of writers that were interrupted long ago."""
        for draft in self.folder.glob(f"*/{DRAFT}*"):
            with suppress(OSError):
                if time.time() - draft.stat().st_mtime > DRAFT_SECONDS:
                    draft.unlink()

    def _path(self, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise ObjectError(f"{key!r} is not the name of an object")
        return self.folder / key


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def system_errors() -> Iterator[None]:
    """Raise an error of the system, such as a full disk, as ObjectError; FileNotFoundError stays what it is."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ObjectError(f"{error.strerror or error}") from error
