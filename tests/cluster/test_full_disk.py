"""What an agent cannot start: on a full disk (a real one, small enough to fill), or while a host is down."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from hooke.cluster import broker, orders
from hooke.cluster.agent import register
from hooke.cluster.agent_client import ApiClient
from hooke.cluster.attempt import SupervisedAttempt
from hooke.cluster.job import Order
from hooke.cluster.launchers.settings import HostsSettings
from hooke.cluster.places import Home, append_line, described
from hooke.cluster.tail import LogBook
from hooke.cluster.verdict import Evidence, judge
from hooke.errors import LaunchError
from hooke.spec.events import RankExit, StateReport
from hooke.spec.orders import BrokerOrder, Launch, LaunchOrder

from tests.cluster.bench import spec
from tests.cluster.recording_api import RecordingApi

MIB = 2**20


@pytest.fixture
def disk(tmp_path):
    """Mount a file system of 20 MiB; yield its folder."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", str(folder)], check=False, capture_output=True
    )
    if made.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {made.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path, free: int) -> Path:
    """Leave only so many bytes free; return the file that takes the others."""
    ballast = folder / "ballast"
    ballast.unlink(missing_ok=True)
    size = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize - free
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(1, size))
    return ballast


def order(run: str) -> LaunchOrder:
    return LaunchOrder(run=run, attempt=1, token=f"secret-{run}", spec=spec())


def test_a_launch_without_space_is_reported_with_its_cause(disk):
    home = Home(disk / "home")
    home.path.mkdir()
    fill(disk, 1 * MIB)
    (failed,) = orders.launch(home, "http://127.0.0.1:1", [order("run_a"), order("run_b")])
    assert [(each.run, each.attempt) for each in failed.attempts] == [("run_a", 1), ("run_b", 1)]
    assert "(ENOSPC)" in failed.why and str(home.path) in failed.why and os.uname().nodename in failed.why
    assert "MiB are free" in failed.why
    assert not list(home.path.glob("jobs/*/job.json"))
    # never to be started, also if its order comes again
    assert all(home.attempt(run, 1).dead.exists() for run in ("run_a", "run_b"))


def test_a_disk_that_takes_no_more_files_is_told_from_one_without_space(disk):
    """Both are ENOSPC, and `df` shows free space."""
    home = Home(disk / "home")
    home.path.mkdir()
    used = os.statvfs(disk).f_files - os.statvfs(disk).f_ffree
    subprocess.run(["mount", "-o", f"remount,nr_inodes={used + 20}", str(disk)], check=True)
    (failed,) = orders.launch(home, "http://127.0.0.1:1", [order("run_a")])
    assert "no inodes are left" in failed.why and "(ENOSPC): 20 more files" in failed.why
    assert not list(home.path.glob("jobs/*/job.json"))


def test_what_cannot_be_written_at_all_is_named_by_its_error(disk, monkeypatch):
    """The check of free space does not see everything: quotas, inodes."""
    monkeypatch.setattr(orders, "LEAST_FREE", 0)
    home = Home(disk / "home")
    home.path.mkdir()
    ballast = fill(disk, 0)
    large = order("run_a").model_copy(update={"spec": spec() | {"name": "x" * MIB}})
    (failed,) = orders.launch(home, "http://127.0.0.1:1", [large])
    assert "No space left on device (ENOSPC)" in failed.why
    ballast.unlink()
    assert not list(home.path.glob("jobs/*/job.json"))


def test_a_supervisor_that_does_not_start_is_reported_for_an_attempt_that_has_not_begun(tmp_path, monkeypatch):
    home = Home(tmp_path)

    def broken(*_):
        raise LaunchError("the supervisor ended with status 1: see the log")

    monkeypatch.setattr(orders, "start_supervisor", broken)
    (failed,) = orders.launch(home, "http://127.0.0.1:1", [order("run_a")])
    assert failed.why == f"on {os.uname().nodename}: the supervisor ended with status 1: see the log"
    (again,) = orders.launch(home, "http://127.0.0.1:1", [order("run_a")])  # it comes again, and has a job by now
    assert again == failed
    home.attempt("run_a", 1).journal(0).touch()
    with pytest.raises(LaunchError):  # it has begun: whether it is dead is found out by proof
        orders.launch(home, "http://127.0.0.1:1", [order("run_a")])


def test_nothing_is_launched_while_a_host_of_the_list_is_down(tmp_path):
    """Every waiting run would fail in turn; so the cluster pauses."""
    agent = tmp_path / "agent.sh"
    agent.write_text('[ "$1" = gone ] && echo no route to it >&2 && exit 255\nexec sh -c "$2"\n')
    hosts = [{"address": name} for name in ("here", "gone")]
    settings = HostsSettings(kind="hosts", hosts=hosts, agent=("sh", str(agent)))
    home = Home(tmp_path / "home")
    (failed,) = orders.launch(home, "http://127.0.0.1:1", [order("run_a"), order("run_b")], settings)
    assert failed.why == f"on {os.uname().nodename}: host gone does not answer (no route to it)"
    assert [each.run for each in failed.attempts] == ["run_a", "run_b"]
    assert not list(home.path.glob("jobs/*/job.json"))


def test_a_report_is_delivered_from_a_full_disk(disk, capfd):
    home = Home(disk)
    attempt = SupervisedAttempt(home.attempt("run_a", 1), Order(run="run_a", attempt=1, spec=spec()))
    attempt.starting()
    fill(disk, 0)
    with attempt.folder.reports.open("ab") as file:  # up to the end of the page that the file has already
        file.truncate(4096)
    attempt.report(StateReport(state="failed_infra", unix=1.0, why="the ranks could not be started"))
    assert [report.state for report in attempt.reports] == ["starting", "failed_infra"]
    assert "No space left on device (ENOSPC)" in capfd.readouterr().err


def test_a_line_is_written_whole_or_not_at_all(disk):
    path = disk / "lines"
    append_line(path, "first")
    fill(disk, 0)
    with pytest.raises(OSError, match="No space left") as caught:
        append_line(path, "x" * 10_000)
    assert "ENOSPC" in described(caught.value)
    assert path.read_text() == "first\n"


def test_output_is_dropped_while_there_is_no_space_and_numbered_without_gap(disk):
    book = LogBook(disk / "log.jsonl")
    book.say("one")
    ballast = fill(disk, 0)
    book.say("y" * 8000)
    ballast.unlink()
    book.say("two")
    entries = [json.loads(line)["line"] for line in (disk / "log.jsonl").read_text().splitlines()]
    assert [(entry["seq"], entry["text"]) for entry in entries] == [(0, "one"), (1, "two")]


def test_a_rank_that_found_no_space_is_no_fault_of_the_user():
    trace = [
        "Traceback (most recent call last):",
        '  File "own.py", line 3, in run',
        "OSError: [Errno 28] No space left on device: 'checkpoint'",
    ]
    exits = {0: RankExit(rank=0, host="n1", pid=1, code=3, signal=None, monotonic=1.0)}
    report = judge(Evidence(ranks=1, status=3, exits=exits, logs={0: trace}, host="n1"))
    assert report.state == "failed_infra"
    assert report.why.startswith("no space is left on a disk of n1 (ENOSPC): rank 0 raised OSError")
    other = [*trace[:2], "ValueError: [Errno 28] is only quoted"]
    assert judge(Evidence(ranks=1, status=3, exits=exits, logs={0: other})).state == "failed_user"


@pytest.mark.parametrize(
    ("said", "state", "why"),
    [
        ("[Errno 30] Read-only file system", "failed_infra", "a disk of n1 can only be read (EROFS): rank 0"),
        ("[Errno 30] Read-only file system: '/h/runs/run_a/1/ranks/x'", "failed_infra", "a disk of n1 can"),
        ("[Errno 30] Read-only file system: '/data/mine.npy'", "failed_user", "rank 0 raised OSError"),
        ("[Errno 5] Input/output error", "failed_infra", "a disk of n1 does not work (EIO): rank 0"),
        ("[Errno 122] Disk quota exceeded: '/scratch/x'", "failed_infra", "a disk quota is used up on n1"),
    ],
)
def test_a_disk_that_takes_nothing_is_no_fault_of_the_user(said, state, why):
    """The home of an agent became read-only while a run went on; what a user's own file says is theirs."""
    trace = ["Traceback (most recent call last):", '  File "own.py", line 3, in run', f"OSError: {said}"]
    exits = {0: RankExit(rank=0, host="n1", pid=1, code=3, signal=None, monotonic=1.0)}
    report = judge(Evidence(ranks=1, status=3, exits=exits, logs={0: trace}, host="n1"))
    assert (report.state, report.why[: len(why)]) == (state, why)


def test_the_agent_tells_the_server_of_a_failed_launch(disk, tmp_path):
    """The task as Celery calls it, with the agent's client and a real server."""
    fill(disk, 1 * MIB)
    server, token = RecordingApi(), tmp_path / "token"
    token.write_text("hooke_cluster_x\n")
    app, me = broker.make_app("redis://127.0.0.1:1/0"), "agt_" + 32 * "1"
    register(app, Home(disk), server.url, ApiClient(server.url, token, me))
    given = BrokerOrder(id="ord_" + 32 * "0", agent=me, made=1.0)
    server.orders[given.id] = Launch(attempts=[order("run_a")])
    try:
        app.tasks[broker.TASKS["launch"]](given.model_dump(mode="json"))
    finally:
        server.down()
    (failed,) = server.failed_launches
    assert (failed.agent, failed.attempts[0].run, "(ENOSPC)" in failed.why) == (me, "run_a", True)
