"""Responses about timelines and about what ranks use, by columns. Times are s since the start of the trace."""

from __future__ import annotations

from pydantic import Field

from hooke_api.base.schema import View


class StragglerView(View):
    """The worker that the others wait for most; without collective operations, the slowest one most often."""

    rank: int
    """The rank of this worker."""
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
    """`worker` or `server`."""
    host: str
    began: list[float]
    """Begin of each slice, s; empty where shares are given."""
    ended: list[float]
    """End of each slice, s."""
    phase: list[int]
    """Phase of each slice: its position in `phases`."""
    step: list[int]
    """Gradient that each slice belongs to, from 1; 0 before the first."""
    operation: list[int]
    """Operation in which the rank was blocked in each slice: its position in `operations`; -1: none."""
    shares: list[list[int]]
    """For each phase, its share of each bin of the window, per mille; empty where slices are given. The sum is
    below 1000 where nothing is recorded."""


class MessagesView(View):
    """Messages between two ranks in the window, as columns, in the order in which they were sent."""

    sender: list[int]
    """Rank that sent each."""
    receiver: list[int]
    """Rank that received each."""
    sent: list[float]
    """When each was sent, s."""
    received: list[float]
    """When each was received, s."""
    bytes: list[int]
    """Size of each, bytes."""
    left_out: int
    """Number of messages in the window where these are too many to be listed; 0: all are."""


class MeetingsView(View):
    """Collective operations in the window, as columns: who entered last, and when each rank did."""

    ranks: list[int]
    """The ranks that take part in all of them."""
    last: list[int]
    """The rank that entered each operation last."""
    entered: list[list[float]]
    """For each operation, when each of `ranks` entered it, s."""


class TimelineView(View):
    """The timeline of one attempt, or of a window of it, bounded in size at any zoom."""

    attempt: int
    recorded: bool
    """Whether the run records a timeline."""
    complete: bool
    """Whether the whole trace of every rank has arrived; of a rank that died, it never does."""
    received: int
    """Bytes of traces that have arrived."""
    simulated: bool
    remarks: list[str]
    """Ranks whose records end early or are missing, and why."""
    spread: float | None
    """Time between the first and the last rank of one clock to leave the start barrier, s: error of alignment."""
    span: float
    """Time of the last record, s."""
    start: float
    """Begin of the window, s."""
    stop: float
    """End of the window, s."""
    steps: int
    """Number of steps that every worker has recorded."""
    bins: int
    """Number of equal parts of the window; 0: slices are given."""
    phases: list[str]
    """Names of the phases."""
    operations: list[str]
    """Names of the operations."""
    ranks: list[RankTimeline]
    """One for each rank."""
    messages: MessagesView
    """Messages between ranks in the window."""
    meetings: MeetingsView
    """Collective operations in the window."""
    straggler: StragglerView | None
    """The worker that the others wait for, in the whole trace; null: there is none."""


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
    """Bytes per second that these devices sent."""
    power: list[float | None] = Field(description="Watts of its processors and memory, by RAPL.")
    gpu: list[float | None] = Field(description="Mean share of its GPUs that was busy; null: not readable.")
    gpu_memory: list[float | None] = Field(description="Bytes in use on the NVIDIA GPUs that ranks use.")
    gpu_power: list[float | None] = Field(description="Watts of the NVIDIA GPUs that ranks use, by NVML.")


class EnergyView(View):
    """Energy of the processors, the memory and the used GPUs of a host while the ranks of an attempt ran on it."""

    joules: float | None
    """Energy, J; null: not known."""
    seconds: float | None
    """For which it was counted, wall clock."""
    note: str
    """Why it is not known, or what has to be known of it; may be empty."""


class SystemView(View):
    """Samples of an attempt by its supervisor, about every 5 s at first: of the ranks on the supervisor's host."""

    attempt: int
    simulated: bool
    at: list[float]
    """Times of the samples, s since the first one."""
    began: float | None
    """Time of the first sample, seconds since 1970."""
    processes: list[ProcessSamples]
    """One for each sampled rank."""
    host: HostSamples | None
    """The host of the supervisor; null: nothing was sampled."""
    elsewhere: list[int]
    """Ranks on other hosts, which are not sampled."""
    energy: EnergyView | None
    """Energy of that host; null: nothing was sampled, or the run is simulated."""
