"""Locks, logs, launch commands and /proc: the small parts that everything stands on."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hooke.cluster import tail
from hooke.cluster.launchers.base import Launch, transport
from hooke.cluster.launchers.local import LocalLauncher, mpirun
from hooke.cluster.lock import Lock, held, holder
from hooke.cluster.places import Home, write_atomically
from hooke.cluster.processes import members, status, sweep
from hooke.cluster.tail import LogBook, OutputSource, last_lines, logged
from hooke.errors import LaunchError, NotFound

from tests.cluster.bench import kill9
from tests.waiting import wait_for

HOLD = """
import sys, time
from pathlib import Path
from hooke.cluster.lock import Lock
lock = Lock.acquire(Path(sys.argv[1]))
print(lock is not None, flush=True)
time.sleep(60)
"""
LOOK = """
import sys
from pathlib import Path
from hooke.cluster.lock import held
while True:
    held(Path(sys.argv[1]))
"""
FAMILY = """
import os, time
for _ in range(3):
    os.fork()
if os.getpid() != os.getpgid(0):
    os.setsid()
time.sleep(600)
"""


@pytest.fixture
def owner(tmp_path):
    """Return (lock file, a process that holds it)."""
    path = tmp_path / "supervisor.lock"
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"True\n"
    yield path, process
    process.kill()
    process.communicate()


def test_a_lock_has_one_holder_and_dies_with_it(owner):
    path, process = owner
    assert Lock.acquire(path) is None
    assert held(path)
    assert holder(path) == process.pid
    kill9(process.pid)
    process.wait()
    assert not held(path)
    assert holder(path) is None
    lock = Lock.acquire(path)
    assert lock is not None
    lock.release()
    assert not held(path)


def test_looking_at_a_lock_does_not_keep_a_supervisor_from_taking_it(tmp_path):
    path = tmp_path / "supervisor.lock"
    path.touch()
    process = subprocess.Popen([sys.executable, "-c", LOOK, str(path)])
    try:
        for _ in range(30):
            lock = Lock.acquire(path)
            assert lock is not None
            lock.release()
    finally:
        process.kill()
        process.wait()


def test_a_lock_that_never_was_is_free(tmp_path):
    assert not held(tmp_path / "none")
    assert holder(tmp_path / "none") is None


def test_sweep_kills_a_family_that_left_its_session(tmp_path):
    environment = os.environ | {"HOOKE_ATTEMPT": f"other.1,run_{os.getpid()}.1"}
    family = subprocess.Popen([sys.executable, "-c", FAMILY], env=environment)
    mine = [f"run_{os.getpid()}.1"]
    wait_for(lambda: len(members(mine)) == 8, "eight processes")
    assert members([f"run_{os.getpid()}.11"]) == []
    assert sweep(mine) == []
    assert members(mine) == []
    family.poll()


def test_status_of_an_odd_name_and_of_nobody(tmp_path):
    odd = tmp_path / "a) R 1 (b"
    odd.symlink_to("/bin/sleep")
    process = subprocess.Popen([str(odd), "60"])
    try:
        found = wait_for(lambda: (s := status(process.pid)) and s.name.startswith("a)") and s, "the program")
        assert found.parent == os.getpid()
        assert found.state in "RSD"
    finally:
        process.kill()
        process.wait()
    assert status(999999999) is None


def test_names_that_would_leave_the_home_are_refused(tmp_path):
    home = Home(tmp_path)
    for name in ("../x", "a/b", "", ".", "..", ".hidden", "a" * 200, "a\n"):
        with pytest.raises(NotFound):
            home.attempt(name, 1)
        with pytest.raises(NotFound):
            home.job(name)
    with pytest.raises(NotFound):
        home.attempt("run_a", 0)


def test_an_atomic_write_has_its_mode_from_the_start_and_leaves_no_draft(tmp_path):
    write_atomically(tmp_path / "tokens.json", "secret", 0o600)
    assert [p.name for p in tmp_path.iterdir()] == ["tokens.json"]
    assert (tmp_path / "tokens.json").stat().st_mode & 0o777 == 0o600


def source(path, rank=0):
    return OutputSource(path, rank, "stdout")


def read(src, book, last=False):
    for text, offset in src.read(last):
        book.add(src, text, offset)


def texts(book):
    return [logged(line).text for line in book.path.read_text().splitlines()]


def test_lines_are_numbered_once_across_a_restart(tmp_path):
    path, book = tmp_path / "rank.0.log", LogBook(tmp_path / "log.jsonl")
    path.write_text("one\ntwo\nhal")
    read(src := source(path), book)
    path.write_text("one\ntwo\nhalf\n")
    with book.path.open("a") as file:
        file.write('{"source": "torn by a kill')
    book = LogBook(book.path)
    src = source(path)
    src.offset = book.offsets[src.name]
    read(src, book)
    assert texts(book) == ["one", "two", "half"]
    assert [logged(line).seq for line in book.path.read_text().splitlines()] == [0, 1, 2]


def test_the_last_unfinished_line_is_read_at_the_end(tmp_path):
    path, book = tmp_path / "rank.0.log", LogBook(tmp_path / "log.jsonl")
    path.write_bytes(b"one\r\nSegmentation fault \xff\0")
    src = source(path)
    read(src, book)
    read(src, book, last=True)
    assert texts(book) == ["one", "Segmentation fault \ufffd\ufffd"]


def test_long_lines_are_capped_and_floods_skipped(tmp_path, monkeypatch):
    monkeypatch.setattr(tail, "BACKLOG", 100_000)
    monkeypatch.setattr(tail, "PER_LOOK", 20_000)
    path, book = tmp_path / "rank.0.log", LogBook(tmp_path / "log.jsonl")
    path.write_text("x" * 50_000 + "\n")
    src = source(path)
    for _ in range(4):
        read(src, book)
    assert {len(text) for text in texts(book)} == {8192}
    path.write_text("y\n" * 200_000)
    read(src, book)
    assert any("bytes of output not shipped" in text for text in texts(book))
    with path.open("a") as file:
        file.write("z\n" * 40_000 + "last words")
    read(src, book, last=True)
    assert texts(book)[-1] == "last words"


def test_a_source_that_is_not_there_yet_is_empty(tmp_path):
    assert list(source(tmp_path / "none").read()) == []
    assert last_lines(tmp_path / "none", 3) == []


def launch(**more):
    return Launch(**{"world": "mpi", "ranks": 3, "folders": (Path("/a"),), "ids": ("run_a.1",), **more})


def test_an_mpi_launch_is_mpirun_over_guards():
    command = LocalLauncher().command(launch())
    assert command[:3] == [mpirun(), "-n", "3"]
    assert command[3:] == [
        *(sys.executable, "-m", "hooke.cluster.guard", "/a", "--"),
        *(sys.executable, "-m", "mpi4py", "-m", "hooke.loop.train", "/a"),
    ]


def test_a_virtual_launch_is_one_guarded_process_for_all_folders():
    command = LocalLauncher().command(
        launch(world="virtual", folders=(Path("/a"), Path("/b")), ids=("a.1", "b.1"))
    )
    assert command[:5] == [sys.executable, "-m", "hooke.cluster.guard", "/a", "/b"]
    assert command[-2:] == ["/a", "/b"]


def test_the_environment_keeps_the_users_and_drops_secrets_and_a_surrounding_mpi():
    inherited = {
        "PATH": "/bin",
        "HOOKE_DATA": "data",
        "HOOKE_REDIS_URL": "redis://:secret@x",
        "HOOKE_TOKEN": "secret",
        "PMI_RANK": "5",
    }
    found = LocalLauncher().environment(launch(ids=("a.1", "b.2")), inherited)
    assert found["PATH"] == "/bin"
    assert found["HOOKE_ATTEMPT"] == "a.1,b.2"
    assert found["HOOKE_DATA"] == str(Path("data").absolute())
    assert found["OMP_NUM_THREADS"] == found["PYTHONUNBUFFERED"] == "1"
    assert found["UCX_LOG_LEVEL"] == "error"
    assert not {"HOOKE_REDIS_URL", "HOOKE_TOKEN", "PMI_RANK"} & set(found)


def test_the_way_to_other_hosts_is_chosen_where_nobody_has_and_there_is_only_tcp(tmp_path):
    none, present = tmp_path / "absent", tmp_path / "present"
    (present / "mlx5_0").mkdir(parents=True)
    chosen = {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"}
    assert transport({"UCX_LOG_LEVEL": "error"}, none) == transport({}, tmp_path / "present" / "mlx5_0") == chosen
    assert transport({}, present) == {}, "MPICH finds a fast network by itself"
    for users_own in ("MPIR_CVAR_CH4_NETMOD", "FI_PROVIDER", "UCX_TLS", "UCX_NET_DEVICES"):
        assert transport({users_own: "theirs"}, none) == {}


def test_no_mpirun_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LaunchError, match="mpich wheel"):
        mpirun()


def test_a_book_is_json_lines_that_hold_the_contract(tmp_path):
    book = LogBook(tmp_path / "log.jsonl")
    book.say("asked to end")
    line = json.loads(book.path.read_text())["line"]
    assert (line["rank"], line["stream"], line["seq"]) == (-1, "supervisor", 0)
