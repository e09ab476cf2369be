"""A job that Slurm takes without saying so in time: its run begins once. Scripts stand for Slurm's commands."""

import os
import signal
import subprocess
import sys

import pytest
from hooke.cluster.batch import BatchRunner
from hooke.cluster.launchers import asking, in_job, slurm_job
from hooke.cluster.launchers.base import Launch
from hooke.cluster.launchers.settings import SlurmSettings
from hooke.cluster.launchers.slurm import SlurmLauncher
from hooke.cluster.places import AttemptFolder

from tests.waiting import wait_for

COMMANDS = {
    "squeue": 'found=$(cat queue); echo "$@" >> searched; while [ -e hold ]; do sleep 0.02; done; echo "$found"',
    "sbatch": "echo asked >> submitted; while [ ! -e answer ]; do sleep 0.02; done; "
    "cat answer >&$(cat stream); exit $(cat status)",
    "scancel": 'echo "$@" >> cancelled',
    "scontrol": "echo ExitCode=0:0",
    "srun": "echo ran >> ran",
}


class Site:
    """A launch under Slurm, whose queue and whose answers are files that a test writes."""

    def __init__(self, folder):
        self.folder, self.late = folder, True
        self.attempt = AttemptFolder(folder / "attempt", "r", 1)
        self.attempt.path.mkdir()
        self.launch = Launch("mpi", 2, (self.attempt.path,), ("r.1",))
        setup = (f"echo set up >> {folder}/ran",)
        self.launcher = SlurmLauncher(SlurmSettings(kind="slurm", slots=2, setup=setup))
        self.queue()

    def queue(self, **jobs):
        """Let squeue know these jobs of the launch: `job_7="PENDING"`."""
        lines = [f"{name[4:]}|{state}|None|n1|hooke.r.1|hooke:r.1\n" for name, state in jobs.items()]
        (self.folder / "queue").write_text("".join(lines))

    def answer(self, said, status=0):
        """Let sbatch answer this from now on, in time."""
        self.late = False
        for name, text in (("status", str(status)), ("stream", "2" if status else "1"), ("answer", said)):
            (self.folder / name).write_text(text)

    def begin(self, job):
        """Execute the batch script as Slurm would; return what it says."""
        environment = os.environ | {"SLURM_JOB_ID": job}
        command = ["sh", str(self.attempt.path / "job.sh")]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    def said(self, name):
        """Return the lines that a command has written."""
        file = self.folder / name
        return file.read_text().splitlines() if file.exists() else []


@pytest.fixture
def site(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    for name, script in COMMANDS.items():
        file = tmp_path / "bin" / name
        file.write_text(f"#!/bin/sh\ncd {tmp_path}\n{script}\n")
        file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    for pause in ("FIRST", "WAITS", "RUNS", "RETRY"):
        monkeypatch.setattr(slurm_job, pause, 0.0)
    made = Site(tmp_path)

    asked = []

    def question(command, environment, patience):
        patience = 0.0 if command[0] == "sbatch" and made.late else patience
        asked.append(asking.Question(command, environment, patience))
        return asked[-1]

    monkeypatch.setattr(slurm_job, "Question", question)
    yield made
    for each in asked:
        each.drop()


def submitted_late(site):
    """Return the job of a launch whose sbatch did not answer in time."""
    job = site.launcher.submit(site.launch, site.attempt.path)
    wait_for(lambda: "it is tried again: no answer" in job.look().words, "an sbatch without an answer")
    return job


def test_of_two_jobs_for_one_launch_one_begins_and_is_followed(site):
    job = submitted_late(site)
    site.answer("102\n")
    wait_for(lambda: "job 102 is in Slurm's queue" in job.look().words, "the second job")
    site.queue(job_101="PENDING", job_102="PENDING")
    wait_for(lambda: (job.look(), job.id)[1] == "101", "the first one, which Slurm took without saying so")
    wait_for(lambda: (job.look(), site.said("cancelled"))[1], "the second one to be taken out of the queue")
    assert set(site.said("cancelled")) == {"--state=PENDING 102"}
    site.queue(job_101="PENDING", job_102="RUNNING")  # it began at that moment
    assert site.begin("102") == ""
    view = wait_for(lambda: (found := job.look()).phase == "running" and found, "the job that has begun")
    assert (job.id, "job 102 runs on n1" in view.words) == ("102", True)
    assert site.begin("101") == "hooke: job 101 does not begin: job 102 has begun before\n"
    assert site.said("ran") == ["set up", "ran"]
    site.queue(job_101="COMPLETED", job_102="COMPLETED")
    wait_for(lambda: job.look().phase == "ended", "its end")
    assert job.id == "102"


def test_a_job_that_slurm_took_without_saying_so_is_found_before_another_is_submitted(site, monkeypatch):
    monkeypatch.setenv("LOGNAME", "somebody-else")
    job = site.launcher.submit(site.launch, site.attempt.path)
    wait_for(lambda: (job.look(), site.said("searched"))[1], "the search before the submission")
    site.queue(job_101="PENDING")
    wait_for(lambda: (job.look(), job.id)[1] == "101", "the job")
    assert len(site.said("submitted")) <= 1  # none, if it was killed before it began
    assert site.said("searched")[0].startswith(f"-h -u {os.getuid()} ")
    site.queue(job_101="COMPLETED")
    wait_for(lambda: job.look().phase == "ended", "its end")


@pytest.mark.parametrize("queued", [False, True], ids=["unknown", "in the queue"])
def test_after_a_cancel_a_job_without_an_answer_does_not_begin(site, queued):
    job = submitted_late(site)
    site.queue(**({"job_101": "PENDING"} if queued else {}))
    job.signal(signal.SIGTERM)
    if queued:
        wait_for(lambda: (job.look(), "--state=PENDING 101" in site.said("cancelled"))[1], "it to be taken out")
        site.queue(job_101="CANCELLED")
    view = wait_for(lambda: (found := job.look()).phase == "ended" and found, "the end")
    assert view.outside.how == "cancelled"
    assert "does not begin: its launch has begun or ended before" in site.begin("101")
    assert site.said("ran") == []


def test_a_search_from_before_a_cancel_is_made_again(site):
    """Its answer may be older than the job, which would stay in the queue."""
    job = submitted_late(site)
    (site.folder / "hold").touch()
    before = len(site.said("searched"))
    wait_for(lambda: (job.look(), len(site.said("searched")) > before)[1], "a search that has read the queue")
    site.queue(job_101="PENDING")
    job.signal(signal.SIGTERM)
    (site.folder / "hold").unlink()
    wait_for(lambda: (job.look(), "--state=PENDING 101" in site.said("cancelled"))[1], "it to be taken out")


def test_after_the_end_of_a_launch_no_job_of_it_begins(site):
    runner = BatchRunner(site.launch, site.launcher, folder=site.attempt)
    wait_for(lambda: "tried again" in runner._job.look().words, "an sbatch without an answer")
    site.answer("sbatch: error: invalid partition specified: gone", 1)
    runner.finish()
    assert "invalid partition" in runner.outside.why
    site.begin("101")
    assert site.said("ran") == []


def test_of_jobs_that_begin_at_once_one_is_the_first(tmp_path):
    command = [sys.executable, "-m", in_job.__name__, str(tmp_path), "--first"]
    started = [subprocess.Popen(command, env=os.environ | {"SLURM_JOB_ID": str(n)}) for n in range(1, 5)]
    statuses = {str(n): process.wait() for n, process in enumerate(started, 1)}
    assert sorted(statuses.values()) == [0, *[in_job.NOT_FIRST] * 3]
    assert statuses[in_job.begun(str(tmp_path))] == 0
