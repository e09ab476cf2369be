"""Warm hosts: ranks that are forks compute what ranks with their own interpreters compute, and end as these do."""

import json
import os
import signal
import socket
from pathlib import Path

import numpy as np
import pytest
from hooke.catalogue.validation import validate_run
from hooke.cluster.processes import members
from hooke.loop.train import run_spec_virtual

from benchmarks.netlab import running, warm
from tests.waiting import wait_for

DOCUMENT = {
    "workload": {"name": "digits-mlp"},
    "algorithm": {"name": "slowmo", "parameters": {"lr": 0.05, "period": 4}},
    "workers": 2,
    "batch": 16,
    "world": "mpi",
    "budget": {"samples": 1_280},
    "evaluation": {"every": 640},
    "compute": {"placement": "none"},
}


@pytest.fixture(scope="module")
def hosts(lab):
    """Return two hosts with warm processes."""
    with warm.kept(lab):
        yield lab
    assert warm.FOLDER not in os.environ


def test_a_warm_run_has_the_bits_of_any_other(hosts, tmp_path):
    report, found = running.hooke(hosts, validate_run(DOCUMENT), tmp_path / "run", save=tmp_path / "final.npz")
    assert report.state == "succeeded", report.why
    assert not found["oversubscribed"] or len(os.sched_getaffinity(0)) < 2
    virtual = run_spec_virtual(validate_run(DOCUMENT | {"world": "virtual", "virtual": {}}))
    with np.load(tmp_path / "final.npz") as saved:
        np.testing.assert_array_equal(saved["center"], virtual[0].center)
    starts = [
        json.loads(path.read_text().splitlines()[0]) for path in sorted((tmp_path / "run").glob("journal.*"))
    ]
    assert [each["host"] for each in starts] == [f"{hosts.name}-1", f"{hosts.name}-2"]


def test_any_program_ends_as_its_fork_ends(hosts, tmp_path):
    """Its status, its descriptors, its folder, its core."""
    module = tmp_path / "told_by_a_fork.py"
    module.write_text(
        "import os, sys\n"
        "told = os.environ['PMI_RANK'], os.getcwd(), len(os.sched_getaffinity(0)), sys.argv[1:]\n"
        "os.write(1, f'{told[0]} {told[1]} {told[2]} {told[3]}\\n'.encode())\n"  # at once: both write to one file
        "sys.exit(3)\n"
    )
    words = ["env", f"PYTHONPATH={tmp_path}", "python-of-the-rank", "-m", "told_by_a_fork", "one"]
    import sys

    words[2] = sys.executable
    with (tmp_path / "out").open("wb") as output:
        status, _ = running.program(hosts, 2, words, output=output)
    lines = sorted((tmp_path / "out").read_text().splitlines())
    assert status == 3, lines
    assert lines[:2] == [f"{rank} {Path.cwd()} 1 ['one']" for rank in (0, 1)]


def test_killing_a_run_kills_its_forks(hosts, tmp_path):
    from hooke.cluster import local_run

    from benchmarks.netlab.starting import NetlabLauncher

    spec = validate_run(DOCUMENT | {"budget": {"samples": 10_000_000}, "evaluation": {"every": 10_000_000}})
    local_run.prepare(tmp_path / "run", spec)
    run = local_run.start(tmp_path / "run", spec, launcher=NetlabLauncher(hosts))
    wait_for(lambda: run.poll() and run.witness.all_started and run.witness.stepped, "steps")
    pids = [started.pid for started in run.witness.started.values()]
    run.kill()
    run.finish()
    assert members([run.folder.id]) == []
    wait_for(lambda: not any(Path(f"/proc/{pid}/cmdline").exists() for pid in pids), "the end of the forks")


def test_a_client_that_left_words_unread_ends_its_fork_and_not_the_server():
    """The kernel then tells of a reset instead of an end."""
    ours, theirs = socket.socketpair()
    with ours:
        ours.sendall(b"told")
        theirs.close()
        assert warm._signals(ours) == bytes([signal.SIGKILL])


@pytest.mark.parametrize("said", [b"", b"\0\0\0", b"\0\0\0\x09{"])
def test_a_client_that_ended_before_it_had_asked_asks_for_nothing(said):
    """What came with its words is closed: the reader of the pipe meets its end."""
    ours, theirs = socket.socketpair()
    read, write = os.pipe()
    with ours, os.fdopen(read, "rb") as reader:
        if said:
            socket.send_fds(theirs, [said], [write])
        os.close(write)
        theirs.close()
        assert warm._received(ours) is None
        assert reader.read() == b""
