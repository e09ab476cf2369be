"""A request that a signal handler may make."""

from __future__ import annotations


class Flag:
    """True or false, without a lock.

    A second signal that arrives while the handler of the first one holds the lock of a threading.Event would wait
    for it forever, as when a scheduler and a rank's guard both send SIGTERM.
    """

    def __init__(self) -> None:
        self._set = False

    def set(self) -> None:
        """Make the request."""
        self._set = True

    def clear(self) -> None:
        """Forget it."""
        self._set = False

    def is_set(self) -> bool:
        """Return whether it has been made."""
        return self._set
