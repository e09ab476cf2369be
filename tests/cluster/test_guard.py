"""The guard: what it records, passes on, and never leaves behind."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import psutil
import pytest
from hooke.cluster.guard import FORWARDED, ORPHANED, rank_of
from hooke.cluster.processes import start_time
from hooke.cluster.runner import remove_left
from hooke.cluster.verdict import Evidence, judge
from hooke.spec.events import RankExit

from tests.cluster.bench import kill9, only_child
from tests.waiting import LIMIT, wait_for


def guard(folders, *command, environment=None, **more):
    arguments = [sys.executable, "-m", "hooke.cluster.guard", *map(str, folders), "--", *command]
    return subprocess.Popen(arguments, env=os.environ | (environment or {}), **more)


def python(code):
    return sys.executable, "-c", code


def record(folder, rank=0):
    return RankExit.model_validate_json((folder / f"exit.{rank}.json").read_text())


@pytest.mark.parametrize("code", [0, 3, 255])
def test_it_ends_with_the_same_status_and_records_it(tmp_path, code):
    before = time.monotonic()
    assert guard([tmp_path], *python(f"import sys; sys.exit({code})")).wait(LIMIT) == code
    found = record(tmp_path)
    assert (found.code, found.signal, found.host) == (code, None, os.uname().nodename)
    assert before < found.monotonic < time.monotonic()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_it_ends_by_the_same_signal_and_records_it(tmp_path, number):
    process = guard([tmp_path], *python(f"import os; os.kill(os.getpid(), {int(number)})"))
    assert process.wait(LIMIT) == -number
    assert (record(tmp_path).code, record(tmp_path).signal) == (None, number)


def test_output_goes_to_the_log_of_the_first_folder_and_is_appended(tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    first.mkdir(), second.mkdir()
    for _ in range(2):
        code = "import os, sys; print(os.environ['HOOKE_RANK']); sys.stdout.flush(); print('oh', file=sys.stderr)"
        guard([first, second], *python(code), environment={"PMI_RANK": "2"}).wait(LIMIT)
    assert (first / "rank.2.log").read_text() == "2\noh\n" * 2
    assert [path.name for path in second.iterdir()] == ["exit.2.json"]
    assert record(first, 2) == record(second, 2)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_are_passed_on_and_the_end_is_the_childs_own(tmp_path, number):
    code = (
        "import signal, sys, time\n"
        f"signal.signal({int(number)}, lambda *_: sys.exit(5))\n"
        "print('ready', flush=True)\n"
        "time.sleep(30)"
    )
    process = guard([tmp_path], *python(code))
    log = tmp_path / "rank.0.log"
    wait_for(lambda: log.exists() and "ready" in log.read_text(), "the child")
    process.send_signal(number)
    assert process.wait(LIMIT) == 5
    assert record(tmp_path).code == 5


def test_a_signal_at_any_moment_of_the_start_is_not_lost(tmp_path):
    for delay in range(0, 60, 6):
        process = guard([tmp_path], "sleep", "30")
        time.sleep(delay / 1000)
        process.terminate()
        assert process.wait(LIMIT) == -signal.SIGTERM


ECHO = """
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGUSR1])
names = {signal.SIGINT: b"i", signal.SIGUSR1: b"u"}
os.write(1, b"-")
while True:
    os.write(1, names[signal.sigwait(names)])
"""


def test_of_two_signals_however_close_none_is_lost(tmp_path):
    """The second comes while the guard is busy with the first, or about to wait again, or waits."""
    (tmp_path / "rank.0.log").touch()
    process = guard([tmp_path], *python(ECHO))
    with (tmp_path / "rank.0.log").open() as log:
        wait_for(lambda: log.read() == "-", "the child")
        for round_ in range(2000):
            process.send_signal(signal.SIGUSR1)
            until = time.perf_counter() + round_ % 200 * 1e-6
            while time.perf_counter() < until:
                pass
            process.send_signal(signal.SIGINT)
            found = ""
            while len(found) < 2:
                found += log.read()
                assert time.perf_counter() < until + LIMIT, f"round {round_}: only {found!r}"
            assert sorted(found) == ["i", "u"]
    process.terminate()
    assert process.wait(LIMIT) == -signal.SIGTERM


def test_it_has_no_handler_that_could_miss_a_signal_just_before_it_waits(tmp_path):
    process = guard([tmp_path], "sleep", "600")
    for pid in (process.pid, rank_under(process)[0]):
        caught = re.search(r"SigCgt:\s*(\w+)", Path(f"/proc/{pid}/status").read_text())
        assert not [number for number in (*FORWARDED, ORPHANED) if int(caught[1], 16) & 1 << (number - 1)]
    process.terminate()
    assert process.wait(LIMIT) == -signal.SIGTERM


def rank_under(process):
    """Return (witness, rank) of a guard that runs `sleep`."""

    def found():
        witness = only_child(process.pid)
        rank = witness and only_child(witness)
        return rank and psutil.Process(rank).name() == "sleep" and (witness, rank)

    return wait_for(found, "the rank")


@pytest.mark.parametrize("victim", ["outer", "witness"])
def test_the_rank_dies_with_its_guard_and_that_is_no_end_of_its_own(tmp_path, victim):
    process = guard([tmp_path], "sleep", "600")
    witness, rank = rank_under(process)
    kill9(process.pid if victim == "outer" else witness)
    assert process.wait(LIMIT) == -signal.SIGKILL
    wait_for(lambda: start_time(rank) is None and start_time(witness) is None, "the end of all")
    assert not (tmp_path / "exit.0.json").exists()


@pytest.mark.parametrize("end", ["by itself", "with its guard"])
def test_children_of_the_rank_die_with_it(tmp_path, end):
    process = guard([tmp_path], "sh", "-c", "sleep 600 & echo $! > child; exec sleep 600", cwd=tmp_path)
    _, rank = rank_under(process)
    child = int(wait_for(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text(), "the pid"))
    kill9(rank if end == "by itself" else process.pid)
    process.wait(LIMIT)
    wait_for(lambda: start_time(child) is None, "the end of the rank's child")


def test_an_end_is_recorded_even_if_mpirun_kills_the_guard_at_once(tmp_path):
    """A neighbour notices first, and aborts: the launcher's SIGKILL must not come before the record."""
    for attempt in range(20):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        process = guard([folder], "sleep", "600")
        _, rank = rank_under(process)
        kill9(rank)
        while start_time(rank) is not None:
            pass
        kill9(process.pid)
        process.wait()
        wait_for((folder / "exit.0.json").exists, f"record {attempt}")
        assert record(folder).signal == signal.SIGKILL


def test_the_child_has_ordinary_signal_handlers(tmp_path):
    guard([tmp_path], "sh", "-c", "grep -E '^Sig(Ign|Blk)' /proc/self/status").wait(LIMIT)
    masks = [line.split()[1] for line in (tmp_path / "rank.0.log").read_text().splitlines()]
    standard = (1 << 31) - 1  # signals 32 and 33 are the C library's own; a parent may have left them ignored
    ignored = 1 << (signal.SIGUSR1 - 1)  # it asks for a checkpoint, and must not end who has no handler yet
    (mine,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("SigIgn"))
    for left in (signal.SIGHUP, signal.SIGQUIT):  # as nohup and a shell's background leave them
        ignored |= int(mine.split()[1], 16) & 1 << (left - 1)
    assert [int(mask, 16) & standard for mask in masks] == [0, ignored]


def test_shared_memory_of_the_mpi_library_is_removed_when_its_rank_has_ended(tmp_path):
    """And nothing else: the note is made by a process that also runs users' code."""
    own = [Path(f"/dev/shm/mpich_shm_{uuid.uuid4().hex}_{n}") for n in range(2)]
    inside = tmp_path / "mine"
    others = [inside, Path(f"/dev/shm/hooke_{uuid.uuid4().hex}")]
    for each in (*own, *others):
        each.write_text("x")
    names = [*own, *others, Path("/dev/shm/mpich_../../") / inside.relative_to("/"), "/dev/shm/mpich_none_0"]
    noted = "".join(f"{each}\n" for each in names)
    code = f"import os, time; open(os.environ['HOOKE_SEGMENTS'], 'w').write({noted!r}); os.kill(os.getpid(), 9)"
    try:
        assert guard([tmp_path], *python(code)).wait(LIMIT) == -signal.SIGKILL
        assert [each.exists() for each in own] == [False, False]
        assert all(each.exists() for each in others)
    finally:
        for each in (*own, *others):
            each.unlink(missing_ok=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["exit.0.json", "rank.0.log"]


def test_what_a_killed_witness_could_not_remove_is_removed_after_the_end_of_all(tmp_path):
    segment = Path(f"/dev/shm/mpich_shm_{uuid.uuid4().hex}_0")
    segment.write_text("x")
    (tmp_path / "segments.1").write_text(f"{segment}\n")
    remove_left([tmp_path, tmp_path / "not begun"])
    assert not segment.exists()
    assert list(tmp_path.iterdir()) == []


MEMORY = Path("/sys/fs/cgroup/memory")


@pytest.mark.skipif(not os.access(MEMORY / "cgroup.procs", os.W_OK), reason="needs root, and cgroups of version 1")
def test_a_rank_that_the_kernel_killed_for_lack_of_memory_is_told_from_one_that_was_killed(tmp_path):
    group = MEMORY / f"hooke-test-{os.getpid()}"
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(str(48 << 20))
        enter = f"open('{group}/cgroup.procs', 'w').write(str(__import__('os').getpid()))"
        assert guard([tmp_path], *python(f"{enter}; bytearray(200 << 20)")).wait(LIMIT) == -signal.SIGKILL
    finally:
        group.rmdir()
    found = record(tmp_path)
    assert (found.signal, found.memory_kills) == (signal.SIGKILL, 1)
    report = judge(Evidence(ranks=1, status=-9, exits={0: found}))
    assert "was killed by SIGKILL (9); memory ran out on" in report.why


def test_a_command_that_cannot_start_says_so(tmp_path):
    assert guard([tmp_path], "no-such-command").wait(LIMIT) == 127
    assert "no-such-command" in (tmp_path / "rank.0.log").read_text()
    assert record(tmp_path).code == 127


def test_a_folder_that_cannot_be_written_does_not_hide_the_end(tmp_path):
    process = guard([tmp_path, tmp_path / "none"], *python("raise SystemExit(4)"), stderr=subprocess.PIPE)
    assert b"no exit record" in process.communicate(timeout=LIMIT)[1]
    assert process.returncode == 4
    assert record(tmp_path).code == 4


def test_a_tethered_command_ends_with_its_parent(tmp_path):
    note = tmp_path / "pid"
    code = (
        "import os, subprocess, sys, time\n"
        "tether = ['-m', 'hooke.cluster.guard', '--tether', str(os.getpid()), '--']\n"
        "p = subprocess.Popen([sys.executable, *tether, 'sleep', '600'])\n"
        f"open({str(note)!r}, 'w').write(str(p.pid))\n"
        "time.sleep(600)"
    )
    parent = subprocess.Popen(python(code))
    child = int(wait_for(lambda: note.exists() and note.read_text(), "the pid"))
    wait_for(lambda: psutil.pid_exists(child) and psutil.Process(child).name() == "sleep", "the tethered command")
    kill9(parent.pid)
    parent.wait()
    wait_for(lambda: start_time(child) is None, "its end")


def test_a_tether_to_a_dead_parent_does_not_start(tmp_path):
    code = f"open({str(tmp_path / 'started')!r}, 'w')"
    command = [sys.executable, "-m", "hooke.cluster.guard", "--tether", "999999999", "--", *python(code)]
    assert subprocess.run(command, timeout=LIMIT, check=False).returncode == 128 + signal.SIGTERM
    assert not (tmp_path / "started").exists()


def test_wrong_use_is_explained():
    for arguments in ([], ["dir"], ["--", "true"], ["dir", "--"]):
        command = [sys.executable, "-m", "hooke.cluster.guard", *arguments]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        assert process.returncode == 1
        assert process.stderr.startswith("usage: ")


@pytest.mark.parametrize("name", ["PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"])
def test_the_rank_is_learnt_from_every_launcher(name):
    assert rank_of({name: "7"}) == 7
    assert rank_of({name: "nonsense"}) == 0


def test_it_imports_little():
    """Speed is measured by a benchmark; what would spoil it is seen here."""
    code = "import hooke.cluster.guard, sys, json; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(subprocess.run(python(code), capture_output=True, text=True, check=True).stdout)
    assert not {"pydantic", "torch", "mpi4py", "subprocess", "socket", "ctypes", "asyncio"} & set(loaded)


def test_a_rank_that_does_not_end_after_sigterm_is_killed(tmp_path):
    """Also where whoever asked has died: nobody else is left to do it."""
    ignore = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    code = f"{ignore}; print('deaf', flush=True); time.sleep(60)"
    impatient = "import hooke.cluster.guard as guard, sys; guard.PATIENCE = 1.0; guard.main(sys.argv[1:])"
    process = subprocess.Popen([sys.executable, "-c", impatient, str(tmp_path), "--", *python(code)])
    log = tmp_path / "rank.0.log"
    wait_for(lambda: log.exists() and log.read_text() == "deaf\n", "the child")
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert process.wait(LIMIT) == -signal.SIGKILL
    assert time.monotonic() - began >= 1.0
    assert record(tmp_path).signal == signal.SIGKILL
