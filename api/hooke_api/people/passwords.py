"""Passwords: hashed by Argon2id, in threads of their own, with a limit on how many wait."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cached_property
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from hooke.errors import Fault

from hooke_api.base.errors import Invalid, TooMany

LEAST, MOST = 12, 256
"""Characters of a password."""
THREADS = 2
"""Passwords that are hashed at a time, each with 19 MiB of memory."""
WAITING = 16
"""Requests that wait for it."""

T = TypeVar("T")


class Passwords:
    """Hashes and verifies passwords.

    Argon2id with 19 MiB, two passes and one lane, one of the settings that OWASP recommends; about 30 ms. The hash
    holds its parameters, so that they can be raised: `outdated` says which ones must be made anew.
    """

    def __init__(self, memory_kib: int = 19 * 1024, passes: int = 2) -> None:
        self._hasher = PasswordHasher(time_cost=passes, memory_cost=memory_kib, parallelism=1)
        self._threads = ThreadPoolExecutor(THREADS, "passwords")
        self._busy = 0

    @cached_property
    def _nobody(self) -> str:
        return self._hasher.hash(secrets.token_urlsafe())

    async def run(self, work: Callable[[], T]) -> T:
        """Run work that hashes in a thread. Raises TooMany if too many wait; call it in the event loop."""
        if self._busy >= THREADS + WAITING:
            raise TooMany("too many passwords are being checked: try again", seconds=2)
        self._busy += 1
        try:
            context = copy_context()  # the audit trail must know the change
            return await asyncio.get_running_loop().run_in_executor(self._threads, context.run, work)
        finally:
            self._busy -= 1

    def hash(self, password: str) -> str:
        """Return the hash of a password."""
        return self._hasher.hash(password)

    def matches(self, hashed: str | None, password: str) -> bool:
        """Return whether this is the password; takes as long where there is none (null)."""
        try:
            self._hasher.verify(hashed or self._nobody, password)
        except (VerificationError, InvalidHashError):
            return False
        return hashed is not None

    def outdated(self, hashed: str) -> bool:
        """Return whether a hash was made with other parameters than those of today."""
        return self._hasher.check_needs_rehash(hashed)

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown(wait=False)


def check_password(password: str, name: str) -> None:
    """Raise Invalid unless a password is long enough and not made of the name of its user."""
    why = ""
    if len(password) < LEAST:
        why = f"a password must have at least {LEAST} characters"
    elif not password.replace(name, "").strip():
        why = "a password must not be the name of its user"
    elif len(set(password)) < 4:
        why = "a password must have at least 4 different characters"
    if why:
        raise Invalid("this password is not accepted", [Fault(pointer="/password", message=why)])
