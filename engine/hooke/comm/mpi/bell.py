"""Wakes a rank of the same machine that sleeps until a control word arrives.

A rank that waits polls MPI and sleeps in between, so a word lies there for half a sleep on average. With a bell
the sender wakes it. A bell is a datagram socket of the kernel with a name and no file: it carries nothing, and a
lost or surplus one changes no more than when the next look at MPI is.
"""

from __future__ import annotations

import os
import select
import socket

_MOST_DESCRIPTORS = 1024
"""`select` takes descriptors below this one."""


class Bell:
    """The bell of a process; `name` is empty where the system has no such sockets."""

    def __init__(self) -> None:
        self.name = ""
        self._socket: socket.socket | None = None
        try:
            made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        except (OSError, AttributeError):
            return
        name = f"\0hooke-{os.urandom(8).hex()}"  # the leading zero: no file, and gone with the process
        try:
            made.bind(name)
        except (OSError, ValueError):
            made.close()
            return
        if made.fileno() >= _MOST_DESCRIPTORS:
            made.close()
            return
        made.setblocking(False)
        self._socket, self.name = made, name

    def ring(self, name: str) -> bool:
        """Wake the process whose bell has this name; return whether this kernel knows it."""
        if self._socket is None:
            return False
        try:
            self._socket.sendto(b"!", name)
        except ConnectionRefusedError:
            return False  # on another host, or its process has ended
        except OSError:
            return True  # it has not heard earlier ones yet, or buffers are short: no sign that it has ended
        return True

    def wait(self, seconds: float) -> bool:
        """Return true as soon as somebody rings, or has since the last time; false after so many seconds."""
        if self._socket is None:
            return False
        heard, _, _ = select.select([self._socket], [], [], seconds)
        if not heard:
            return False
        try:
            while True:
                self._socket.recv(1)
        except BlockingIOError:
            return True

    def close(self) -> None:
        """Free the socket."""
        if self._socket is not None:
            self._socket.close()
            self._socket, self.name = None, ""
