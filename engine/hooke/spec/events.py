"""The vocabulary of the journal and of ingest: what a rank writes, a supervisor ships and the API stores.

A journal is JSON Lines; each line is one record {"seq", "kind", ...}; a last line without newline is a write
in progress. A rank numbers its records 0, 1, 2, ... per attempt; (run, attempt, rank, seq) is unique for
ever, which makes shipping idempotent. Numbers that grow with steps travel as packed columns.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from hooke.spec.specification import Name, Part

STEP_COLUMNS: dict[str, str] = {
    # name -> little-endian dtype; one value per recorded step of this rank
    "step": "<i8",  # local gradients done by this rank (server: exchanges served), after the step
    "samples": "<i8",  # global samples known to this rank, after the step
    "clock": "<f8",  # train clock, s, at the end of the step
    "wall": "<f8",  # s since the start barrier, evaluation included (virtual: virtual seconds)
    "loss": "<f4",  # mean loss of the step's batch; NaN on a server
    "data": "<f4",  # phases, s per step
    "compute": "<f4",
    "communicate": "<f4",
    "update": "<f4",
    "evaluate": "<f4",
    "idle": "<f4",
    "hidden": "<f4",  # transfer s that ran behind compute, observed
    "payload": "<i8",  # bytes asked to move in the step
    "wire": "<i8",  # bytes sent by this rank's schedule in the step
    "messages": "<i4",  # messages sent by this rank in the step
    "staleness": "<f4",  # center updates between a worker's read and its write (lock-free: exchanges that others
    # began between two of its own); NaN where it has no meaning
    "worker": "<i4",  # server: whom the exchange was with, for a replay; -1 where it has no meaning
}

ABSENT: dict[str, float] = {"staleness": math.nan, "worker": -1}
"""Columns that a block may lack, and the value that then holds for all of its steps."""


class Record(BaseModel):
    """A value of the journal or of ingest: immutable; unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


class Start(Record):
    """First record of a rank: who it is, and one anchor of its clocks."""

    kind: Literal["start"] = "start"
    seq: int = Field(ge=0)
    role: Literal["worker", "server"]
    host: str
    pid: int
    unix: float
    monotonic: float
    world: Literal["mpi", "virtual"]
    ranks: int
    oversubscribed: bool
    """More ranks than cores on this host: communication figures say more about the scheduler than the network."""
    hardware: dict[str, str | int | float] = Field(default_factory=dict)
    versions: dict[str, str] = Field(default_factory=dict)
    restored_step: int | None = None
    evaluated_part: Part = "test"
    """Which part of the data evaluations score; before there was a validation part no record said so."""
    notes: dict[str, str] = Field(default_factory=dict)
    """What was chosen for this rank and why: moving rate, device, exchange path, placement, window..."""


class Steps(Record):
    """A block of consecutive steps: base64 of little-endian columns, as STEP_COLUMNS says."""

    kind: Literal["steps"] = "steps"
    seq: int = Field(ge=0)
    n: int = Field(ge=1, le=65536)
    columns: dict[str, str]


class Evaluation(Record):
    """The center was scored on the validation part: written by the rank that decides (rank 0, or the server)."""

    kind: Literal["evaluation"] = "evaluation"
    seq: int = Field(ge=0)
    step: int
    samples: int
    clock: float
    """Train clock, s: where it stood during the evaluation."""
    wall: float
    """s since the start of the clock, when the last rank had stopped."""
    loss: float
    accuracy: float
    seconds: float
    """How long the clock stood."""
    reached: bool
    """Whether it met the target."""


class Done(Record):
    """Last record of a rank that ended as the algorithm meant it to."""

    kind: Literal["done"] = "done"
    seq: int = Field(ge=0)
    reason: Literal["budget", "target", "cancelled", "timed_out"]
    step: int
    samples: int
    clock: float
    wall: float
    phases: dict[str, float]
    hidden: float
    payload: int
    wire: int
    messages: int
    final_loss: float | None = None
    """Of the center, on the deciding rank: its last evaluation."""
    final_accuracy: float | None = None
    test_loss: float | None = None
    """Of the final center on the test part, on the deciding rank; null where the run ended early."""
    test_accuracy: float | None = None
    test_seconds: float = 0.0
    """How long the clock stood for the test part."""
    staleness: dict[int, int] = Field(default_factory=dict)
    """Exchanges by staleness, where it is measured (server; every worker of a lock-free method)."""
    lost_mass: float | None = None
    """Lock-free methods, on rank 0: |S - S_expected| / sum |pushed|, L1 norms, of all updates pushed (P13)."""
    dropped: list[int] = Field(default_factory=list)
    """Workers that the run went on without, on the deciding rank."""


class Dropped(Record):
    """A worker whose numbers went bad has left; the run goes on without it (`on_bad_worker: drop`)."""

    kind: Literal["dropped"] = "dropped"
    seq: int = Field(ge=0)
    worker: int
    step: int
    why: str


class Checkpointed(Record):
    """A complete checkpoint lies in the run's folder."""

    kind: Literal["checkpoint"] = "checkpoint"
    seq: int = Field(ge=0)
    step: int
    samples: int
    path: str
    bytes: int
    sha256: str
    seconds: float = 0.0
    """How long the clock stood for it; journals of older versions do not say."""


JournalRecord = Annotated[Start | Steps | Evaluation | Done | Checkpointed | Dropped, Field(discriminator="kind")]


class RankExit(Record):
    """How one rank ended, as its guard witnessed it. `monotonic` orders the exits of one host."""

    rank: int
    host: str
    pid: int
    code: int | None
    signal: int | None
    monotonic: float


class StateReport(Record):
    """The supervisor's word on a run's state, with the evidence."""

    state: Literal["starting", "running", "succeeded", "failed_user", "failed_infra", "cancelled", "timed_out"]
    unix: float
    why: str
    exit_code: int | None = None
    signal: int | None = None
    rank: int | None = None
    host: str | None = None


class LogLine(Record):
    """One line of output; `seq` counts per attempt. `rank` -1 is mpirun or the supervisor itself."""

    seq: int = Field(ge=0)
    rank: int
    stream: Literal["stdout", "stderr", "supervisor"]
    unix: float
    text: Annotated[str, Field(max_length=8192)]


class RankRecords(Record):
    """New journal records of one rank, in order of seq, without gaps."""

    rank: int = Field(ge=0)
    records: list[JournalRecord]


class Ingest(Record):
    """One request per attempt and second; also the beat that renews the lease.

    Delivered again after a failure with the same numbers: what is stored already is ignored, so replay is
    safe. The bearer token is the attempt's own.
    """

    run: str
    attempt: int = Field(ge=1)
    reports: list[StateReport] = Field(default_factory=list)
    """All reports so far, oldest first: applied in order, those already applied ignored."""
    ranks: list[RankRecords] = Field(default_factory=list)
    logs: list[LogLine] = Field(default_factory=list)
    renew: bool = True


class IngestAnswer(Record):
    """What the API has, and what it wants."""

    acknowledged: dict[int, int]
    """For each rank in the request, the highest seq stored without gap (-1: none)."""
    logs: int
    """The highest log seq stored without gap (-1: none)."""
    reports: int
    """How many reports are applied."""
    cancel: bool
    """The run is cancelled: SIGTERM, grace, SIGKILL, then report `cancelled`."""
    checkpoints: int = Field(0, ge=0)
    """How many checkpoints were asked for so far; when it grows, every rank is told once (SIGUSR1)."""
    fenced: bool = False
    """Another attempt owns the run: end at once; data is still accepted under this attempt's number."""


class LaunchOrder(Record):
    """One attempt that an agent is to start; several virtual ones may share a process."""

    run: str
    attempt: int = Field(ge=1)
    token: str
    """Secret of this attempt; written to a 0600 file, never to a log or a command line."""
    spec: dict[str, object]
    """A RunSpec as JSON."""


class Described(BaseModel):
    """An algorithm or workload of a cluster: its name, and whatever else its catalogue says of it."""

    model_config = ConfigDict(frozen=True, extra="allow")

    name: str = Field(min_length=1, max_length=63)


class FileFault(Record):
    """Something of a user's that a cluster cannot offer: a file that does not import, a name that is taken.

    `name` is of the class, the file or the package.
    """

    kind: Literal["algorithm", "workload"]
    name: str = Field(max_length=255)
    file: str = Field(max_length=4096)
    error: str = Field(max_length=2000)


class AgentHello(Record):
    """What an agent says of its cluster when it starts, and every 10 s after."""

    name: Name
    cores: int = Field(ge=1)
    """Cores usable by one run on one host: what `workers: auto` looks at."""
    slots: int = Field(ge=1)
    """Runs timed side by side would disturb one another: how many ranks may be busy at once."""
    launcher: Literal["local"]
    hardware: dict[str, str | int | float]
    versions: dict[str, str]
    algorithms: list[Described] | None = None
    """What `hooke.catalogue.discovery` describes; only in the first hello of an agent, and when it changed."""
    workloads: list[Described] | None = None
    problems: list[FileFault] | None = None
    """Files of users that are not offered, and why; with the catalogues."""


class AgentProof(Record):
    """An agent's answer to a probe: is an attempt of its cluster alive? Death only when nothing is left of it."""

    run: str
    attempt: int = Field(ge=1)
    alive: bool
    """True: its supervisor or one of its processes lives. False: proven dead, and it can never start again."""
    why: str
