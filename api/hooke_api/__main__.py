"""Run the API: `python -m hooke_api`; HOOKE_* variables configure it."""

from __future__ import annotations

import asyncio
import faulthandler
import signal
import socket
from contextlib import suppress
from types import FrameType

import uvicorn

from hooke_api.app import create_app
from hooke_api.base.settings import Settings

GRACE_SECONDS = 3
"""How long requests may go on after the signal to end; streams end at once, by `app.state.stopping`."""
_LAST_SECONDS = 12
"""From the signal until an end that hangs is cut off, by a watchdog that needs no lock of Python's."""


class Server(uvicorn.Server):
    """Uvicorn that tells open streams to end before it waits for them: Ctrl-C would hang on them otherwise."""

    def __init__(self, config: uvicorn.Config, stopping: asyncio.Event, last: float | None = None) -> None:
        """`last`: seconds from the signal until this process is cut off; None where it is somebody else's."""
        super().__init__(config)
        self._stopping = stopping
        self._last = last
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Remember the loop: a signal handler may not touch an event otherwise."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take a signal: end streams, then the server."""
        if self._last is not None:
            faulthandler.dump_traceback_later(self._last, exit=True)  # says where it hangs
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
        super().handle_exit(sig, frame)


def make_server(settings: Settings, last: float | None = None) -> Server:
    """Return the server for these settings, ready to `run()`; `last` as `Server` says."""
    app = create_app(settings)
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        access_log=False,  # the login address holds the token
        log_level=settings.log_level,
        http="httptools",
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    return Server(config, app.state.stopping, last)


def main() -> None:
    """Run until SIGINT or SIGTERM."""
    settings = Settings()
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with suppress(KeyboardInterrupt):  # uvicorn raises the signal again once it has shut down in order
        make_server(settings, _LAST_SECONDS).run()


if __name__ == "__main__":
    main()
