"""The keeper of processes and the lock of a folder, with real processes that are easy to look through."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hooke.cluster.processes import start_time
from hooke_api.local.instance import DEFAULT_PORT, Instance, Note, StartError, bindable, runtime_folder
from hooke_api.local.keeper import Keeper, KeptProcess, end_left_over

from tests.waiting import LIMIT, wait_for, wait_for_async

SLEEPER = "import time; print('up', flush=True); time.sleep(60)"
STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
)


def part(folder: Path, program: str, name: str = "part") -> KeptProcess:
    return KeptProcess(name, (sys.executable, "-c", program), dict(os.environ), folder / f"{name}.log")


class Record:
    def __init__(self):
        self.pids = []
        self.said = []

    def keeper(self, which: KeptProcess) -> Keeper:
        return Keeper(which, lambda _, pid: self.pids.append(pid), self.said.append)


def up(keeper: Keeper):
    return lambda: keeper.tail() == "up"


def test_a_killed_part_is_started_again_and_the_user_is_told(tmp_path):
    async def scene():
        record = Record()
        keeper = record.keeper(part(tmp_path, SLEEPER))
        await keeper.start()
        os.kill(record.pids[0], signal.SIGKILL)
        await wait_for_async(lambda: len(record.pids) == 2, "the second start")
        assert keeper.alive
        assert "part was killed by SIGKILL" in record.said[0]
        await keeper.stop()
        assert [start_time(pid) for pid in record.pids] == [None, None]

    asyncio.run(scene())


def test_the_pauses_between_starts_grow(tmp_path):
    async def scene():
        record = Record()
        keeper = record.keeper(part(tmp_path, "raise SystemExit(7)"))
        await keeper.start()
        await wait_for_async(lambda: len(record.said) == 3, "three ends")
        assert ["0.5 s" in record.said[0], "1 s" in record.said[1], "2 s" in record.said[2]] == [True] * 3
        assert "ended with status 7" in record.said[0]
        assert keeper.ends == 3
        await keeper.stop()
        assert asyncio.all_tasks() == {asyncio.current_task()}, "nobody is left who would start it"
        assert [start_time(pid) for pid in record.pids] == [None] * len(record.pids)

    asyncio.run(scene())


def test_a_part_that_ignores_sigterm_is_killed(tmp_path):
    async def scene():
        record = Record()
        keeper = record.keeper(part(tmp_path, STUBBORN))
        await keeper.start()
        await wait_for_async(up(keeper), "the part")
        begin = time.monotonic()
        await keeper.stop(grace=0.3)
        assert time.monotonic() - begin >= 0.3
        assert start_time(record.pids[0]) is None

    asyncio.run(scene())


def test_parts_die_with_their_killed_keeper(tmp_path):
    program = f"""
import asyncio, sys
from pathlib import Path
sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[2])]!r}
from test_keeper import Record, part, SLEEPER
async def main():
    record = Record()
    await record.keeper(part(Path({str(tmp_path)!r}), SLEEPER)).start()
    print(record.pids[0], flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as keeper:
        pid = int(keeper.stdout.readline())
        wait_for(lambda: (tmp_path / "part.log").read_text() == "up\n", "the part")
        keeper.kill()
    wait_for(lambda: start_time(pid) is None, "the end of the part")


def test_what_a_killed_start_left_is_ended_and_nothing_else():
    with subprocess.Popen([sys.executable, "-c", SLEEPER]) as ours, subprocess.Popen(["sleep", "60"]) as other:
        try:
            parts = {"api": (ours.pid, start_time(ours.pid)), "agent": (other.pid, start_time(other.pid) - 1)}
            assert end_left_over(parts) == ["api"]
            assert ours.wait(LIMIT) == -signal.SIGTERM
            assert other.poll() is None, "same pid, other start time: another process"
        finally:
            other.kill()


def test_a_folder_belongs_to_one_instance_at_a_time(tmp_path):
    first = Instance(tmp_path / "home")
    Note("http://127.0.0.1:7777", 7777).write(first.note_path)
    with pytest.raises(StartError, match=r"already runs at http://127\.0\.0\.1:7777 .*--home"):
        Instance(tmp_path / "home")
    first.close()
    Instance(tmp_path / "home").close()


def test_ports_are_not_given_twice(tmp_path):
    first, second = Instance(tmp_path / "a"), Instance(tmp_path / "b")
    try:
        first.choose_port("127.0.0.1", None)
        note = second.choose_port("127.0.0.1", None)
        assert first.port >= DEFAULT_PORT
        assert second.port not in (first.port, DEFAULT_PORT)
        assert note is not None
        assert str(second.port) in note
        with pytest.raises(StartError, match="--port"):
            second.choose_port("127.0.0.1", first.port)
    finally:
        first.close()
        second.close()
    wait_for(lambda: bindable("127.0.0.1", first.port), "the port, which another test may have taken by now")


def test_the_next_start_takes_the_port_of_the_previous_one(tmp_path, free_port):
    Instance(tmp_path / "a").close()
    Note("", free_port).write(tmp_path / "a" / "up.json")
    again = Instance(tmp_path / "a")
    assert again.choose_port("127.0.0.1", None) is None
    assert again.port == free_port
    again.close()


def test_the_socket_has_a_short_path_under_any_home(tmp_path, monkeypatch):
    long = tmp_path / ("x" * 120)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    monkeypatch.setattr("tempfile.tempdir", str(long))
    instance = Instance(long)
    try:
        assert len(str(instance.socket)) < 100
        assert instance.runtime.stat().st_mode & 0o777 == 0o700
        assert instance.runtime != runtime_folder(tmp_path)
    finally:
        instance.close()
    assert not instance.runtime.exists()


def test_the_socket_is_where_it_stays_when_its_user_signs_out(tmp_path, monkeypatch):
    """The system removes XDG_RUNTIME_DIR then; `hooke up` may go on, in tmux for example."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    (tmp_path / "run").mkdir()
    assert not runtime_folder(tmp_path).is_relative_to(tmp_path / "run")


def test_a_folder_that_others_can_enter_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / f"hooke-{os.getuid()}").mkdir(mode=0o755)
    if len(str(runtime_folder(tmp_path))) > 100 or not str(runtime_folder(tmp_path)).startswith(str(tmp_path)):
        pytest.fail(f"{tmp_path} is too long for this test")
    with pytest.raises(StartError, match="only this user can enter"):
        Instance(tmp_path / "home")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"url": 1, "port": "x", "parts": {}}', '{"parts": []}'])
def test_a_note_that_cannot_be_read_is_no_note(tmp_path, text):
    (tmp_path / "up.json").write_text(text)
    assert Note.read(tmp_path / "up.json") == Note()
