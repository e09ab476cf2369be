"""One local instance: its folder, its lock, its port, and the note for the next start.

HOME/up.lock      held by the running `hooke up`; released by the kernel
HOME/up.json      address and processes (pid and start time) of the latest start
HOME/logs/        output of the parts; that of the previous start as *.log.1
HOME/token        start-up token of the browser; HOME/agent-token that of the agent; HOME/webhook-key
HOME/runs, jobs   the agent's; HOME/hooke.db the API's
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import socket
import stat
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hooke.cluster.lock import Lock
from hooke.cluster.places import write_atomically
from hooke.errors import HookeError

from hooke_api.base.read_settings import unusable

DEFAULT_PORT = 7450
_PORTS_TRIED = 50
_SOCKET_LIMIT = 107
"""Bytes in the path of a unix socket."""


class StartError(HookeError):
    """Hooke cannot start; the message contains the reason and the remedy."""


@dataclass
class Note:
    """The note of one start for the next: its address and the processes of its parts."""

    url: str = ""
    port: int = 0
    parts: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Name -> (pid, start time in clock ticks since boot), which identify a process."""

    @classmethod
    def read(cls, path: Path) -> Note:
        """Return the note at `path`; an empty one if it is missing or cannot be read."""
        try:
            found = json.loads(path.read_text())
            parts = {name: (int(pid), int(started)) for name, (pid, started) in found["parts"].items()}
            return cls(str(found["url"]), int(found["port"]), parts)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return cls()

    def write(self, path: Path) -> None:
        """Replace the note at `path`."""
        text = json.dumps({"url": self.url, "port": self.port, "parts": self.parts}, indent=1)
        write_atomically(path, text + "\n", 0o600)


class Instance:
    """The folder of one installation, owned by this process until `close`."""

    def __init__(self, home: Path) -> None:
        """Lock the folder. Raises StartError if it cannot be used, or another instance has it."""
        self.home = home.expanduser().resolve()
        self.logs = self.home / "logs"
        self.note_path = self.home / "up.json"
        self.port = 0
        try:
            self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.logs.mkdir(exist_ok=True)
            lock = Lock.acquire(self.home / "up.lock")
        except OSError as error:
            raise StartError(unusable(self.home, error)) from None
        self.previous = Note.read(self.note_path)
        if lock is None:
            at = f" at {self.previous.url}" if self.previous.url else ""
            raise StartError(
                f"Hooke already runs{at} with the folder {self.home}. "
                "Use that one, or give this one a folder of its own: HOOKE_HOME=... or --home"
            )
        self._lock = lock
        self._reserved: list[socket.socket] = []
        self.runtime = runtime_folder(self.home)
        try:
            self.prepare()
        except BaseException:  # also Ctrl-C: unlock the folder before passing it on
            self._lock.release()
            raise

    def prepare(self) -> None:
        """Make the folder of sockets. Raises StartError if others can enter it, OSError."""
        for folder in (self.runtime.parent, self.runtime):
            _private(folder)

    def choose_port(self, host: str, asked: int | None) -> str | None:
        """Set `port`; return a message if it is not the expected one. Raises StartError if `asked` is taken.

        The port of the previous start is tried first, because surviving runs still post there.
        """
        check_host(host)
        if asked:
            if not self._take(host, asked):
                fault = _fault(host, asked)
                low = fault is not None and fault.errno in (errno.EACCES, errno.EPERM)
                why = "needs root" if low else "is taken by another program"
                raise StartError(f"port {asked} of {host} {why}: choose another with --port")
            return None
        wanted = self.previous.port or DEFAULT_PORT
        for port in (wanted, *range(DEFAULT_PORT, DEFAULT_PORT + _PORTS_TRIED)):
            if self._take(host, port):
                return None if port == wanted else f"Port {wanted} is taken by another program; this is {port}."
        last = DEFAULT_PORT + _PORTS_TRIED - 1
        raise StartError(f"no port of {host} between {DEFAULT_PORT} and {last} is free: choose one with --port")

    def _take(self, host: str, port: int) -> bool:
        """Reserve a port among the instances of this user, and check that no other program uses it.

        The reservation is a socket in Linux's abstract name space: no file, released by the kernel.
        """
        reservation = socket.socket(socket.AF_UNIX)
        try:
            reservation.bind(f"\0hooke-{os.getuid()}-{port}")
        except OSError:
            reservation.close()
            return False
        if not bindable(host, port):
            reservation.close()
            return False
        self._reserved.append(reservation)
        self.port = port
        return True

    @property
    def socket(self) -> Path:
        """Return the socket path of the private Redis."""
        return self.runtime / "redis.sock"

    def close(self) -> None:
        """Release lock and port; the data stays."""
        shutil.rmtree(self.runtime, ignore_errors=True)
        while self._reserved:
            self._reserved.pop().close()
        self._lock.release()


def bindable(host: str, port: int) -> bool:
    """Return whether a server can listen on this address."""
    return _fault(host, port) is None


def check_host(host: str) -> None:
    """Raise StartError if this machine cannot listen on this address, whatever the port."""
    if (fault := _fault(host, 0)) is not None:
        told = fault.strerror or str(fault)
        raise StartError(f"--host {host}: {told}: give an address of this machine, or 0.0.0.0 for all")


def _fault(host: str, port: int) -> OSError | None:
    """Return why a server cannot listen on this address, or None."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as error:
        return error
    except UnicodeError:  # a name that the name service cannot be asked for
        return OSError(errno.EINVAL, "this is not the name of a host")
    return None


def runtime_folder(home: Path) -> Path:
    """Return the private folder, with a short path, for the sockets of `home`.

    The path of a unix socket has at most 107 bytes, so sockets cannot be placed in an arbitrary home. Of the
    places for them $XDG_RUNTIME_DIR is the last: it is removed when its user signs out, whatever goes on.
    """
    name = hashlib.sha256(os.fsencode(home)).hexdigest()[:12]
    for base in (tempfile.gettempdir(), "/tmp", os.environ.get("XDG_RUNTIME_DIR")):  # noqa: S108 - owner checked below
        if not base or not Path(base).is_dir():
            continue
        top = Path(base) / f"hooke-{os.getuid()}"
        short = len(os.fsencode(top / name / "redis.sock")) <= _SOCKET_LIMIT
        if short and os.access(base, os.W_OK) and _free_or_ours(top):
            return top / name
    raise StartError("no writable folder with a short path for Redis' socket: set TMPDIR to one")


def _free_or_ours(top: Path) -> bool:
    """Return whether nobody else has taken the name, as anybody can in /tmp: another place is used then."""
    return not os.path.lexists(top) or top.lstat().st_uid == os.getuid()


def _private(folder: Path) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise StartError(f"{folder} is not a folder that only this user can enter: remove it, or set TMPDIR")
