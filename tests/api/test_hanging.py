"""A thread that hangs, and an event loop that stands still: the process says so, ends, and is started again."""

import asyncio
import os
import signal
import subprocess
import sys
import time

import httpx
import pytest
from hooke_api.local.keeper import Keeper, KeptProcess

from tests.api.test_process import migrated, socket  # fixtures count where they are imported
from tests.waiting import LIMIT, free_port

__all__ = ["migrated", "socket"]
pytestmark = pytest.mark.needs("redis")

HANGS = """
import os, sys, time
from pathlib import Path

from hooke_api import __main__
from hooke_api.experiments.purging import Purger

starts = Path(sys.argv[1])
number = len(starts.read_text()) if starts.exists() else 0
starts.write_text("x" * (number + 1))
if number == 0:
    Purger.look = lambda self: time.sleep(1000)
else:
    del os.environ["HOOKE_HANG_SECONDS"]  # a loaded machine may need longer for its start
__main__.main()
"""
STANDS_STILL = """
import asyncio, time

from hooke_api.base.workers import Workers

async def life():
    found = Workers(0.3)
    found.guard()
    watching = asyncio.create_task(found.watch())
    await asyncio.sleep(1)
    print("works", flush=True)
    time.sleep(1000)

asyncio.run(life())
"""

STOPPED = """
import asyncio

from hooke_api.base.workers import Repeating, Workers

class Quick(Repeating):
    def look(self):
        pass

async def life():
    found = Workers(1)
    found.guard()
    found.add("quick", lambda: Quick("quick", 0.1))
    watching = asyncio.create_task(found.watch())
    await asyncio.sleep(0.5)
    print("works", flush=True)
    await asyncio.sleep(1)
    await asyncio.sleep(0.5)
    print("goes on")

asyncio.run(life())
"""


def test_a_process_whose_event_loop_stands_still_ends_and_says_where():
    done = subprocess.run(
        [sys.executable, "-c", STANDS_STILL], capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert (done.returncode, done.stdout) == (1, "works\n")
    assert "Timeout (0:00:00.300000)!" in done.stderr and "in life" in done.stderr


def test_code_that_never_lets_go_of_the_interpreter_is_ended_and_said_where():
    code = STANDS_STILL.replace("time.sleep(1000)", "re.match(r'(a+)+$', 'a' * 60 + 'b')")
    done = subprocess.run(
        [sys.executable, "-c", "import re" + code], capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert (done.returncode, done.stdout) == (-signal.SIGPROF, "works\n")
    assert "in life" in done.stderr


def test_a_process_that_was_stopped_goes_on():
    """Neither it nor its threads had time for a sign of life; of no thread it is said that it hangs."""
    process = subprocess.Popen([sys.executable, "-c", STOPPED], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "works\n"
        process.send_signal(signal.SIGSTOP)
        time.sleep(2)
        process.send_signal(signal.SIGCONT)
        assert process.communicate("", LIMIT)[0] == "goes on\n"
        assert process.returncode == 0
    finally:
        process.kill()
        process.wait()


ENDED_BY_SIGNALS = """
import signal, time

from hooke_api.base.watchdog import Watchdog

dog = Watchdog(60)
dog.start()
signal.signal(signal.SIGALRM, lambda *_: dog.end())
signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
until = time.monotonic() + 0.3
while time.monotonic() < until:
    for _ in range(100):
        dog.end()
signal.setitimer(signal.ITIMER_REAL, 0)
print("goes on")
"""


def test_a_signal_may_end_watching_while_watching_is_ended():
    """As SIGINT of a terminal and SIGTERM of the keeper arrive together."""
    done = subprocess.run([sys.executable, "-c", ENDED_BY_SIGNALS], capture_output=True, timeout=LIMIT, check=True)
    assert done.stdout == b"goes on\n"


def test_a_process_that_hangs_says_so_ends_and_is_started_again(tmp_path, socket):
    port, starts = free_port(), tmp_path / "starts"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOOKE_")}
    own = {
        "HOME": tmp_path,
        "REDIS_URL": f"unix://{socket}",
        "PORT": port,
        "HANG_SECONDS": 3,
        "PURGE_SECONDS": 0.1,
    }
    environment = kept | {f"HOOKE_{name}": str(value) for name, value in own.items()}
    command = (sys.executable, "-c", HANGS, str(starts))
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
            await ready(lambda answer: answer.status_code == 200 and starts.read_text() == "xx")
        finally:
            await keeper.stop()

    asyncio.run(life())
    assert [line.split(";")[0] for line in told] == ["api ended with status 1"]
    log = (tmp_path / "api.log").read_text()
    assert log.count("Timeout (0:00:03)!") == 1, "where each thread was"
    assert "a thread hangs" in log
