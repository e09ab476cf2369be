"""What an agent removes of deleted runs, and what it must not touch."""

import shutil
import subprocess
import sys
import threading

import pytest
from hooke.cluster import broker, forgetting
from hooke.cluster.agent import register
from hooke.cluster.forgetting import forget
from hooke.cluster.job import Job, Order
from hooke.cluster.lock import Lock
from hooke.cluster.places import Home
from hooke.cluster.processes import members
from hooke.spec.attempts import ForgetReport
from hooke.spec.orders import ClaimedOrder, Forget

from tests.cluster.bench import Tasks
from tests.waiting import wait_for


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home")


def make(home, *runs, attempts=1):
    """Lay out the files of ended runs of one job; return the folder of the job."""
    orders = [Order(run=run, attempt=number, spec={}) for run in runs for number in range(1, attempts + 1)]
    job = Job(api="http://127.0.0.1:1", orders=orders)
    folder = home.job(job.name)
    folder.path.mkdir(parents=True)
    folder.description.write_text(job.model_dump_json())
    folder.supervisor_log.write_text("a complaint\n")
    folder.delivered.touch()
    for order in orders:
        place = home.attempt(order.run, order.attempt)
        checkpoint = place.path / "checkpoints" / "64"
        checkpoint.mkdir(parents=True)
        (checkpoint / "rank.0.npz").write_bytes(b"weights")
        for file in (place.log, place.lock, place.journal(0), place.delivered):
            file.touch()
        place.job.write_text(job.name)
    return folder


def left(home):
    """Names of everything in the home folder, without the two folders themselves."""
    found = {path.relative_to(home.path).as_posix() for path in home.path.glob("*/*")}
    return found - {"runs", "jobs"}


def whys(report):
    return {each.run: each.why for each in report.kept}


def test_attempts_with_checkpoints_and_their_job_are_removed(home):
    make(home, "run_a", attempts=2)
    other = make(home, "run_b")
    report = forget(home, ["run_a", "run_a"])
    assert (report.forgotten, report.kept) == (["run_a"], [])
    assert left(home) == {"runs/run_b", f"jobs/{other.path.name}"}
    assert forget(home, ["run_a", "run_never_seen"]).forgotten == ["run_a", "run_never_seen"]


def test_a_job_stays_until_the_last_of_its_runs_goes(home):
    job = make(home, "run_a", "run_b")
    forget(home, ["run_a"])
    assert left(home) == {"runs/run_b", f"jobs/{job.path.name}"}
    forget(home, ["run_b"])
    assert left(home) == set()


def test_a_removal_that_was_interrupted_is_finished(home, monkeypatch):
    make(home, "run_a", "run_b")
    forget(home, ["run_a"])
    with monkeypatch.context() as patched:
        patched.setattr(forgetting, "_finish", lambda *_: (_ for _ in ()).throw(OSError(5, "killed here")))
        assert "killed here" in whys(forget(home, ["run_b"]))["run_b"]
    assert left(home) != set()
    assert forget(home, ["run_b"]).forgotten == ["run_b"]
    assert left(home) == set()


def test_nothing_alive_is_touched(home):
    make(home, "run_a")
    before = sorted(home.path.rglob("*"))
    lock = Lock.acquire(home.attempt("run_a", 1).lock)
    assert "has a supervisor that is still running" in whys(forget(home, ["run_a"]))["run_a"]
    lock.release()
    named = {"HOOKE_ATTEMPT": "run_a.1"}
    sleep = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env=named)
    wait_for(lambda: members(["run_a.1"]), "the process of an attempt")
    assert "1 of its processes are still running" in whys(forget(home, ["run_a"]))["run_a"]
    assert sorted(home.path.rglob("*")) == before
    sleep.communicate(b"\n")
    assert forget(home, ["run_a"]).forgotten == ["run_a"]


@pytest.mark.parametrize("name", ["..", ".", "../runs", "a/b", "/etc", "", ".forgotten.run_a", "run_a\0"])
def test_no_name_leads_out_of_the_folder_of_runs(home, name):
    make(home, "run_a")
    before = sorted(home.path.rglob("*"))
    report = forget(home, [name])
    assert report.forgotten == []
    assert "cannot be the name of a folder" in whys(report)[name]
    assert sorted(home.path.rglob("*")) == before


def test_links_are_not_followed(home, tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    make(home, "run_a")
    (home.path / "runs" / "run_b").symlink_to(precious)
    (home.attempt("run_a", 1).path / "checkpoints" / "linked").symlink_to(precious)
    assert "is a link" in whys(forget(home, ["run_b"]))["run_b"]
    assert forget(home, ["run_a"]).forgotten == ["run_a"]
    assert (precious / "file").exists()


def test_the_same_order_twice_at_once_removes_once(home):
    runs = [f"run_{number}" for number in range(8)]
    make(home, *runs)
    reports = []
    threads = [threading.Thread(target=lambda: reports.append(forget(home, runs))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert left(home) == set()
    assert any(report.forgotten == runs for report in [*reports, forget(home, runs)])


def test_the_agent_answers_the_order(home):
    make(home, "run_a")
    told = []

    class Client:
        agent = None

        def claim(self, order):
            return ClaimedOrder(id=order, work=Forget(runs=["run_a", ".."]))

        def forgotten(self, report):
            told.append(report)

    app = Tasks()
    register(app, home, "http://127.0.0.1:1", Client())
    app.by_name[broker.TASKS["forget"]]({"id": "ord_" + 32 * "0", "agent": None, "made": 1.0})
    assert told == [ForgetReport(forgotten=["run_a"], kept=told[0].kept)]
    assert [each.run for each in told[0].kept] == [".."]


def test_a_job_that_an_attempt_names_falsely_is_not_removed(home):
    """The program of a user can write to its folder."""
    other = make(home, "run_b")
    for name, words in (("../../precious", "cannot be the name of a folder"), (other.path.name, None)):
        make(home, "run_a")
        home.attempt("run_a", 1).job.write_text(name)
        report = forget(home, ["run_a"])
        if words:
            assert words in whys(report)["run_a"]
            assert home.attempt("run_a", 1).path.exists()
            shutil.rmtree(home.path / "runs" / "run_a")
            shutil.rmtree(next(home.path.glob("jobs/run_a*")))
    assert report.forgotten == ["run_a"]
    assert left(home) == {"runs/run_b", f"jobs/{other.path.name}"}
