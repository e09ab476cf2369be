"""Responses about timelines and about what ranks use, by columns. Times are s since the start of the trace."""

from __future__ import annotations

from pydantic import Field

from hooke_api.base.schema import View


class StragglerView(View):
    """The worker that the others wait for most; without collective operations, the slowest one most often."""

    rank: int
    longest: int
    """Number of steps in which its gradient took longest of all workers."""
    steps: int
    """Number of steps that every worker has recorded."""
    waited: float | None
    """Share of the others' time, without evaluations, in which they were blocked until it entered a collective
    operation; null without such operations."""
    consistent: bool
    """Whether `longest` is more than chance would give to any of equal workers, with a probability of 1%."""


class RankTimeline(View):
    """One rank in the window: its slices, or the shares of its phases."""

    rank: int
    role: str
    host: str
    began: list[float]
    """Of each slice; empty where shares are given."""
    ended: list[float]
    phase: list[int]
    """Position in `phases`."""
    step: list[int]
    """Number of the gradient that it belongs to, from 1; 0 before the first."""
    operation: list[int]
    """Position in `operations` of the operation in which the rank was blocked; -1: none."""
    shares: list[list[int]]
    """For each phase, its share of each bin of the window, per mille; empty where slices are given. The sum is
    below 1000 where nothing is recorded."""


class MessagesView(View):
    """Messages between two ranks in the window, as columns, in the order in which they were sent."""

    sender: list[int]
    receiver: list[int]
    sent: list[float]
    received: list[float]
    bytes: list[int]
    left_out: int
    """Number of messages in the window, if there are too many to be returned; then there are none."""


class MeetingsView(View):
    """Collective operations in the window, as columns: who entered last, and when each rank did."""

    ranks: list[int]
    """The ranks that take part in all of them."""
    last: list[int]
    """The rank that entered last."""
    entered: list[list[float]]
    """For each operation, when each of `ranks` entered."""


class TimelineView(View):
    """The timeline of one attempt, or of a window of it, bounded in size at any zoom."""

    attempt: int
    recorded: bool
    """Whether the run records a timeline."""
    complete: bool
    """Whether nothing is missing: the trace of every rank has arrived, with its end. One of a rank that died never
    is complete."""
    received: int
    """Bytes of traces that have arrived."""
    simulated: bool
    remarks: list[str]
    """Ranks whose records end early or are missing, and why."""
    spread: float | None
    """Time between the first and the last rank of one clock to leave the start barrier, s: error of alignment."""
    span: float
    """Time of the last record."""
    start: float
    """Beginning of the window."""
    stop: float
    steps: int
    """Steps that every worker has recorded."""
    bins: int
    """Number of bins of the window; 0: slices are given."""
    phases: list[str]
    operations: list[str]
    ranks: list[RankTimeline]
    messages: MessagesView
    meetings: MeetingsView
    straggler: StragglerView | None
    """Of the whole trace."""


class ProcessSamples(View):
    """What one process used, a value for each time; null: not measured then."""

    rank: int
    """Its rank; of a virtual run, whose ranks share a process, 0."""
    cpu: list[float | None] = Field(description="Processors used since the sample before, mean.")
    memory: list[float | None] = Field(description="Resident memory, bytes.")


class HostSamples(View):
    """What a host did, all of its processes together."""

    host: str
    received: list[float | None] = Field(
        description="Bytes per second received by its network devices, no loopback."
    )
    sent: list[float | None]
    power: list[float | None] = Field(description="Watts of its processors and memory, by RAPL.")
    gpu: list[float | None] = Field(description="Mean share of its GPUs that was busy; null: not readable.")
    gpu_memory: list[float | None] = Field(description="Bytes in use on the NVIDIA GPUs that ranks use.")
    gpu_power: list[float | None] = Field(description="Watts of the NVIDIA GPUs that ranks use, by NVML.")


class EnergyView(View):
    """Energy of the processors, the memory and the used GPUs of a host while the ranks of an attempt ran on it."""

    joules: float | None
    seconds: float | None
    """For which it was counted, wall clock."""
    note: str
    """Why it is not known, or what has to be known of it; may be empty."""


class SystemView(View):
    """Samples of an attempt by its supervisor, about every 5 s at first: of the ranks on the supervisor's host."""

    attempt: int
    simulated: bool
    at: list[float]
    """Seconds since the first sample."""
    began: float | None
    """Time of the first sample, seconds since 1970."""
    processes: list[ProcessSamples]
    host: HostSamples | None
    elsewhere: list[int]
    """Ranks on other hosts, which are not sampled."""
    energy: EnergyView | None
    """Null: nothing was sampled, or the run is simulated."""
