"""How an API process ends: in order, and in the seconds that it has, whatever waits or has failed."""

import asyncio
import faulthandler
import signal
import threading

from hooke_api.__main__ import Server
from hooke_api.app import create_app
from hooke_api.base.workers import Workers
from uvicorn import Config

from tests.api.databases import ONE_KIND
from tests.waiting import LIMIT


class Meets:
    """A thread's end that takes until those of the others have begun."""

    def __init__(self, barrier: threading.Barrier) -> None:
        self.barrier = barrier

    def start(self) -> None:
        pass

    def stop(self) -> None:
        self.barrier.wait(LIMIT / 4)


def test_threads_end_at_the_same_time():
    """Seven that wait five seconds each for a database that is away would be ended by force after twelve."""
    barrier, workers = threading.Barrier(3), Workers()
    for name in ("a", "b", "c"):
        workers.add(name, lambda: Meets(barrier))
    workers.stop()
    assert not barrier.broken


@ONE_KIND
def test_what_has_failed_meanwhile_is_told_and_keeps_back_no_end(settings, capsys):
    app, ended = create_app(settings.model_copy(update={"log_level": "error"})), []

    async def fail() -> None:
        raise OSError("the certificates cannot be read")

    app.state.single_sign_on.start = fail
    app.state.workers.stop = lambda: ended.append("threads")
    app.state.bus.close = lambda: ended.append("notifications")

    async def life() -> None:
        async with app.router.lifespan_context(app):
            await asyncio.sleep(0.01)
            told.append(capsys.readouterr().err)

    told: list[str] = []
    asyncio.run(life())
    assert ended == ["threads", "notifications"]
    assert "a task has failed" in told[0] and "the certificates cannot be read" in told[0]


@ONE_KIND
def test_threads_end_although_all_of_the_event_loop_wait_for_something(settings):
    app, ended, free = create_app(settings), [], threading.Event()
    app.state.workers.stop = lambda: (ended.append("threads"), free.set())

    async def life() -> None:
        async with app.router.lifespan_context(app):
            for _ in range(40):  # more than it has
                waiting.append(asyncio.ensure_future(asyncio.to_thread(free.wait, LIMIT / 4)))
            await asyncio.sleep(0.01)
        assert all(await asyncio.gather(*waiting)), "the end waited for them"

    waiting: list[asyncio.Future[bool]] = []
    asyncio.run(life())
    assert ended == ["threads"]


def test_a_second_signal_does_not_put_the_end_off(monkeypatch):
    """Who presses Ctrl-C again and again would have kept a process that hangs alive."""
    set_to = []
    monkeypatch.setattr(faulthandler, "dump_traceback_later", lambda seconds, exit: set_to.append((seconds, exit)))
    server = Server(Config(lambda: None), asyncio.Event(), last=7.0)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
        server.handle_exit(number, None)
    assert set_to == [(7.0, True)]
