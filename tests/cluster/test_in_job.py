"""What runs inside a batch job, with commands that stand for srun and scancel: neither is needed here."""

import json
import os
import signal
import subprocess
import sys

import pytest
from hooke.cluster.launchers import in_job

from tests.waiting import wait_for

START = """
import sys
from hooke.cluster.launchers import in_job
in_job.AGAIN = 0.1
sys.exit(in_job.main(sys.argv[1:]))
"""


@pytest.fixture
def commands(tmp_path):
    """Return a function that writes a command and the environment in which it is found."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def write(name, script):
        (folder / name).write_text(f"#!/bin/sh\ncd {tmp_path}\n{script}\n")
        (folder / name).chmod(0o755)

    write("srun", 'trap "" TERM; while [ ! -e asked.3 ]; do sleep 0.02; done; exit 7')
    return write


def start(tmp_path, program, *options):
    environment = os.environ | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "SLURM_JOB_ID": "42"}
    command = [sys.executable, "-c", START, str(tmp_path), *options, "--", program]
    process = subprocess.Popen(command, env=environment)
    wait_for((tmp_path / "job.started.json").exists, "its start")
    return process


@pytest.mark.parametrize("answer", ["exit 0", "exit 1"], ids=["taken", "refused"])
def test_before_the_limit_the_tasks_of_srun_are_asked_to_end_until_they_have(tmp_path, commands, answer):
    commands("scancel", f'echo "$@" >> said; n=$(wc -l < said); touch asked.$n; {answer}')
    job = start(tmp_path, "srun")
    job.send_signal(signal.SIGUSR2)
    assert job.wait(20) == 7
    assert (tmp_path / "said").read_text().splitlines()[:3] == ["--signal=TERM 42"] * 3
    assert (tmp_path / "job.limit").exists()
    assert json.loads((tmp_path / "job.ended.json").read_text())["status"] == 7


def test_a_request_to_srun_itself_is_not_passed_on_and_is_no_limit(tmp_path, commands):
    commands("scancel", "touch asked.1")
    job = start(tmp_path, "srun")
    job.send_signal(signal.SIGTERM)
    (tmp_path / "asked.3").touch()
    assert job.wait(20) == 7
    assert not (tmp_path / "job.limit").exists()
    assert not (tmp_path / "asked.1").exists()


def test_a_command_that_is_not_srun_gets_the_signal_once(tmp_path, commands):
    commands("mpirun", 'trap "touch asked.1; exit 5" TERM; touch ready; while :; do sleep 0.02; done')
    job = start(tmp_path, "mpirun")
    wait_for((tmp_path / "ready").exists, "its handler")
    job.send_signal(signal.SIGUSR2)
    assert job.wait(20) == 5
    assert (tmp_path / "asked.1").exists()
    assert (tmp_path / "job.limit").exists()


def test_where_a_scheduler_sends_no_signals_requests_are_files_and_the_limit_a_clock(tmp_path, commands):
    commands("mpirun", 'trap "touch asked.1" USR1; trap "exit 5" TERM; touch ready; while :; do sleep 0.02; done')
    job = start(tmp_path, "mpirun", "--asked", "--seconds", "1000")
    wait_for((tmp_path / "ready").exists, "its handlers")
    in_job.write(str(tmp_path), in_job.ASKED, {"number": 1, "signal": int(signal.SIGUSR1)})
    wait_for((tmp_path / "asked.1").exists, "the first request")
    assert start(tmp_path, "mpirun", "--asked").wait(20) == 0, "a second job of the same launch ends at once"
    in_job.write(str(tmp_path), in_job.ASKED, {"number": 2, "signal": int(signal.SIGTERM)})
    assert job.wait(20) == 5
    assert not (tmp_path / "job.limit").exists()


def test_near_the_end_of_its_seconds_a_job_asks_its_ranks_to_end(tmp_path, commands):
    commands("mpirun", 'trap "exit 5" TERM; while :; do sleep 0.02; done')
    job = start(tmp_path, "mpirun", "--asked", "--seconds", "1.5")
    assert job.wait(20) == 5
    assert (tmp_path / "job.limit").exists()
