"""Records of the journal and of ingest: written by ranks, delivered by supervisors, stored by the API.

A journal is JSON Lines, a record {"seq", "kind", ...} each; a last line without newline is an incomplete write.
A rank numbers its records 0, 1, 2, ... per attempt: delivery is idempotent. Steps are stored as packed columns.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from hooke.spec.files import FilePart
from hooke.spec.frozen import Name
from hooke.spec.further import FurtherMetric, FurtherValues
from hooke.spec.phases import Phases
from hooke.spec.retry import RetryCause
from hooke.spec.specification import Part

STEP_COLUMNS: dict[str, str] = {  # name -> little-endian dtype; one value per recorded step of this rank
    "step": "<i8",  # local gradients done by this rank (server: exchanges served), after the step
    "samples": "<i8",  # global samples known to this rank, after the step
    "clock": "<f8",  # train clock, s, at the end of the step
    "wall": "<f8",  # s since the start barrier, evaluation included (virtual: virtual seconds)
    "loss": "<f4",  # mean loss of the step's batch; NaN on a server
    "data": "<f4",  # phases, s per step
    "compute": "<f4",
    "rebuild": "<f4",
    "communicate": "<f4",
    "update": "<f4",
    "evaluate": "<f4",
    "idle": "<f4",
    "hidden": "<f4",  # transfer s that overlapped computation, observed
    "payload": "<i8",  # bytes requested to be sent in the step
    "wire": "<i8",  # bytes sent by this rank's schedule in the step
    "messages": "<i4",  # messages sent by this rank in the step
    "staleness": "<f4",  # center updates between read and write (lock-free: others' exchanges); NaN: absent
    "worker": "<i4",  # server: the worker of the exchange, for a replay; -1 where not applicable
    "joined": "<i4",  # 1: with the step before it is one update, 0: it begins one; -1: an exchange brings one
}

ABSENT: dict[str, float] = {"rebuild": 0.0, "staleness": math.nan, "worker": -1, "joined": -1}
"""Optional columns of a block, with the value of all of its steps if missing."""
TRAINING_ITEMS = "training items"  # the note of rank 0 that has their number: samples over it are epochs


class Record(BaseModel):
    """Base class of records: immutable; unknown fields are rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


class Start(Record):
    """First record of a rank: its identity, and a common reading of its clocks."""

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
    """More ranks than cores on this host: communication time includes waiting for a core."""
    hardware: dict[str, str | int | float] = Field(default_factory=dict)
    versions: dict[str, str] = Field(default_factory=dict)
    restored_step: int | None = None
    evaluated_part: Part = "test"
    """Part of the data that evaluations score; missing in records from before the validation part existed."""
    notes: dict[str, str] = Field(default_factory=dict)
    """Choices made for this rank, with reasons: moving rate, device, exchange path, placement, window..."""
    further_metrics: list[FurtherMetric] = Field([], max_length=64, exclude_if=lambda value: not value)
    """What evaluations report beside loss and accuracy."""


class Steps(Record):
    """A block of consecutive steps: base64 of the little-endian columns of STEP_COLUMNS."""

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
    """Train clock during the evaluation, or when the transfers that it waited for would have been complete, s."""
    wall: float
    """Wall time at which the last rank had stopped, s since the start of the clock."""
    loss: float
    accuracy: float
    seconds: float
    """Time for which the clock stood, s."""
    reached: bool
    """Whether it met the target."""
    further: FurtherValues = Field({}, exclude_if=lambda value: not value)


class Done(Record):
    """Last record of a rank that completed normally."""

    kind: Literal["done"] = "done"
    seq: int = Field(ge=0)
    reason: Literal["budget", "target", "cancelled", "timed_out"]
    step: int
    samples: int
    """Of all workers; with a server those whose updates it has received, not those that a killed worker lost."""
    clock: float
    wall: float
    phases: Phases
    hidden: float
    payload: int
    wire: int
    messages: int
    final_loss: float | None = None
    """Loss of the center at the last evaluation; on the deciding rank."""
    final_accuracy: float | None = None
    test_loss: float | None = None
    """Loss of the final center on the test part; on the deciding rank; null if the run ended early."""
    test_accuracy: float | None = None
    test_seconds: float = 0.0
    """Time for which the clock stood to score the test part, s."""
    test_further: FurtherValues = Field({}, exclude_if=lambda value: not value)
    staleness: dict[int, int] = Field(default_factory=dict)
    """Staleness -> number of exchanges, where measured (server; every worker of a lock-free method)."""
    lost_mass: float | None = None
    """Share lost of updates pushed without locks, on rank 0: |S - S_expected| / sum |pushed|, L1 norms (P13)."""
    dropped: list[int] = Field(default_factory=list)
    """Workers dropped from the run; on the deciding rank."""
    returned: int = Field(0, ge=0, exclude_if=lambda value: not value)
    """Samples that were handed out again because their worker was dropped: these were used at least once, all
    others exactly once per epoch (`sharding: dispatched`); on the deciding rank."""
    slowed_to: float | None = Field(None, exclude_if=lambda value: value is None)
    """Of a slowed real worker: measured share of the time of its gradients, sleep included, in which it worked."""
    batches: int | None = Field(None, exclude_if=lambda value: value is None)  # of a step, if they were measured


class Dropped(Record):
    """A worker with NaN or Inf, or that was killed, was dropped; the run continues without it."""

    kind: Literal["dropped"] = "dropped"
    seq: int = Field(ge=0)
    worker: int
    step: int
    why: str


class Checkpointed(Record):
    """A complete checkpoint has been written to the run's folder."""

    kind: Literal["checkpoint"] = "checkpoint"
    seq: int = Field(ge=0)
    step: int
    samples: int
    path: str
    bytes: int
    sha256: str
    seconds: float = 0.0
    """Time for which the clock stood, s; missing in journals of older versions."""


JournalRecord = Annotated[Start | Steps | Evaluation | Done | Checkpointed | Dropped, Field(discriminator="kind")]


class RankExit(Record):
    """How one rank ended, recorded by its guard. `monotonic` orders the exits on one host."""

    rank: int
    host: str
    pid: int
    code: int | None
    signal: int | None
    monotonic: float
    memory_kills: int = Field(0, exclude_if=lambda value: value == 0)
    """Of a rank that was killed: how many processes the kernel killed on its host for lack of memory meanwhile."""


class StateReport(Record):
    """A run's state as reported by its supervisor, with the evidence."""

    state: Literal["starting", "running", "succeeded", "failed_user", "failed_infra", "cancelled", "timed_out"]
    unix: float
    why: str
    exit_code: int | None = None
    signal: int | None = None
    rank: int | None = None
    host: str | None = None
    cause: RetryCause | None = Field(None, exclude_if=lambda value: value is None)
    """Of an end by a batch scheduler's time limit: `time_limit`; none if it was the budget's wall limit."""


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
    """Body of an ingest request, sent once per attempt and second; it also renews the lease.

    After a failure it is delivered again with the same numbers, and records that are already stored are ignored.
    The bearer token is that of the attempt.
    """

    run: str
    attempt: int = Field(ge=1)
    reports: list[StateReport] = Field(default_factory=list)
    """All reports so far, oldest first. They are applied in order; those already applied are ignored."""
    ranks: list[RankRecords] = Field(default_factory=list)
    logs: list[LogLine] = Field(default_factory=list)
    files: list[FilePart] = Field(default_factory=list, max_length=100, exclude_if=lambda value: not value)
    renew: bool = True


class IngestAnswer(Record):
    """Response to an ingest request: acknowledgements and requests of the API."""

    acknowledged: dict[int, int]
    """For each rank in the request, the highest seq stored without gap (-1: none)."""
    logs: int
    """The highest log seq stored without gap (-1: none)."""
    reports: int
    """Number of reports applied."""
    cancel: bool
    """Whether the run is cancelled: SIGTERM, grace period, SIGKILL, then report `cancelled`."""
    checkpoints: int = Field(0, ge=0)
    """Number of checkpoints requested so far; when it grows, every rank is sent SIGUSR1 once."""
    files: dict[str, int] = Field(default_factory=dict, exclude_if=lambda value: not value)
    """For each file in the request, the number of its first bytes that are stored without gap."""
    fenced: bool = False
    """Whether another attempt owns the run, so that this one must end; its data is still accepted."""


class Described(BaseModel):
    """An algorithm or workload of a cluster: its name and the other fields of its catalogue entry."""

    model_config = ConfigDict(frozen=True, extra="allow")

    name: str = Field(min_length=1, max_length=63)


class FileFault(Record):
    """A user's algorithm or workload that a cluster cannot offer: import error, name already taken.

    `name`: of the class, the file or the package.
    """

    kind: Literal["algorithm", "workload"]
    name: str = Field(max_length=255)
    file: str = Field(max_length=4096)
    error: str = Field(max_length=2000)


class AgentHello(Record):
    """Description of a cluster, sent by its agent on start and every 10 s."""

    name: Name
    cores: int = Field(ge=1, le=10**7)
    """Cores usable by one run on one host; used by `workers: auto`."""
    slots: int = Field(ge=1, le=10**7)
    """Maximum number of busy ranks, because runs timed side by side would disturb each other."""
    launcher: str = Field(min_length=1, max_length=16)
    hardware: dict[str, str | int | float]
    versions: dict[str, str]
    protocol: int = 1
    """Version of the messages between agent and API; `oldest`: the oldest one that the agent understands."""
    oldest: int = 1
    agent: str | None = Field(None, pattern=r"^agt_[0-9a-f]{32}$")
    """Identity of the agent, kept in its home folder; None: an agent of protocol 1."""
    place: str | None = Field(None, max_length=4200)
    """Host and home folder of the agent, which tell a restart from a copy of the folder."""
    machines: list[Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]] = Field([], max_length=4096)
    """Identities of the machines that its ranks run on; empty: unknown."""
    missing_data: dict[str, str] | None = None
    """Built-in workload -> what it lacks of its data with its default parameters, and what to do."""
    algorithms: list[Described] | None = None
    """Catalogue entries (`hooke.catalogue.discovery`); only in the first hello of an agent and after changes."""
    workloads: list[Described] | None = None
    problems: list[FileFault] | None = None
    """User files that are not offered, with reasons; sent with the catalogues."""
