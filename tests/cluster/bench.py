"""Real supervisors, real ranks, a recording API, and the proof that nothing is left of them."""

import json
import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

from hooke.cluster.job import Job, Order, Timing
from hooke.cluster.launchers.settings import LocalSettings
from hooke.cluster.places import Home, write_atomically
from hooke.cluster.processes import children, members, sweep
from hooke.spec.journal import unpack

from tests.cluster.recording_api import RecordingApi
from tests.waiting import LIMIT, wait_for

PROGRAM = str(Path(__file__).with_name("rank_program.py"))
FAST = Timing(look=0.05, beat=0.2, idle_beat=0.5, grace=60.0, longest_retry=0.5, backstop=2.0, farewell=60.0)
"""Frequent looks and messages; patience where only a busy machine would need it."""
BRIEF = FAST.model_copy(update={"grace": 1.0})
"""For ranks that do not listen: nobody waits long for them."""


def spec(algorithm="sync-sgd", workers=2, virtual=False):
    """Return a RunSpec as JSON; the rank program ignores most of it."""
    document = {
        "schema": "hooke.run/1",
        "workload": {"name": "digits-mlp"},
        "algorithm": {"name": algorithm},
        "workers": workers,
        "world": "virtual" if virtual else "mpi",
        "budget": {"samples": 1000},
        "evaluation": {"every": 100},
    }
    return document | ({"virtual": {}} if virtual else {})


class Bench:
    """One home, one API, and the supervisors started for a test."""

    def __init__(self, path):
        self.home = Home(path / "home")
        self.api = RecordingApi()
        self.started = []
        self.ids = set()
        self.prefix = []
        """Beginning of the commands of supervisors."""
        self.more = {}
        """Further fields of jobs."""

    def run_name(self):
        return f"run_{uuid.uuid4().hex[:12]}"

    def job(self, runs, *options, specs=None, timing=FAST, launcher=None, program=None, attempt=1):
        """Write the job folder of these runs and return it."""
        specs = specs or {}
        orders = [Order(run=run, attempt=attempt, spec=specs.get(run, spec())) for run in runs]
        program = program or ("-m", "mpi4py", PROGRAM, *options)
        job = Job(
            api=self.api.url,
            orders=orders,
            program=program,
            timing=timing,
            launcher=launcher or LocalSettings(),
            **self.more,
        )
        folder = self.home.job(job.name)
        folder.path.mkdir(parents=True)
        tokens = {f"{run}.{attempt}": f"secret-{run}" for run in runs}
        write_atomically(folder.tokens, json.dumps(tokens), 0o600)
        write_atomically(folder.description, job.model_dump_json())
        self.api.tokens |= {(run, attempt): tokens[f"{run}.{attempt}"] for run in runs}
        self.ids |= set(tokens)
        return folder

    def supervise(self, folder):
        """Start a supervisor in the foreground and return it."""
        with folder.supervisor_log.open("ab") as log:
            process = subprocess.Popen(
                [*self.prefix, sys.executable, "-m", "hooke.cluster.supervisor", str(folder.path), "--foreground"],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.started.append((process, folder))
        return process

    def start(self, *options, runs=None, **more):
        """Start one supervisor for one new run (or `runs`); return (run, process)."""
        runs = runs or [self.run_name()]
        return runs[0], self.supervise(self.job(runs, *options, **more))

    def finish(self, process):
        """Wait for a supervisor; it must have delivered everything and left nothing."""
        assert process.wait(LIMIT) == 0, self.complaints()
        assert members(self.ids) == [], self.complaints()
        assert self.api.faults == [], self.api.faults

    def complaints(self):
        return "\n".join(folder.supervisor_log.read_text() for _, folder in self.started)

    def running(self, run):
        """Wait until every rank of a run is in its loop."""
        wait_for(lambda: "running" in self.api.states(run), f"{run} to be running")

    def enough(self, run):
        """Let a run, also one that has not begun, end as if its budget were spent."""
        folder = self.folder(run).path
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "enough").touch()

    def folder(self, run):
        return self.home.attempt(run, 1)

    def points(self, run, rank):
        """Return (step, loss) of every step that the API holds, in the order of arrival."""
        found = []
        for record in self.api.records[run, 1, rank]:
            if record.kind == "steps":
                found += zip(
                    unpack("step", record.columns["step"]), unpack("loss", record.columns["loss"]), strict=True
                )
        return found

    def written(self, run, rank):
        """Return the number of complete records in a journal."""
        return self.folder(run).journal(rank).read_bytes().count(b"\n")

    def assert_complete(self, run, ranks=2):
        """Nothing lost, nothing doubled: the API holds what the journals hold, number for number."""
        for rank in range(ranks):
            assert self.api.seqs(run, rank) == list(range(self.written(run, rank)))
            points = self.points(run, rank)
            assert points == [(i, 100 * rank + i) for i in range(1, len(points) + 1)]

    def close(self):
        for process, _ in self.started:
            if process.poll() is None:
                process.kill()
                process.wait()
        sweep(self.ids)
        self.api.down()


def only_child(pid):
    return next((child.pid for child in children(pid)), None)


class Tree:
    """The processes of one MPI attempt: mpirun - proxy - guards - their witnesses - ranks."""

    def __init__(self, supervisor, ranks=2):
        def complete():
            self.mpirun = _named(supervisor, "mpirun")
            self.proxy = self.mpirun and _named(self.mpirun, "hydra_pmi_proxy")
            guards = sorted(child.pid for child in children(self.proxy)) if self.proxy else []
            self.guards = {_rank(pid): pid for pid in guards}
            self.witnesses = {rank: only_child(pid) for rank, pid in self.guards.items()}
            self.ranks = {rank: pid and only_child(pid) for rank, pid in self.witnesses.items()}
            return len(self.ranks) == ranks and None not in self.ranks and all(self.ranks.values())

        wait_for(complete, "mpirun, proxy, guards and ranks")


def _named(parent, name):
    return next((child.pid for child in children(parent, name)), None)


def _rank(pid):
    """Return the rank of a guard; None while the proxy has forked it but not yet made it one."""
    environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    found = next((entry for entry in environment if entry.startswith(b"PMI_RANK=")), None)
    return int(found.split(b"=")[1]) if found else None


def kill9(pid):
    os.kill(pid, signal.SIGKILL)


class Tasks:
    """An application that keeps its tasks by name; those of a real one are tasks of all others in its process."""

    def __init__(self) -> None:
        self.by_name = {}

    def task(self, function, name):
        self.by_name[name] = function
