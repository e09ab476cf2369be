"""Run the API: `python -m hooke_api`; HOOKE_* variables configure it."""

from __future__ import annotations

import gc

if __name__ == "__main__":
    gc.disable()  # until the application is made

import asyncio
import faulthandler
import signal
import socket
import sys
from contextlib import suppress
from types import FrameType

if __name__ == "__main__":
    sys.modules["rich"] = None  # type: ignore[assignment]  # structlog loads it for colors, if it can: 4 MB

import uvicorn
from hooke.errors import ArgumentError, HookeError
from sqlalchemy.exc import SQLAlchemyError

from hooke_api.app import create_app
from hooke_api.base import memory
from hooke_api.base.read_settings import create_home, read_settings
from hooke_api.base.settings import Settings
from hooke_api.base.workers import Workers
from hooke_api.storage import revisions
from hooke_api.storage.database import Database
from hooke_api.web.connections import limited

GRACE_SECONDS = 3
"""Seconds that requests may continue after the signal to end; streams end at once, by `app.state.stopping`."""
SWITCH_SECONDS = 0.001
"""How long a thread computes while another one waits, s: every request goes to a thread and back."""
_LAST_SECONDS = 12
"""Seconds from the signal until a hanging process is ended by a watchdog that needs no Python lock."""


class Server(uvicorn.Server):
    """Uvicorn that ends open streams before it waits for requests; otherwise Ctrl-C would hang on them."""

    def __init__(
        self,
        config: uvicorn.Config,
        stopping: asyncio.Event,
        last: float | None = None,
        workers: Workers | None = None,
    ) -> None:
        """`last`: seconds from the signal until this process is ended; None if it has other tasks (tests).

        `workers`: its threads; it ends when one of them hangs.
        """
        super().__init__(config)
        self._stopping = stopping
        self._workers = workers
        self._last = last
        if workers is not None:
            workers.guard()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Store the loop, which a signal handler needs to set an event."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Handle a signal: end streams, then the server."""
        if self._workers is not None:
            self._workers.unguard()
        if self._last is not None and not self.should_exit:  # a second signal does not put the end off
            faulthandler.dump_traceback_later(self._last, exit=True)  # logs where it hangs
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
        super().handle_exit(sig, frame)


def make_server(settings: Settings, last: float | None = None) -> Server:
    """Return the server for these settings, ready to `run()`; `last`: see `Server`."""
    app = create_app(settings)
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        access_log=False,  # the login address contains the token
        log_level=settings.log_level,
        http=limited(settings),
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    for route in app.routes:  # FastAPI makes what they need when they are first compared with an address
        route.matches({"type": "http", "method": "GET", "path": "/", "root_path": "", "headers": []})
    return Server(config, app.state.stopping, last, app.state.workers if last is not None else None)


def shared_socket(settings: Settings) -> socket.socket:
    """Return a socket on the address of these settings that other processes of this user may share.

    Raises ArgumentError if a program that does not share it listens there.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.bind((settings.host, settings.port))
    except OSError as error:
        made.close()
        raise ArgumentError(f"{settings.host}:{settings.port} cannot be shared: {error.strerror}") from None
    return made


def _migrate(settings: Settings) -> None:
    """Migrate in another process if that is needed, and can be found out; the application looks again.

    Raises ArgumentError if the database cannot be where it should.
    """
    with suppress(SQLAlchemyError, OSError):
        database = Database(settings.url)
        if why := database.file.fault():
            raise ArgumentError(why)
        try:
            if database.pending(settings.migrations) is not None:
                revisions.migrate_apart()
        finally:
            database.close()


def main() -> None:
    """Run until SIGINT or SIGTERM; exit with a sentence if a setting is wrong."""
    faulthandler.enable()  # its keeper sends SIGABRT to a process that hangs: the log says where
    memory.settle()
    sys.setswitchinterval(SWITCH_SECONDS)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with suppress(KeyboardInterrupt):  # uvicorn raises the signal again once it has shut down in order
        try:
            settings = read_settings()
            create_home(settings.home)
            _migrate(settings)
            server = make_server(settings, _LAST_SECONDS)
            gc.freeze()  # modules and the application stay to the end
            gc.enable()
            server.run([shared_socket(settings)] if settings.reuse_port else None)
        except HookeError as error:
            sys.exit(f"hooke_api: {error}")


if __name__ == "__main__":
    main()
