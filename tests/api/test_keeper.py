"""What the keeper of `hooke up` notices of a part: its end, and that it does not answer any more."""

import asyncio
import os
import shutil
import signal
import sys
from dataclasses import replace

from hooke_api.local import parts
from hooke_api.local.instance import Instance
from hooke_api.local.keeper import Keeper, KeptProcess, limit_log

from tests.waiting import LIMIT, free_port, wait_for_async

HANGS = """
import faulthandler, http.server, sys, time
faulthandler.enable()

class Answers(http.server.BaseHTTPRequestHandler):
    answered = 0

    def do_GET(self):
        Answers.answered += 1
        if Answers.answered > 2:
            time.sleep(1000)
        self.send_response(204)
        self.end_headers()

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Answers).serve_forever()
"""


def test_a_part_that_hangs_is_ended_and_starts_again(tmp_path):
    port, said, pids = free_port(), [], []
    command = (sys.executable, "-c", HANGS, str(port))
    part = KeptProcess("api", command, {}, tmp_path / "log", f"http://127.0.0.1:{port}/livez", hangs_after=3.0)

    async def keep() -> None:
        keeper = Keeper(part, lambda name, pid: pids.append(pid), said.append)
        await keeper.start()
        try:
            await wait_for_async(lambda: len(pids) == 2, "the second start")
        finally:
            await keeper.stop(1.0)

    asyncio.run(keep())
    assert "api has not answered for" in said[0]
    assert "was killed by SIGABRT" in said[1]
    assert "in do_GET" in (tmp_path / "log").read_text()  # the log says where it was


def test_a_part_that_a_signal_has_stopped_is_left_alone_and_goes_on(tmp_path):
    port, said, pids = free_port(), [], []
    command = (sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", str(tmp_path))
    part = KeptProcess("api", command, {}, tmp_path / "log", f"http://127.0.0.1:{port}/livez", hangs_after=3.0)

    async def keep() -> None:
        keeper = Keeper(part, lambda name, pid: pids.append(pid), said.append)
        await keeper.start()
        try:
            await wait_for_async(lambda: "GET /livez" in part.log.read_text(), "an answered probe")
            os.kill(pids[0], signal.SIGSTOP)
            await wait_for_async(lambda: said, "the keeper to notice")
            assert said == [f"api is stopped by a signal, {STOPPED} kill -CONT {pids[0]}"]
            await asyncio.sleep(6.5)  # more than twice as long as it may hang
            assert (keeper.alive, len(pids), len(said)) == (True, 1, 1)
            os.kill(pids[0], signal.SIGCONT)
            await wait_for_async(lambda: len(said) == 2, "the keeper to notice that it goes on")
            await asyncio.sleep(3.2)
            assert (pids, said[1:]) == (pids[:1], ["api goes on"])
            os.kill(pids[0], signal.SIGSTOP)
        finally:
            await keeper.stop(LIMIT)  # also one that is stopped ends in order
        assert keeper._process.returncode == -signal.SIGTERM

    asyncio.run(keep())


STOPPED = "as by `kill -STOP`, and answers nobody; it is left alone until it goes on:"


def test_a_part_that_has_not_answered_yet_is_left_alone(tmp_path):
    """It may be migrating its database for as long as it needs."""
    said = []
    command = (sys.executable, "-c", "import time; time.sleep(1000)")
    url = f"http://127.0.0.1:{free_port()}/livez"
    part = KeptProcess("api", command, {}, tmp_path / "log", url, hangs_after=0.1)

    async def keep() -> None:
        keeper = Keeper(part, lambda name, pid: None, said.append)
        await keeper.start()
        await asyncio.sleep(0.5)  # five times what it may be silent later
        assert keeper.alive
        await keeper.stop(1.0)

    asyncio.run(keep())
    assert said == []


def test_a_part_whose_socket_is_gone_starts_again_with_its_folder(tmp_path):
    """The system removes $XDG_RUNTIME_DIR when its user signs out: nobody could reach Redis any more."""
    place, said, pids = tmp_path / "runtime" / "redis.sock", [], []
    command = (sys.executable, "-c", LISTENS, str(place))
    part = KeptProcess("redis", command, {}, tmp_path / "log", hangs_after=0.6)
    part = replace(part, prepare=place.parent.mkdir, socket=place)

    async def keep() -> None:
        keeper = Keeper(part, lambda name, pid: pids.append(pid), said.append)
        await keeper.start()
        try:
            await wait_for_async(place.exists, "the socket")
            await asyncio.sleep(0.7)
            assert len(pids) == 1, "it is left alone"
            shutil.rmtree(place.parent)
            await wait_for_async(lambda: len(pids) == 2 and place.exists(), "the second start")
        finally:
            await keeper.stop(1.0)

    asyncio.run(keep())
    assert said[0] == f"redis cannot be reached, as {place} was removed; it is stopped, and starts again"


LISTENS = """
import socket, sys, time
with socket.socket(socket.AF_UNIX) as listening:
    listening.bind(sys.argv[1])
    time.sleep(1000)
"""


def test_a_note_that_cannot_be_written_does_not_end_the_watch(tmp_path):
    said, starts = [], []

    def full(name: str, pid: int) -> None:
        starts.append(pid)
        raise OSError(28, "No space left on device")

    part = KeptProcess("api", (sys.executable, "-c", ""), {}, tmp_path / "log")

    async def keep() -> None:
        keeper = Keeper(part, full, said.append)
        await keeper.start()
        await wait_for_async(lambda: len(starts) == 2, "the second start")
        await keeper.stop(1.0)

    asyncio.run(keep())


def test_the_agent_gets_no_token_of_users_and_no_address_of_the_database(tmp_path, monkeypatch):
    """Its processes read and run users' code."""
    for name, value in (("TOKEN", "hunter2"), ("DATABASE_URL", "hunter2"), ("REDIS_URL", "redis://broker")):
        monkeypatch.setenv(f"HOOKE_{name}", value)
    instance = Instance(tmp_path / "home")
    try:
        agent, api = parts.agent(instance, "::").environment, parts.api(instance, "127.0.0.1").environment
    finally:
        instance.close()
    assert "hunter2" not in agent.values()
    assert (agent["HOOKE_REDIS_URL"], agent["HOOKE_HOME"]) == ("redis://broker", str(tmp_path / "home"))
    assert (api["HOOKE_TOKEN"], api["HOOKE_DATABASE_URL"]) == ("hunter2", "hunter2")


def test_a_log_that_has_grown_too_large_begins_anew_while_it_is_written(tmp_path):
    log = tmp_path / "api.log"
    with log.open("ab", buffering=0) as written:  # as a part does, through its standard output
        written.write(b"a" * 50)
        limit_log(log, most=50)
        written.write(b"b" * 10)
        limit_log(log, most=50)
        written.write(b"c" * 10)
    assert (tmp_path / "api.log.1").read_bytes() == b"a" * 50 + b"b" * 10
    assert log.read_bytes() == b"c" * 10
    limit_log(tmp_path / "absent.log")
