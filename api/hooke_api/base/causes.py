"""Why something failed, for who needs no credential: texts of errors name hosts, paths and statements."""

from __future__ import annotations

import errno

import redis
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from hooke_api.base.errors import AWAY

LOG = "the log of the server says more"
_OF_SYSTEM = {
    errno.ENOSPC: "no space is left on a disk",
    errno.EDQUOT: "a disk quota is used up",
    errno.EMFILE: "too many files are open",
    errno.ENFILE: "too many files are open",
    errno.EROFS: "a disk can only be read",
    errno.EACCES: "a file may not be opened",
}
_FULL = ("database or disk is full", "No space left on device")
"""Words of SQLite and PostgreSQL for a full disk."""
_READ_ONLY = ("readonly database", "read-only transaction")
"""Words of SQLite and PostgreSQL for one that takes no changes."""
_OTHERS: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str], ...] = (
    (AWAY, "the database does not respond"),
    (SQLAlchemyError, "the database refuses a statement"),
    (redis.RedisError, "Redis does not respond"),
    (OSError, "the operating system refuses something"),
    (MemoryError, "there is no memory left"),
)


def cause(error: BaseException) -> str:
    """Return why work has failed, without any text of the error, which belongs in the log."""
    if isinstance(error, DBAPIError) and any(words in str(error.orig) for words in _FULL):
        return "the disk of the database is full"
    if isinstance(error, DBAPIError) and any(words in str(error.orig) for words in _READ_ONLY):
        return "the database can only be read"
    if isinstance(error, OSError) and error.errno in _OF_SYSTEM:
        return _OF_SYSTEM[error.errno]
    return next((said for kinds, said in _OTHERS if isinstance(error, kinds)), "an unexpected error")
