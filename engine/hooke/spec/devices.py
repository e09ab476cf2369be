"""Kinds of workers, and profiles of virtual devices: how long a batch takes, what a message costs.

`cpu`, `hogwild-cpu` and `cuda` are kinds of real workers; the first two exist in virtual time, too, where a thread
takes the cluster's time of a sample. All other kinds are virtual devices, whose constants are assumptions:

seconds(b) = overhead + b s / speed, where s is the cluster's time of a sample: throughput grows with the batch.
Speeds are relative to `cpu-28`, two CPUs of 14 cores, for which s stands.

============  ======  ==========================================================================================
profile       speed   assumed from
============  ======  ==========================================================================================
cpu-28        1       two Xeons of 14 cores at about 2 GHz with AVX2: 28 x 16 multiply-adds x 2 GHz, 1.8 TFLOP/s
                      in float32; overhead of a step in one process; the host's own memory, 10 GB/s per copy,
                      of which there is always enough
k80           2.2     one of the card's two GPUs: 2.8 to 4.4 TFLOP/s in float32; kernels one after the other;
                      PCIe 3, 10 GB/s; 12 of the card's 24 GB
v100          8       14 to 15.7 TFLOP/s in float32; PCIe 3, 12 GB/s; 16 GB (there is one with 32)
h100          32      51 to 67 TFLOP/s in float32 without tensor cores; PCIe 5, 50 GB/s; 80 GB
============  ======  ==========================================================================================

Peaks and memory are those of the makers' data sheets, with 10^9 bytes in a GB; that all reach the same share of
their peaks is assumed, too. What does not fit in the memory is refused (`hooke.catalogue.capacity`). Measure a
device of your own and give `speeds`, `compute_seconds_per_step` and links instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import Field, model_validator

from hooke.spec.frozen import Frozen

Kind = Literal["cpu", "hogwild-cpu", "cuda", "cpu-28", "k80", "v100", "h100"]
REAL: tuple[Kind, ...] = ("cpu", "hogwild-cpu", "cuda")
"""Kinds that a real cluster has; a virtual one has all but `cuda`."""
LEAST_SPEED = 1e-9
"""Of a worker, of its group and of a change, whose product divides times."""


class Profile(NamedTuple):
    """One device."""

    speed: float
    """Samples per second at large batches, relative to `cpu-28`."""
    overhead: float
    """Seconds of a gradient in addition to those of its samples: launches, synchronization."""
    seconds_per_byte: float | None
    """Of its link to the host, one direction; None: that of the cluster."""
    memory: int | None = None
    """Bytes for weights, the other vectors of a worker and the activations of a batch; None: without bound."""


PROFILES: dict[Kind, Profile] = {
    "cpu": Profile(1.0, 0.0, None),
    "hogwild-cpu": Profile(1.0, 0.0, None),
    "cpu-28": Profile(1.0, 50e-6, 1e-10),
    "k80": Profile(2.2, 1e-3, 1e-10, 12 * 10**9),
    "v100": Profile(8.0, 400e-6, 8.3e-11, 16 * 10**9),
    "h100": Profile(32.0, 250e-6, 2e-11, 80 * 10**9),
}


def _absent(value: Any) -> bool:
    return not value


def _one(value: Any) -> bool:
    return bool(value == 1)


class Change(Frozen):
    """A change of speed: sudden, or linear over some seconds."""

    at: float = Field(
        ge=0, le=10**9, title="At", description="Seconds of the run, evaluations included, at which it begins."
    )
    over: float = Field(
        0, ge=0, le=10**9, title="Over", description="Seconds in which the speed changes linearly; 0: at once."
    )
    speed: float = Field(
        ge=LEAST_SPEED,
        le=1000,
        title="Speed",
        description="Speed afterwards: a factor on the worker's speed before all changes.",
    )


def factor_of(changes: Iterable[Change], seconds: float) -> float:
    """Return the factor on a speed, at a time of the run in seconds, after changes in their order."""
    factor = 1.0
    for change in changes:
        if seconds >= change.at:
            if seconds >= change.at + change.over:
                factor = change.speed
            else:
                factor += (change.speed - factor) * ((seconds - change.at) / change.over)
    return factor


def in_order(changes: Iterable[Change]) -> bool:
    """Return whether changes are in the order of their beginnings."""
    begins = [change.at for change in changes]
    return begins == sorted(begins)


Straggling = Annotated[float, Field(ge=0, le=1, exclude_if=_absent, title="Straggling")]
StragglingFactor = Annotated[
    float,
    Field(
        ge=1,
        le=10_000,
        exclude_if=lambda value: value == 10,
        title="Straggling factor",
        description="How much longer such a gradient takes.",
    ),
]


class DeviceGroup(Frozen):
    """Workers of the same kind."""

    kind: Kind = Field(
        title="Kind",
        description="`cpu`: a process on the CPU. `hogwild-cpu`: one with threads that share its weights without "
        "locks. `cuda`: one on a CUDA device of its host, real clusters only. Others: virtual devices with a "
        "profile of `hooke.spec.devices`, whose constants are assumptions.",
    )
    count: int = Field(1, ge=1, le=4096, title="Count", description="Workers of this kind.")
    threads: int = Field(
        1,
        ge=1,
        le=1024,
        exclude_if=_one,
        title="Threads",
        description="`hogwild-cpu`: threads that compute sub-batches. `cpu`: intra-op threads, real clusters "
        "only.",
    )
    sub_batches: int | None = Field(
        None,
        ge=1,
        le=65536,
        exclude_if=lambda value: value is None,
        title="Sub-batches",
        description="`hogwild-cpu`: parts of a batch, each of which is an update; empty: one per thread.",
    )
    speed: float = Field(
        1.0,
        ge=LEAST_SPEED,
        le=1000,
        exclude_if=_one,
        title="Speed",
        description="Factor on the speed of its gradients. On a real cluster at most 1: the process sleeps after "
        "each gradient, so that it is that much slower than it could be.",
    )
    precision: Literal["fp32", "bf16"] | None = Field(
        None,
        exclude_if=lambda value: value is None,
        title="Precision",
        description="Of forward and backward; empty: that of the run.",
    )
    changes: tuple[Change, ...] = Field(
        (),
        max_length=64,
        exclude_if=_absent,
        title="Changes of speed",
        description="Sudden or drifting, in the order of their beginnings; each holds until the next one. A real "
        "worker sleeps accordingly.",
    )
    straggling: Straggling = Field(
        0,
        description="Chance that a gradient takes `straggling_factor` times as long; of a real worker by a sleep.",
    )
    straggling_factor: StragglingFactor = 10

    @model_validator(mode="after")
    def _fields_of_the_kind(self) -> DeviceGroup:
        if not in_order(self.changes):
            raise ValueError("list the changes of speed in the order of their beginnings (`at`)")
        if self.threads > 1 and self.kind not in ("cpu", "hogwild-cpu"):
            raise ValueError(f"{self.kind} has no `threads`: they are those of cpu and hogwild-cpu")
        if self.sub_batches is not None and self.kind != "hogwild-cpu":
            raise ValueError(f"{self.kind} has no `sub_batches`: they are those of hogwild-cpu")
        return self

    @property
    def notation(self) -> str:
        """Return its kind with all that it has, as the form writes it: `hogwild-cpu:8`, `cpu@0.5~30:0.25`."""
        threads = f":{self.threads}" if self.threads > 1 else ""
        parts = "" if self.sub_batches is None else f"/{self.sub_batches}"
        speed = f"@{self.speed:g}" if self.speed != 1 else ""
        precision = f"+{self.precision}" if self.precision else ""
        changes = "".join(
            f"~{each.at:g}{f'+{each.over:g}' if each.over else ''}:{each.speed:g}" for each in self.changes
        )
        longer = f"*{self.straggling_factor:g}" if self.straggling_factor != 10 else ""  # noqa: PLR2004 - its default
        straggling = f"!{self.straggling:g}{longer}" if self.straggling else ""
        return f"{self.kind}{threads}{parts}{speed}{precision}{changes}{straggling}"

    @property
    def parts(self) -> int:
        """Return the sub-batches of a batch; 1: it is computed as a whole."""
        if self.kind != "hogwild-cpu":
            return 1
        return self.sub_batches or self.threads

    @property
    def shares_weights(self) -> bool:
        """Return whether its workers split their batches (`hooke.objective.hogwild`)."""
        return self.parts > 1

    def at_once(self, batch: int) -> float:
        """Return how many times as fast as one of its threads a worker is: items over those of the busiest one.

        A thread that is free takes the next sub-batch; the first ones are larger by one where they differ.
        """
        if not self.shares_weights:
            return 1.0
        busy, (least, more) = [0] * self.threads, divmod(batch, self.parts)
        for part in range(self.parts):
            busy[busy.index(min(busy))] += least + (part < more)
        return batch / max(busy)

    @property
    def steady(self) -> bool:
        """Return whether its speed is the same for all gradients."""
        return not (self.changes or self.straggling)

    @property
    def most(self) -> float:
        """Return the highest speed that it ever has."""
        return self.speed * max([1.0, *(change.speed for change in self.changes)])


Groups = Annotated[
    tuple[DeviceGroup, ...],
    Field(
        max_length=256,
        exclude_if=_absent,  # documents without it keep their fingerprint
        title="Groups of workers",
        description="Kinds of worker 0, 1, ... of a real cluster; of a virtual one they are its `devices`. "
        "Written as `workers`: [{kind, count, threads, speed}, ...].",
    ),
]


def of_worker(groups: tuple[DeviceGroup, ...], worker: int) -> DeviceGroup | None:
    """Return the group of worker 0, 1, ..., from the beginning again for further workers; None without groups."""
    total = sum(group.count for group in groups)
    left = worker % total if total else 0
    for group in groups:
        if left < group.count:
            return group
        left -= group.count
    return None


class Grouped:
    """What follows from the groups of a run's workers."""

    if TYPE_CHECKING:
        workers: int
        groups: tuple[DeviceGroup, ...]
        virtual: Any
        world: str

    @property
    def worker_groups(self) -> tuple[DeviceGroup, ...]:
        """Return the kinds of worker 0, 1, ... in the run's world."""
        found: tuple[DeviceGroup, ...] = (
            self.virtual.devices if self.virtual and self.world == "virtual" else self.groups
        )
        return found

    def group(self, rank: int) -> DeviceGroup | None:
        """Return the group of a worker; None of a server, and where workers have no kinds."""
        return of_worker(self.worker_groups, rank) if rank < self.workers else None

    @property
    def shares_weights(self) -> bool:
        """Return whether a worker has threads that share its weights without locks."""
        found = (self.group(rank) for rank in range(self.workers))
        return any(group.shares_weights for group in found if group is not None)

    @property
    def worker_slots(self) -> int:
        """Return the cores that the workers use: their threads."""
        found = [self.group(rank) for rank in range(self.workers)]
        return sum(1 if group is None else group.threads for group in found)
