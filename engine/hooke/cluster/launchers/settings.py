"""The settings of the launchers: the table `[launcher]` of a site's configuration file.

    [launcher]
    kind = "slurm"
    partition = "gpu"
    slots = 16

`launcher_settings` reads the table; `hooke.cluster.launchers.make` returns the launcher.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, TypeAdapter, ValidationError, field_validator, model_validator

from hooke.errors import Fault, SpecError
from hooke.spec.frozen import Frozen

Line = Annotated[str, StringConstraints(pattern=r"^[^\r\n\x00]+$")]
"""One line of text: it becomes a line of a script."""
Word = Annotated[str, StringConstraints(pattern=r"^[^\s\x00]+$")]
Address = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.:@-]*$")]
"""Host name or address: no option of ssh, and nothing that a shell would read."""
_SET_HERE = frozenset(
    [
        "--job-name",
        "-J",
        "--comment",
        "--ntasks",
        "-n",
        "--output",
        "-o",
        "--chdir",
        "-D",
        "--signal",
        "--requeue",
        "--array",
        "-a",
    ]
)
"""Options of sbatch that are not those of a site."""
_SECONDS = re.compile(r"^(?:(\d+)-)?(\d+)(?::(\d\d))?(?::(\d\d))?$")


class _Mpi(Frozen):
    """What every launcher with an mpirun of its own can be told about it."""

    mpirun: Path | None = None
    """Path of mpirun; None: the one beside this Python, else the first in PATH."""
    libmpi: Path | None = None
    """MPI library that mpi4py loads; None: the one that belongs to mpirun."""
    options: tuple[Line, ...] = ()
    """Further options of mpirun, one argument each."""


class LocalSettings(_Mpi):
    """mpirun on the host of the agent."""

    kind: Literal["local"] = "local"

    def slots(self, cores: int) -> int:
        """Return the slots of the cluster: the agent's cores."""
        return cores


class HostSettings(Frozen):
    """One host of a list."""

    address: Address
    """Name or address that the launch agent and mpirun understand."""
    slots: int = Field(1, ge=1, le=4096)


class HostsSettings(_Mpi):
    """mpirun on a list of hosts, over ssh or an agent script; all see the agent's home and this Python."""

    kind: Literal["hosts"]
    hosts: tuple[HostSettings, ...] = Field(min_length=1)
    agent: tuple[Word, ...] = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10")
    """Command that runs a command on a host: `agent... ADDRESS command...`, as ssh does."""
    silent_seconds: float = Field(30.0, ge=1)
    """How long a host may not answer the agent before the run counts as cut off from it."""

    @field_validator("agent")
    @classmethod
    def _some(cls, agent: tuple[str, ...]) -> tuple[str, ...]:
        if not agent:
            raise ValueError("the command is empty: leave `agent` out for ssh")
        return agent

    @model_validator(mode="after")
    def _distinct(self) -> HostsSettings:
        addresses = [host.address for host in self.hosts]
        if twice := sorted({a for a in addresses if addresses.count(a) > 1}):
            raise ValueError(f"hosts named twice: {', '.join(twice)}; give each once, with its slots")
        return self

    def slots(self, cores: int) -> int:
        """Return the slots of the cluster: the sum over the hosts."""
        del cores
        return sum(host.slots for host in self.hosts)


class BatchSettings(_Mpi):
    """What every launcher of a batch scheduler can be told: one job per launch of ranks."""

    number_of_slots: int = Field(alias="slots", ge=1)
    """Most ranks of one run: what the partition grants to one job."""
    time_limit: str | None = None
    """Minutes, H:MM:SS or D-HH:MM:SS; None: that of the scheduler."""
    signal_seconds: int = Field(90, ge=1, le=65535)
    """How long before the time limit ranks are asked to end with a checkpoint; Slurm may ask 60 s earlier."""
    account: Word | None = None
    reservation: Word | None = None
    nodes: int | None = Field(None, ge=1)
    ranks_per_node: int | None = Field(None, ge=1)
    cpus_per_rank: int | None = Field(None, ge=1)
    exclusive: bool = False
    """Whether no other job may be on its nodes."""
    setup: tuple[Line, ...] = ()
    """Lines of shell before the ranks start, as in `module load openmpi`."""

    @field_validator("time_limit", mode="before")
    @classmethod
    def _limit(cls, limit: Any) -> Any:
        limit = str(limit) if isinstance(limit, int) and not isinstance(limit, bool) else limit
        if isinstance(limit, str) and not _SECONDS.match(limit):
            raise ValueError(f"{limit!r} is not a time limit: minutes, H:MM:SS or D-HH:MM:SS")
        return limit

    def slots(self, cores: int) -> int:
        """Return the slots of the cluster, as given: the agent's host computes nothing."""
        del cores
        return self.number_of_slots


class SlurmSettings(BatchSettings):
    """sbatch, and srun or mpirun in the job."""

    kind: Literal["slurm"]
    start: Literal["srun", "mpirun"] = "srun"
    """How ranks are started inside the allocation."""
    mpi: Word = "pmi2"
    """`srun --mpi=`: pmi2 for MPICH, pmix for Open MPI."""
    partition: Word | None = None
    qos: Word | None = None
    constraint: Word | None = None
    gpus_per_node: str | None = Field(None, pattern=r"^([A-Za-z0-9_.-]+:)?\d+$")
    memory_per_node: Word | None = None
    most_jobs: int | None = Field(None, ge=1)
    """Most jobs of Hooke in the queue at once, of this user; None: until Slurm refuses."""
    extra: tuple[Line, ...] = ()
    """Further options of sbatch, one `#SBATCH` line each."""


class PsijSettings(BatchSettings):
    """A job of PSI/J, which knows PBS, LSF, Flux and others; mpirun starts the ranks in it."""

    kind: Literal["psij"]
    executor: Word
    """Name in PSI/J: pbs, pbs_classic, lsf, flux, slurm, local, ..."""
    queue: Word | None = None
    time_limit: str = "1:00:00"
    """PSI/J tells every scheduler a limit."""
    gpus_per_rank: int | None = Field(None, ge=1)
    attributes: dict[str, str] = Field(default_factory=dict)
    """Custom attributes of the executor, as in {"pbs.l" = "mem=8gb"}."""
    poll_seconds: int = Field(10, ge=1, le=3600)
    """How often PSI/J asks the scheduler about its jobs."""


Settings = LocalSettings | HostsSettings | SlurmSettings | PsijSettings
LauncherSettings = Annotated[Settings, Field(discriminator="kind")]
"""The settings of one launcher, told apart by `kind`."""
_ADAPTER: TypeAdapter[LauncherSettings] = TypeAdapter(LauncherSettings)
_KINDS = "local, hosts, slurm, psij"


def limit_seconds(limit: str) -> int:
    """Return the seconds of a time limit as sbatch reads it: M, M:SS, H:MM:SS, D-H, D-H:MM or D-H:MM:SS."""
    found = _SECONDS.match(limit)
    days, *parts = found.groups() if found else (None, "0", None, None)
    numbers = [int(part) for part in parts if part is not None]
    if days is not None or len(numbers) == 3:
        hours, minutes, seconds = [*numbers, 0, 0][:3]
        return ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds
    minutes, seconds = [*numbers, 0][:2]
    return minutes * 60 + seconds


def within(settings: LauncherSettings, seconds: float) -> LauncherSettings:
    """Return the settings for ranks that run so many seconds at most: a job with a short limit waits less."""
    if not isinstance(settings, BatchSettings):
        return settings
    minutes = math.ceil((seconds + settings.signal_seconds) / 60) + 1
    if settings.time_limit is not None and 0 < limit_seconds(settings.time_limit) <= minutes * 60:
        return settings
    return settings.model_copy(update={"time_limit": str(minutes)})


def launcher_settings(document: dict[str, Any]) -> LauncherSettings:
    """Return the settings in the table `launcher` of a configuration file; without one, `local`.

    `document`: the whole file, as parsed. Raises SpecError with a sentence per fault.
    """
    table = document.get("launcher", {"kind": "local"})
    if not isinstance(table, dict):
        raise SpecError([Fault("/launcher", "must be a table: [launcher] with kind, and that launcher's options")])
    if table.get("kind") not in _KINDS.split(", "):
        said = f"is one of {_KINDS}, not {table['kind']!r}" if "kind" in table else f"is missing: one of {_KINDS}"
        raise SpecError([Fault("/launcher/kind", said)])
    try:
        settings = _ADAPTER.validate_python(table)
    except ValidationError as error:
        raise SpecError([_fault(table["kind"], e["loc"], e["type"], e["msg"]) for e in error.errors()]) from None
    _check_limit(settings)
    _check_extra(settings)
    return settings


def _check_extra(settings: LauncherSettings) -> None:
    """Raise SpecError if further options of sbatch replace those by which jobs are found and told to end."""
    faults = []
    for number, line in enumerate(settings.extra if isinstance(settings, SlurmSettings) else ()):
        name = re.split(r"[=\s]", line, maxsplit=1)[0] if line.startswith("--") else line[:2]
        if name in _SET_HERE:
            faults.append(Fault(f"/launcher/extra/{number}", f"{name} is set by Hooke, which relies on it"))
    if faults:
        raise SpecError(faults)


def _check_limit(settings: LauncherSettings) -> None:
    """Raise SpecError if ranks would be asked to end as soon as they begin. Not a validator: old jobs are read."""
    if not isinstance(settings, BatchSettings) or settings.time_limit is None:
        return
    seconds = limit_seconds(settings.time_limit)
    if seconds == 0 and isinstance(settings, SlurmSettings):
        return  # to Slurm it means none
    if seconds <= settings.signal_seconds:
        said = (
            f"{settings.time_limit!r} ({seconds} s) is no longer than `signal_seconds` "
            f"({settings.signal_seconds}), so ranks would be asked to end as soon as they begin"
        )
        raise SpecError([Fault("/launcher/time_limit", said)])


def _fault(kind: str, loc: tuple[int | str, ...], what: str, message: str) -> Fault:
    place = "/".join(["", "launcher", *(str(part) for part in loc[1:])])  # without the branch of the union
    if what == "extra_forbidden":
        return Fault(place, f"is not an option of the launcher `{kind}`: see docs/launchers.md")
    if what == "missing":
        return Fault(place, f"is missing: the launcher `{kind}` needs it")
    return Fault(place, message.removeprefix("Value error, "))
