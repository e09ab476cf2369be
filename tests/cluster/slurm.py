"""A private Slurm on this host: munged, slurmctld and slurmd on free ports, in a folder; no accounting daemon."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
from pathlib import Path

from tests.waiting import free_port, wait_for

CONF = """
ClusterName=hooke
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthInfo=socket={folder}/munge/socket
SlurmctldPort={controller}
SlurmdPort={daemon}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=pmi2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=2,bf_interval=2
SlurmdParameters=config_overrides
KillWait=5
MinJobAge=60
FirstJobId={first}
ReturnToService=2
MessageTimeout=5
JobRequeue=0
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""
DAEMONS = ("munged", "slurmctld", "slurmd")


def lacking() -> str:
    """Return why there can be no Slurm here; empty if there can."""
    if missing := [name for name in (*DAEMONS, "sbatch", "srun") if shutil.which(name, path=_path()) is None]:
        return f"{', '.join(missing)} not installed (packages slurm-wlm and munge)"
    return "" if os.geteuid() == 0 else "slurmd starts jobs of users, which needs root"


def _path() -> str:
    return f"{os.environ['PATH']}:/usr/sbin:/sbin"


class Slurm:
    """The daemons, from `up` to `down`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.node = folder, os.uname().nodename
        self.conf = folder / "slurm.conf"
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        for name in ("state", "spool", "munge"):
            (folder / name).mkdir(mode=0o755)
        key = folder / "munge" / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        first = random.SystemRandom().randrange(10_000, 60_000_000)  # MPICH names its shared memory after the job
        ports = {"controller": free_port(), "daemon": free_port()}
        text = CONF.format(host=self.node, folder=folder, first=first, **ports)
        self.conf.write_text(text)
        self.environment = os.environ | {"SLURM_CONF": str(self.conf), "PATH": _path()}

    def start(self, name: str) -> None:
        """Start a daemon in the foreground, as a child of this process."""
        munge = self.folder / "munge"
        given = {
            "munged": ["--foreground", "--force", "--key-file", munge / "key", "--socket", munge / "socket",
                       "--pid-file", munge / "pid", "--seed-file", munge / "seed", "--log-file", munge / "log"],
            "slurmctld": ["-D"],
            "slurmd": ["-D", "-N", self.node],
        }[name]  # fmt: skip
        with (self.folder / f"{name}.out").open("ab") as log:
            command = [shutil.which(name, path=_path()), *given]
            self._daemons[name] = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log)

    def stop(self, name: str) -> None:
        """End a daemon, as an administrator would."""
        process = self._daemons.pop(name)
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def up(self) -> None:
        """Start all daemons; return when the node is idle."""
        self.start("munged")
        wait_for((self.folder / "munge" / "socket").exists, self._logs)
        self.start("slurmctld")
        self.start("slurmd")
        wait_for(self.idle, self._logs)

    def idle(self) -> bool:
        """Return whether the node takes jobs."""
        return self.ask("sinfo", "-h", "-o", "%T", check=False).strip() == "idle"

    def ask(self, *command: str, check: bool = True) -> str:
        """Return the output of a command of Slurm."""
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout

    def jobs(self, name: str) -> list[list[str]]:
        """Return [id, state] of every job of this name that Slurm knows."""
        out = self.ask("squeue", "-h", "-t", "all", f"--name={name}", "-o", "%i|%T", check=False)
        return [line.split("|") for line in out.split()]

    def down(self) -> None:
        """End all jobs and daemons."""
        self.ask("scancel", "-u", "root", "--signal=KILL", "--full", check=False)
        self.ask("scancel", "-u", "root", check=False)
        for name in reversed(DAEMONS):
            if name in self._daemons:
                self.stop(name)

    def _logs(self) -> str:
        logs = sorted(self.folder.glob("*.log")) + sorted(self.folder.glob("*.out"))
        return "Slurm to be up: " + "\n".join(f"{log.name}: {log.read_text()[-500:]}" for log in logs)
