"""Starts ranks in a batch job of Slurm.

No accounting daemon is needed: `squeue` knows a job for MinJobAge after its end, and the files of `in_job` stay.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Collection, Mapping
from pathlib import Path

from hooke.cluster.launchers import base, in_job, mpi
from hooke.cluster.launchers.asking import ask
from hooke.cluster.launchers.base import Launch
from hooke.cluster.launchers.batch import BatchJob, BatchLauncher
from hooke.cluster.launchers.settings import SlurmSettings
from hooke.cluster.launchers.slurm_job import SlurmJob
from hooke.cluster.launchers.slurm_words import (
    ACTIVE,
    FORMAT,
    SCRIPT,
    WAITING,
    comment_of,
    is_of,
    name_of,
    parse,
    user,
)

OUTPUT = "launcher.log"
_READ_OTHERWISE = re.compile(r"""[\s"'#]""")


def _quoted(path: Path) -> str:
    """Return a path as sbatch reads it in a line of options, where a blank would end it; it knows no escapes."""
    quote = "'" if '"' in str(path) else '"'
    return f"{quote}{path}{quote}" if _READ_OTHERWISE.search(str(path)) else str(path)


class SlurmLauncher(BatchLauncher):
    """One job per launch; srun or mpirun starts the ranks in it."""

    def __init__(self, settings: SlurmSettings) -> None:
        self.settings = settings

    def command(self, launch: Launch) -> list[str]:
        """Return what the job executes: srun or mpirun with one guard per rank."""
        s = self.settings
        if launch.world == "virtual":
            return base.guarded(launch)
        if s.start == "mpirun":
            return mpi.find(s.mpirun).command(launch.ranks, launch.ranks, s.options, base.guarded(launch))
        command = ["srun", f"--mpi={s.mpi}", "--kill-on-bad-exit=1", "--cpu-bind=none", f"--ntasks={launch.ranks}"]
        if s.cpus_per_rank:
            command.append(f"--cpus-per-task={s.cpus_per_rank}")
        return [*command, *s.options, *base.guarded(launch)]

    def environment(self, launch: Launch, inherited: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of sbatch, which the job inherits: that of a surrounding job is left out."""
        outer = {k: v for k, v in inherited.items() if not k.startswith("SLURM_") or k == "SLURM_CONF"}
        found = base.environment(launch, outer) | {"UCX_LOG_LEVEL": "error"}
        if launch.world == "virtual":
            return found
        found |= base.transport(inherited)  # how many nodes it gets is not known yet
        if self.settings.start == "mpirun":
            mpirun = mpi.find(self.settings.mpirun)
            library = mpi.variables_of_library(mpirun, self.settings.libmpi, launch.folders[0], inherited)
            return found | {"HOOKE_MPIRUN": mpirun.family} | library
        return found | ({"MPI4PY_LIBMPI": str(self.settings.libmpi)} if self.settings.libmpi else {})

    def script(self, launch: Launch, folder: Path) -> str:
        """Return the batch script of a launch, whose output and files of `in_job` are in `folder`."""
        inside = [sys.executable, "-m", in_job.__name__, str(folder)]
        lines = ["#!/bin/sh", *(f"#SBATCH {option}" for option in self.options(launch, folder))]
        if self.settings.setup:  # not a line of it in a second job for this launch
            first = shlex.join([*inside, "--first"])
            lines += [f"{first} || {{ [ $? -eq {in_job.NOT_FIRST} ]; exit $?; }}", *self.settings.setup]
        lines.append(f"exec {shlex.join([*inside, '--', *self.command(launch)])}")
        return "\n".join(lines) + "\n"

    def options(self, launch: Launch, folder: Path) -> list[str]:
        """Return the options of sbatch for a launch."""
        s = self.settings
        found = [
            f"--job-name={name_of(launch.ids)}",
            f"--comment={comment_of(launch.ids)}",
            f"--ntasks={launch.ranks}",
            f"--output={_quoted(folder / OUTPUT)}",
            "--open-mode=append",
            f"--chdir={_quoted(folder)}",
            "--no-requeue",  # an attempt starts once: what comes again is another attempt
            f"--signal=B:USR2@{s.signal_seconds}",
        ]
        named = {
            "partition": s.partition,
            "account": s.account,
            "qos": s.qos,
            "reservation": s.reservation,
            "constraint": s.constraint,
            "time": s.time_limit,
            "nodes": s.nodes,
            "ntasks-per-node": s.ranks_per_node,
            "cpus-per-task": s.cpus_per_rank,
            "gpus-per-node": s.gpus_per_node,
            "mem": s.memory_per_node,
        }
        found += [f"--{name}={value}" for name, value in named.items() if value is not None]
        return [*found, *(["--exclusive"] if s.exclusive else []), *s.extra]

    def submit(self, launch: Launch, folder: Path) -> BatchJob:
        """Write the script and begin to submit it. Raises LaunchError if mpirun is missing."""
        return self.attach(launch, folder, "")

    def attach(self, launch: Launch, folder: Path, known: str) -> BatchJob:
        """Return the job that an earlier supervisor has begun to submit: it is searched by its name."""
        (folder / SCRIPT).write_text(self.script(launch, folder))
        environment = self.environment(launch, os.environ)
        return SlurmJob(self.settings, launch, folder, environment, known)

    def alive(self, ids: Collection[str]) -> str:
        """Return the job in which these attempts still are, or that Slurm does not answer; empty: none."""
        if here := super().alive(ids):
            return here
        answer = ask(["squeue", "-h", "-u", user(), "-t", "all", "-o", FORMAT], patience=15.0)
        if answer.status != 0:
            return f"whether its job is still running is unknown, because Slurm does not answer: {answer.said}"
        for line in parse(answer.out):
            if line.state in WAITING | ACTIVE and is_of(line.comment, ids):
                return f"Slurm job {line.job} is active: {line.words}"
        return ""

    def sweep(self, ids: Collection[str]) -> list[int]:
        """Do nothing: Slurm ends the processes of its jobs."""
        del ids
        return []
