"""What users' code may leave among the files of a rank: its supervisor goes on, and the run ends."""

import asyncio
import json
import os
import socket
import subprocess
import zipfile

import numpy as np
import psutil
import pytest
from hooke.cluster import witness
from hooke.cluster.attempt import SupervisedAttempt
from hooke.cluster.earlier import latest_checkpoint
from hooke.cluster.forgetting import forget
from hooke.cluster.guard import remove_segments
from hooke.cluster.job import Order
from hooke.cluster.launchers.local import LocalLauncher
from hooke.cluster.lock import Lock
from hooke.cluster.places import Home
from hooke.cluster.ranks import Ranks
from hooke.cluster.shipper import Track
from hooke.cluster.watchdog import Watchdog
from hooke.spec.invariants import faults
from hooke.spec.journal import parse, read_new
from hooke.spec.specification import RunSpec

from tests.cluster.bench import FAST, PROGRAM, spec
from tests.waiting import wait_for


@pytest.fixture
def folder(tmp_path):
    found = Home(tmp_path).attempt("run_a", 1)
    found.path.mkdir(parents=True)
    return found


def test_a_run_that_leaves_strange_journals_and_notes_ends_well(bench):
    run, supervisor = bench.start("--steps", "20", "--fault", "0:5:litter")
    bench.finish(supervisor)
    assert bench.api.states(run) == ["starting", "running", "succeeded"]
    assert "journal" not in (why := bench.api.end(run).why) and "rank 7" not in why
    bench.assert_complete(run)


def test_a_process_that_leaves_parents_and_environment_behind_ends_with_the_run(bench):
    run, supervisor = bench.start("--steps", "100000", "--fault", "0:5:escape")
    note = bench.folder(run).path / "escaped"
    wait_for(lambda: note.exists() and note.read_text().endswith("\n"), "the process")
    escaped = psutil.Process(int(note.read_text()))
    wait_for(lambda: escaped.name() == "sleep", "its program")
    assert escaped.environ() == {}
    bench.enough(run)
    bench.finish(supervisor)
    assert bench.api.states(run)[-1] == "succeeded"
    assert not escaped.is_running() or escaped.status() == psutil.STATUS_ZOMBIE


def test_a_record_without_end_is_damage_and_is_not_read_into_memory(folder, monkeypatch):
    monkeypatch.setattr(witness, "LONGEST_LINE", 1 << 20)
    asked = []
    monkeypatch.setattr(witness, "read_new", lambda *a: (asked.append(a[2]), read_new(*a))[1])
    with folder.journal(0).open("wb") as file:
        file.truncate(1 << 40)  # it takes no space on the disk
    seen = witness.Witness(folder, 1)
    seen.look()
    assert "a line of more than 1,048,576 bytes" in seen.damaged[0]
    track = Track(folder.journal(0), parse, -1)
    track.fill()
    assert track.damaged and track.drained
    assert max(asked) <= 1 << 20


def test_a_journal_that_is_a_link_to_itself_a_socket_or_a_folder_has_no_lines(folder, monkeypatch):
    monkeypatch.chdir(folder.path)
    folder.journal(0).symlink_to(folder.journal(0))
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(folder.journal(1).name)  # a socket's path must be short
        folder.journal(2).mkdir()
        for rank in range(3):
            assert read_new(folder.journal(rank), 0) == ([], 0)
    assert faults(folder.path) == []


def test_only_journals_of_ranks_are_checked(folder):
    folder.journal(0).touch()
    for name in ("journal.x.jsonl", "journal.00.jsonl", "journal.²³.jsonl"):
        (folder.path / name).write_text("{}\n")
    assert faults(folder.path) == []
    steps = '{"kind":"steps","seq":0,"n":1,"columns":{}}\n'
    folder.journal(7).write_text(steps)
    assert faults(folder.path, 2) == []
    assert "KeyError" in faults(folder.path)[0]


def test_positions_and_states_of_ranks_that_tell_nonsense_are_left_out(folder):
    start = {"kind": "start", "role": "worker", "host": os.uname().nodename, "unix": 0, "monotonic": 0}
    start |= {"world": "mpi", "ranks": 2, "oversubscribed": False, "seq": 0, "pid": -4}
    steps = {"kind": "steps", "seq": 1, "n": 1, "columns": {}}
    for rank, columns in enumerate(({}, {"step": ""})):
        lines = [start, steps | {"columns": columns}]
        text = "\n".join(json.dumps(line, separators=(",", ":")) for line in lines)
        folder.journal(rank).write_text(text + "\n")
    seen = witness.Witness(folder, 2)
    seen.look()
    assert seen.stepped and seen.reached() == {}
    assert Watchdog(RunSpec.model_validate(spec()), seen)._told() == "no rank has written a step"


def test_an_exit_record_of_another_rank_is_none(folder):
    record = {"rank": 5, "host": "h", "pid": 1, "code": 0, "signal": None, "monotonic": 1.0}
    folder.exit(0).write_text(json.dumps(record))
    folder.exit(1).write_text(json.dumps(record | {"rank": 1}))
    assert list(witness.Witness(folder, 2).exits()) == [1]


def test_a_note_of_shared_memory_with_no_name_is_passed_over(tmp_path):
    note = tmp_path / "segments.0"
    note.write_bytes(b"/dev/shm/mpich_\0x /dev/shm/mpich_hooke_none")
    remove_segments(str(note))
    assert not note.exists()


def encrypted(path):
    """Write an archive whose first member claims to be encrypted."""
    np.savez(path, weights=np.arange(5))
    data = bytearray(path.read_bytes())
    central = data.index(b"PK\x01\x02")
    data[6] |= 1
    data[central + 8] |= 1
    path.write_bytes(data)


def bomb(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("weights.npy", bytes(1 << 20))


@pytest.mark.parametrize(
    "damage",
    [
        lambda place: (place / "complete.json").write_text("[" * 100_000),
        lambda place: (place / "complete.json").write_text('{"ranks": 1e400}'),
        lambda place: encrypted(place / "rank.0.npz"),
        lambda place: bomb(place / "rank.0.npz"),
        lambda place: place.rename(place.with_name("²")),
    ],
    ids=["nested", "infinite", "encrypted", "compressed", "no number"],
)
def test_a_checkpoint_that_ranks_do_not_write_is_passed_over(tmp_path, damage):
    place = tmp_path / "checkpoints" / "100"
    place.mkdir(parents=True)
    (place / "complete.json").write_text('{"ranks": 1}')
    np.savez(place / "rank.0.npz", weights=np.arange(5))
    assert latest_checkpoint(tmp_path) == place
    damage(place)
    assert latest_checkpoint(tmp_path) is None


def broken():
    raise AssertionError("nobody has thought of this")


def attempt_of(folder):
    return SupervisedAttempt(folder, Order(run=folder.run, attempt=1, spec=spec(virtual=True)))


def test_an_attempt_whose_files_cannot_be_judged_ends_all_the_same(folder):
    attempt = attempt_of(folder)
    attempt.starting()
    attempt.witness.look = broken
    attempt.end(0, cause="its supervisor died")
    end = attempt.reports[-1]
    assert end.state == "failed_infra"
    assert end.why.startswith("its supervisor died; the files of its ranks cannot be read: AssertionError: nobody")


def test_ranks_that_cannot_be_watched_any_more_are_ended_and_the_next_attempt_goes_on(folder):
    attempts = [attempt_of(folder), attempt_of(Home(folder.path.parents[2]).attempt("run_b", 1))]
    looks = iter(range(3))
    look = attempts[0].witness.look
    attempts[0].witness.look = lambda: look() if next(looks, None) is not None else broken()
    program = ("-m", "mpi4py", PROGRAM, "--steps", "100000")
    ranks = Ranks(attempts, LocalLauncher(), program, FAST, asyncio.Event())
    assert asyncio.run(ranks.run()) == attempts[1:]
    end = attempts[0].reports[-1]
    assert end.state == "failed_infra"
    assert end.why.startswith("its supervisor could not go on: AssertionError: nobody has thought of this")
    assert LocalLauncher().alive([each.folder.id for each in attempts]) == ""


def test_a_lock_is_closed_to_other_accounts(folder):
    """Who can open it can hold it, and seem to be a supervisor that lives."""
    lock = Lock.acquire(folder.lock)
    assert folder.lock.stat().st_mode & 0o077 == 0
    lock.release()


def test_a_run_with_folders_too_deep_to_remove_keeps_nobody_elses(tmp_path):
    home = Home(tmp_path)
    for run in ("run_deep", "run_flat"):
        home.attempt(run, 1).path.mkdir(parents=True)
    at = os.open(home.attempt("run_deep", 1).path, os.O_RDONLY)
    for _ in range(1100):
        os.mkdir("d", dir_fd=at)
        below = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)
    try:
        report = forget(home, ["run_deep", "run_flat"])
    finally:
        subprocess.run(["rm", "-rf", str(home.path / "runs")], check=True)
    assert "run_flat" in report.forgotten
    assert {each.run for each in report.kept} | set(report.forgotten) == {"run_deep", "run_flat"}
