"""The guard of a worker without which its run goes on: it waits for the others, and takes leave for its rank."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from hooke.cluster import outliving
from hooke.cluster.verdict import faults, lost

from tests.cluster.test_verdict import done, left, verdict
from tests.waiting import LIMIT, wait_for

SIGNALS = {signal.SIGTERM}


@pytest.fixture
def hydra(monkeypatch):
    """Return Hydra's end of the connection of one of three ranks."""
    ours, theirs = socket.socketpair()
    monkeypatch.setenv("PMI_FD", str(theirs.fileno()))
    monkeypatch.setenv("HYDI_CONTROL_FD", "0")
    monkeypatch.setenv("PMI_SIZE", "3")
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    yield ours
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    ours.close()
    theirs.close()


def end(folder, rank, code):
    (folder / f"exit.{rank}.json").write_text(json.dumps({"rank": rank, "code": code}))


def test_it_takes_leave_once_all_others_have_ended(tmp_path, hydra):
    end(tmp_path, 0, 0)
    end(tmp_path, 2, 0)
    hydra.send(b"cmd=finalize_ack rc=0\n")
    assert outliving.outlive(str(tmp_path), 1, SIGNALS)
    assert hydra.recv(100) == b"cmd=finalize\n"


def test_not_if_another_failed_or_does_not_end_when_all_are_to(tmp_path, hydra, monkeypatch):
    end(tmp_path, 0, 3)
    assert not outliving.outlive(str(tmp_path), 1, SIGNALS)
    end(tmp_path, 0, 0)
    monkeypatch.setattr(outliving, "GRACE", 0.5)
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)  # to this thread, which waits for it
    assert not outliving.outlive(str(tmp_path), 1, SIGNALS)


def test_a_request_to_end_leaves_the_others_time(tmp_path, hydra):
    """Were the guard to end at once, mpirun would kill ranks that are about to end in order."""
    end(tmp_path, 0, 0)
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
    threading.Timer(2 * outliving.LOOK, end, [tmp_path, 2, 0]).start()
    hydra.send(b"cmd=finalize_ack rc=0\n")
    assert outliving.outlive(str(tmp_path), 1, SIGNALS)


def test_a_launcher_that_has_ended_keeps_nobody_waiting(tmp_path, hydra):
    """It has heard the leave, and ends before it answers: the file has an end, which is read again and again."""
    end(tmp_path, 0, 0)
    end(tmp_path, 2, 0)
    hydra.shutdown(socket.SHUT_WR)
    assert not outliving.outlive(str(tmp_path), 1, SIGNALS)
    assert hydra.recv(100) == b"cmd=finalize\n"


@pytest.mark.usefixtures("hydra")
@pytest.mark.parametrize(
    ("spec", "rank", "folders", "wanted"),
    [
        ({"on_bad_worker": "drop", "workers": 2}, 1, 1, True),
        ({"on_bad_worker": "drop", "workers": 2}, 2, 1, False),  # the server
        ({"on_bad_worker": "drop", "workers": 3}, 1, 1, False),  # no server: nobody would drop it
        ({"on_bad_worker": "fail", "workers": 2}, 1, 1, False),
        ({"on_bad_worker": "drop", "workers": 2}, 1, 2, False),  # others would need its process
        ([], 1, 1, False),
    ],
)
def test_a_worker_of_a_run_by_itself_is_tolerated(tmp_path, spec, rank, folders, wanted):
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    assert outliving.tolerated([str(tmp_path)] * folders, rank) == wanted


def test_with_another_launcher_none_is(tmp_path, monkeypatch):
    monkeypatch.setenv("PMI_FD", "7")  # as of Slurm's PMI-2
    monkeypatch.delenv("HYDI_CONTROL_FD", raising=False)
    (tmp_path / "spec.json").write_text('{"on_bad_worker": "drop", "workers": 2}')
    assert not outliving.tolerated([str(tmp_path)], 0)


def test_a_guard_does_not_end_with_its_rank_then(tmp_path, hydra):
    """For real: the rank kills itself, the guard ends when the others have, with status 0."""
    (tmp_path / "spec.json").write_text('{"on_bad_worker": "drop", "workers": 2}')
    code = "import os; os.kill(os.getpid(), 9)"
    guard = [sys.executable, "-m", "hooke.cluster.guard", str(tmp_path), "--", sys.executable, "-c", code]
    started = subprocess.Popen(guard, env=os.environ | {"PMI_RANK": "1"}, pass_fds=[int(os.environ["PMI_FD"])])
    wait_for((tmp_path / "exit.1.json").exists, "its exit record")
    started.send_signal(signal.SIGUSR1)  # a request for a checkpoint, to all ranks
    time.sleep(2 * outliving.LOOK)
    assert started.poll() is None
    hydra.send(b"cmd=finalize_ack rc=0\n")
    end(tmp_path, 0, 0)
    end(tmp_path, 2, 0)
    assert started.wait(LIMIT) == 0
    assert json.loads((tmp_path / "exit.1.json").read_text())["signal"] == signal.SIGKILL


def test_the_exit_of_a_worker_that_was_dropped_is_no_failure():
    server = done().model_copy(update={"dropped": [1]})
    killed = left(1, signal=9)
    assert faults({0: left(0), 1: killed}, {0: server}, {1}) == []
    assert faults({0: left(0), 1: killed}, {0: server}) == [killed]
    assert lost({0: server}) == {1}
    assert verdict(0, (left(0), killed), ("budget", None)).state == "failed_infra"
    assert lost({0: server, 1: done()}) == set(), "NaN: it has ended by itself"
