"""Starts ranks in a job of PSI/J (psij-python), which knows the commands of PBS, LSF, Flux and others.

PSI/J is no dependency: it is imported when a launch needs it. The job is `in_job`, on its first node; mpirun,
which it starts, finds the nodes of the job as the scheduler tells them.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from hooke.cluster.launchers import base, in_job, mpi
from hooke.cluster.launchers.base import Launch
from hooke.cluster.launchers.batch import BatchJob, BatchLauncher
from hooke.cluster.launchers.psij_job import PsijJob
from hooke.cluster.launchers.settings import PsijSettings, limit_seconds
from hooke.errors import LaunchError

SETUP, FILES = "job.setup.sh", "psij"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""Variables that a shell can export: no functions of bash."""
MISSING = "the launcher `psij` needs PSI/J beside this Python (pip install psij-python); it could not be imported"


def library() -> Any:
    """Return the module `psij`. Raises LaunchError with what to install."""
    try:
        import psij
    except ImportError as error:
        raise LaunchError(f"{MISSING}: {error}") from None
    return psij


class PsijLauncher(BatchLauncher):
    """One job of PSI/J per launch; mpirun starts the ranks in it."""

    def __init__(self, settings: PsijSettings) -> None:
        self.settings = settings

    def command(self, launch: Launch) -> list[str]:
        """Return what the job executes: mpirun with one guard per rank, or the guard of a virtual world."""
        s = self.settings
        if launch.world == "virtual":
            return base.guarded(launch)
        return mpi.find(s.mpirun).command(launch.ranks, launch.ranks, s.options, base.guarded(launch))

    def environment(self, launch: Launch, inherited: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of the job, whatever its scheduler passes on."""
        found = base.environment(launch, inherited) | {"UCX_LOG_LEVEL": "error"}
        if self.settings.executor == "local":
            found |= base.LOCAL
        if launch.world == "virtual":
            return found
        mpirun = mpi.find(self.settings.mpirun)
        found |= mpi.variables_of_library(mpirun, self.settings.libmpi, launch.folders[0], inherited)
        found["HOOKE_MPIRUN"] = mpirun.family
        return found if self.settings.executor == "local" else found | base.transport(inherited)

    def inside(self, launch: Launch, folder: Path) -> list[str]:
        """Return the command line of the job: `in_job`, which asks the ranks to end before the time limit."""
        seconds = limit_seconds(self.settings.time_limit) - self.settings.signal_seconds
        watched = ["--asked", "--seconds", str(max(1, seconds))]
        return [sys.executable, "-m", in_job.__name__, str(folder), *watched, "--", *self.command(launch)]

    def description(self, psij: Any, launch: Launch, folder: Path) -> Any:
        """Return the specification of the job in PSI/J's classes."""
        s = self.settings
        executable, *arguments = self.inside(launch, folder)
        per_node = min(s.ranks_per_node or -(-launch.ranks // (s.nodes or 1)), launch.ranks)
        resources = psij.ResourceSpecV1(
            node_count=s.nodes or -(-launch.ranks // per_node),
            processes_per_node=per_node,
            cpu_cores_per_process=s.cpus_per_rank,
            gpu_cores_per_process=s.gpus_per_rank,
            exclusive_node_use=s.exclusive,
        )
        attributes = psij.JobAttributes(
            duration=timedelta(seconds=limit_seconds(s.time_limit)),
            queue_name=s.queue,
            project_name=s.account,
            reservation_id=s.reservation,
            custom_attributes=dict(s.attributes) or None,
        )
        environment = {k: v for k, v in self.environment(launch, os.environ).items() if _NAME.fullmatch(k)}
        return psij.JobSpec(
            name=f"hooke.{launch.ids[0]}",
            executable=executable,
            arguments=arguments,
            directory=folder,
            inherit_environment=False,
            environment=environment,
            resources=resources,
            attributes=attributes,
            pre_launch=self._setup(folder),
            launcher="single",  # in_job starts the ranks
        )

    def _setup(self, folder: Path) -> Path | None:
        """Write the lines before the ranks start to a file that the job reads; None without any."""
        if not self.settings.setup:
            return None
        (folder / SETUP).write_text("\n".join(self.settings.setup) + "\n")
        return folder / SETUP

    def submit(self, launch: Launch, folder: Path) -> BatchJob:
        """Begin to submit the job. Raises LaunchError if PSI/J, its executor or mpirun is missing."""
        return self.attach(launch, folder, "")

    def attach(self, launch: Launch, folder: Path, known: str) -> BatchJob:
        """Return the job that an earlier supervisor has begun to submit.

        PSI/J cannot search a job by its name. One that was submitted without an answer may therefore be in the
        queue twice: whichever begins later ends at once.
        """
        psij = library()
        executor = self._executor(psij, folder)
        name = self.settings.executor

        def make() -> Any:
            return psij.Job(self.description(psij, launch, folder))

        try:
            return PsijJob(executor, make, folder, known, name, launch.ids if name == "local" else ())
        except psij.InvalidJobException as error:
            raise LaunchError(f"PSI/J cannot describe this job: {error}") from None

    def _executor(self, psij: Any, folder: Path) -> Any:
        """Return PSI/J's executor, which keeps its own files beside those of the job."""
        from psij.executors.batch.batch_scheduler_executor import BatchSchedulerExecutorConfig

        configuration = BatchSchedulerExecutorConfig(
            work_directory=folder / FILES,
            launcher_log_file=folder / f"{FILES}.log",
            queue_polling_interval=self.settings.poll_seconds,
            queue_polling_error_threshold=1_000_000,  # a scheduler that does not answer is asked again
            keep_files=True,
        )
        name = self.settings.executor
        try:
            return psij.JobExecutor.get_instance(name, config=configuration)
        except ValueError:
            known = ", ".join(sorted(psij.JobExecutor.get_executor_names()))
            raise LaunchError(f"PSI/J has no executor {name!r} here; it has: {known}") from None

    def alive(self, ids: Collection[str]) -> str:
        """Return what is left of these attempts here, or that it is unknown; empty: nothing.

        PSI/J cannot search jobs, and only a supervisor knows the number of its own.
        """
        here = super().alive(ids)
        if here or self.settings.executor == "local":
            return here
        executor = self.settings.executor
        return f"whether its job is still running is unknown, because PSI/J cannot search jobs of {executor}"
