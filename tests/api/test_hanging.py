"""A thread that hangs, and an event loop that stands still: the process says so, ends, and is started again."""

import asyncio
import os
import sys

import httpx
import pytest
from hooke_api.local.keeper import Keeper, KeptProcess

from tests.api.test_process import socket  # a fixture
from tests.waiting import LIMIT, free_port

__all__ = ["socket"]
pytestmark = pytest.mark.needs("redis")

PROGRAM = """
import asyncio, sys, threading, time
from pathlib import Path

from hooke_api import __main__
from hooke_api.experiments.purging import Purger
from hooke_api.web import health

starts = Path(sys.argv[1])
number = len(starts.read_text()) if starts.exists() else 0
starts.write_text("x" * (number + 1))
if number == 0:
    Purger.look = lambda self: time.sleep(1000)
if number == 1:
    threading.Timer(2, lambda: __main__.Server.running._loop.call_soon_threadsafe(time.sleep, 1000)).start()
make = __main__.make_server
def made(*given):
    __main__.Server.running = make(*given)
    return __main__.Server.running
__main__.make_server = made
__main__.main()
"""


def test_a_process_that_hangs_says_so_ends_and_is_started_again(tmp_path, socket):
    port, starts = free_port(), tmp_path / "starts"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOOKE_")}
    own = {
        "HOME": tmp_path,
        "REDIS_URL": f"unix://{socket}",
        "PORT": port,
        "HANG_SECONDS": 2,
        "PURGE_SECONDS": 0.1,
    }
    environment = kept | {f"HOOKE_{name}": str(value) for name, value in own.items()}
    command = (sys.executable, "-c", PROGRAM, str(starts))
    part = KeptProcess("api", command, environment, tmp_path / "api.log", f"http://127.0.0.1:{port}/livez")
    told: list[str] = []

    async def ready(until) -> None:
        async with httpx.AsyncClient(timeout=1) as client, asyncio.timeout(LIMIT):
            while True:
                try:
                    answer = await client.get(f"http://127.0.0.1:{port}/readyz")
                    if until(answer):
                        return
                except httpx.TransportError:
                    pass
                await asyncio.sleep(0.05)

    async def life() -> None:
        keeper = Keeper(part, lambda *_: None, told.append)
        await keeper.start()
        try:
            await ready(lambda answer: "the purger does not work: it has given no sign of life" in answer.text)
            await ready(lambda answer: answer.status_code == 200 and starts.read_text() == "xxx")
        finally:
            await keeper.stop()

    asyncio.run(life())
    assert [line.split(";")[0] for line in told] == ["api ended with status 1"] * 2
    log = (tmp_path / "api.log").read_text()
    assert log.count("Timeout (0:00:02)!") == 2, "where each thread was"
    assert "a thread hangs" in log
