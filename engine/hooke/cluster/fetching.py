"""Sends the files of a checkpoint to the API, piece by piece, one checkpoint at a time.

All files are opened before the first piece: one that the ranks delete meanwhile stays readable, and a finished
checkpoint is never written to again. No link is followed, because ranks may run users' code, perhaps under an
account that may read less than the agent. While runs are active here, this takes about 1% of one core.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import BinaryIO, Protocol

from hooke.cluster.accounts import RANKS
from hooke.cluster.job import Job
from hooke.cluster.lock import held
from hooke.cluster.places import Home, described
from hooke.cluster.retrying import repeated
from hooke.errors import HookeError, NotFound
from hooke.spec.fetching import (
    COMPLETE,
    MOST_COMPLETE,
    PIECE_BYTES,
    FetchBegin,
    FetchEnd,
    FetchOrder,
    FetchStored,
)

SHARE = 0.01
"""Share of one core that this takes while runs are active."""
LONGEST_PAUSE = 5.0
"""Longest pause between two pieces, s."""
LOOK_SECONDS = 5.0
"""Interval between two looks for active runs, s."""
_LINKS = (errno.ELOOP, errno.ENOTDIR)
"""What opening a link says under O_NOFOLLOW, of a file and of a folder."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_busy: set[str] = set()
_mutex = threading.Lock()
_turn = threading.Lock()
_log = logging.getLogger(__name__)


class TakesFiles(Protocol):
    """The part of the agent's client that this needs. Methods raise httpx.HTTPError, OSError or HookeError."""

    def fetch_begin(self, begin: FetchBegin) -> FetchStored:
        """Announce the files of a checkpoint; return what the API has of them."""

    def fetch_piece(self, fetch: str, name: str, start: int, piece: bytes) -> FetchStored:
        """Send a piece of a file; return what the API has now."""

    def fetch_end(self, end: FetchEnd) -> None:
        """Report that all was sent, or why it was not."""


def start(home: Home, order: FetchOrder, client: TakesFiles) -> threading.Thread | None:
    """Send a checkpoint in a thread of its own, after those of earlier orders; a repeated order does nothing.

    If the agent ends, the API sends the order again, and what it has is not sent twice.
    """
    with _mutex:
        if order.id in _busy:
            return None
        _busy.add(order.id)
    thread = threading.Thread(target=_run, args=(home, order, client), name=f"fetch {order.id}", daemon=True)
    thread.start()
    return thread


def _run(home: Home, order: FetchOrder, client: TakesFiles) -> None:
    try:
        with _turn:
            send(home, order, client)
    except HookeError as error:  # it was cancelled, or this agent was replaced
        _log.warning("checkpoint %s of run %s is not sent: %s", order.samples, order.run, error)
    except Exception:  # whatever it is, the log must have it; the API ends what it does not hear of
        _log.exception("checkpoint %s of run %s is not sent", order.samples, order.run)
    finally:
        with _mutex:
            _busy.discard(order.id)


def send(home: Home, order: FetchOrder, client: TakesFiles) -> None:
    """Send a checkpoint, or say why it cannot be sent. Raises HookeError if the API refuses it."""
    with ExitStack() as stack:
        try:
            complete, files = stack.enter_context(opened(home, order))
        except (OSError, NotFound) as error:
            why = f"on {os.uname().nodename}: {described(error) if isinstance(error, OSError) else error}"[:2000]
            repeated(partial(client.fetch_end, FetchEnd(id=order.id, why=why)), "the report of a checkpoint")
            return
        begin = partial(client.fetch_begin, FetchBegin(id=order.id, complete=complete))
        known = repeated(begin, f"the announcement of checkpoint {order.samples} of run {order.run}")
        pace = _Pace(home)
        for name, file in files.items():
            while known is not None and (piece := _piece(file, at := known.stored[name])):
                pace.pause()
                known = repeated(partial(client.fetch_piece, order.id, name, at, piece), f"a piece of {name}")
        if known is not None:
            repeated(partial(client.fetch_end, FetchEnd(id=order.id)), "the end of a checkpoint")


def _piece(file: BinaryIO, start: int) -> bytes:
    file.seek(start)
    return file.read(PIECE_BYTES)


@contextmanager
def opened(home: Home, order: FetchOrder) -> Iterator[tuple[str, dict[str, BinaryIO]]]:
    """Yield the content of COMPLETE and all files of a checkpoint, open. Raises OSError, NotFound with a sentence.

    The names of the folders come from numbers and a run's id, and none of them may be a link.
    """
    attempt = home.attempt(order.run, order.attempt)  # raises NotFound for a name that would leave the home
    with ExitStack() as stack:

        def folder(name: str, inside: int | None) -> int:
            found = os.open(name, _FOLDER if inside is not None else _FOLDER & ~os.O_NOFOLLOW, dir_fd=inside)
            stack.callback(os.close, found)
            return found

        try:
            place = folder(str(home.path), None)
            for name in attempt.path.relative_to(home.path).parts:
                place = folder(name, place)
            with suppress(FileNotFoundError):  # only where ranks run under another account
                place = folder(RANKS, place)
            owner = os.fstat(place).st_uid
            place = folder(str(order.samples), folder("checkpoints", place))
            complete = stack.enter_context(_plain(COMPLETE, place, owner)).read(MOST_COMPLETE).decode()
            if json.loads(complete)["ranks"] != len(order.files):
                raise NotFound(f"the checkpoint is not one of {len(order.files)} ranks")
            files = {each.name: stack.enter_context(_plain(each.name, place, owner)) for each in order.files}
        except FileNotFoundError:
            raise NotFound(
                f"checkpoint {order.samples} of attempt {order.attempt} is not there: an attempt keeps its newest "
                "two"
            ) from None
        except OSError as error:
            if error.errno in _LINKS:
                raise NotFound(f"{error.filename} is a link or not a folder: links are not followed") from None
            raise
        except (ValueError, KeyError, TypeError):
            raise NotFound(f"{COMPLETE} of the checkpoint is not what Hooke writes") from None
        for each in order.files:
            if (size := os.fstat(files[each.name].fileno()).st_size) != each.size:
                raise NotFound(f"{each.name} has {size:,} bytes, and its rank wrote {each.size:,}")
        yield complete, files


def _plain(name: str, folder: int, owner: int) -> BinaryIO:
    """Open a plain file of the account of the ranks, or of this one. Raises OSError; PermissionError of others."""
    descriptor = os.open(name, _FILE, dir_fd=folder)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_uid not in (owner, os.geteuid()):
        os.close(descriptor)
        raise PermissionError(errno.EPERM, "this is not a plain file of the account of the ranks", name)
    return os.fdopen(descriptor, "rb")


class _Pace:
    """Leaves the cores to the runs."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._used = time.thread_time()
        self._look_at, self._active = 0.0, False

    def pause(self) -> None:
        """Pause for as long as the time that was used since the last call asks for; not at all without a run."""
        used, self._used = time.thread_time() - self._used, time.thread_time()
        if time.monotonic() >= self._look_at:
            self._active = active(self._home)
            self._look_at = time.monotonic() + LOOK_SECONDS
        if self._active:
            time.sleep(min(LONGEST_PAUSE, used * (1 / SHARE - 1)))


def active(home: Home) -> bool:
    """Return whether a supervisor of this home is at work."""
    for folder in home.jobs():
        if folder.delivered.exists():
            continue
        with suppress(OSError, ValueError):
            job = Job.model_validate_json(folder.description.read_text())
            if any(held(home.attempt(order.run, order.attempt).lock) for order in job.orders):
                return True
    return False
