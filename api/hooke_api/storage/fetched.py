"""The pieces of fetched checkpoints: objects of at most PIECE_BYTES, whose names follow from what they hold.

So a piece that comes twice is stored once, whatever process takes it, and removing a fetch needs no list. They are
in the folder `fetched` of the home folder, which backups leave out, or in the bucket of the other objects.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Mapping
from io import BytesIO

from hooke.spec.fetching import PIECE_BYTES

from hooke_api.base.settings import Settings
from hooke_api.storage.objects import DamagedObject, FolderStore, MissingObject, ObjectStore
from hooke_api.storage.stores import store_of

FOLDER = "fetched"
"""Folder of the home folder with the pieces."""
_BLOCK = 1 << 20


class FetchedFiles:
    """The files of fetched checkpoints. Methods raise ObjectError; several threads may call them."""

    def __init__(self, settings: Settings) -> None:
        self.folder = None if settings.objects else settings.home / FOLDER
        """Where they are; None: in a bucket."""
        self._store: ObjectStore = store_of(settings) if self.folder is None else FolderStore(self.folder)

    def put(self, fetch: str, name: str, start: int, piece: bytes) -> None:
        """Store a piece, durably; one of the same place is replaced."""
        self._store.put(_key(fetch, name, start), BytesIO(piece))

    def read(self, fetch: str, name: str, size: int) -> Iterator[bytes]:
        """Yield the content of a file, a block at a time. Raises ObjectError also for a piece that is missing."""
        for start, length in pieces(size):
            left = length
            with self._store.open(_key(fetch, name, start)) as file:
                while left and (block := file.read(min(_BLOCK, left))):
                    left -= len(block)
                    yield block
            if left:
                raise DamagedObject(f"a piece of {name} is shorter than it was")

    def digest(self, fetch: str, name: str, size: int) -> str:
        """Return the SHA-256 of a file."""
        found = hashlib.sha256()
        for block in self.read(fetch, name, size):
            found.update(block)
        return found.hexdigest()

    def check(self, fetch: str, files: Mapping[str, int]) -> None:
        """Raise MissingObject unless all pieces of files (name -> size) are there."""
        for name, size in files.items():
            for start, length in pieces(size):
                if self._store.size(_key(fetch, name, start)) != length:
                    raise MissingObject(f"a piece of {name} is missing")

    def delete(self, fetch: str, files: Mapping[str, int]) -> None:
        """Remove every piece that files (name -> size) may have."""
        for name, size in files.items():
            for start, _ in pieces(size):
                self._store.delete(_key(fetch, name, start))

    def tidy(self) -> None:
        """Remove what interrupted writers have left."""
        self._store.tidy()

    def free(self) -> int | None:
        """Return the free bytes of the disk; None: of a bucket nobody knows."""
        if self.folder is None:
            return None
        place = self.folder if self.folder.exists() else self.folder.parent
        return shutil.disk_usage(place).free

    def close(self) -> None:
        """Close what is open."""
        self._store.close()


def pieces(size: int) -> Iterator[tuple[int, int]]:
    """Yield begin and length of every piece of a file."""
    for start in range(0, size, PIECE_BYTES):
        yield start, min(PIECE_BYTES, size - start)


def _key(fetch: str, name: str, start: int) -> str:
    return f"{hashlib.sha256(fetch.encode()).hexdigest()[:2]}/{fetch}.{name}.{start}"
