"""Workers of a virtual cluster whose speeds differ: from worker to worker, over time, and now and then."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from hooke.spec.devices import PROFILES, DeviceGroup, Profile
from hooke.spec.frozen import Frozen

Speed = Annotated[float, Field(gt=0, le=1000)]


def _absent(value: Any) -> bool:
    return not value


class SpeedChange(Frozen):
    """A change of speed: sudden, or linear over some seconds."""

    worker: int | None = Field(None, ge=0, le=4095, title="Worker", description="Its rank; empty: all workers.")
    at: float = Field(ge=0, le=10**9, title="At", description="Virtual seconds of the run at which it begins.")
    over: float = Field(
        0, ge=0, le=10**9, title="Over", description="Seconds in which the speed changes linearly; 0: at once."
    )
    speed: Speed = Field(
        title="Speed", description="Afterwards: a factor on the worker's speed before all changes."
    )


class UnequalWorkers(Frozen):
    """Relative speeds of the workers; with the defaults all are equal, and the fingerprint is as without them."""

    devices: tuple[DeviceGroup, ...] = Field(
        (),
        max_length=256,
        exclude_if=_absent,
        title="Devices",
        description="Virtual devices of worker 0, 1, ..., with times and links of their own (assumed constants); "
        "empty: all as the cluster says.",
    )
    speeds: tuple[Speed, ...] = Field(
        (),
        max_length=4096,
        exclude_if=_absent,
        title="Speeds",
        description="Relative speed of worker 0, 1, ..., from the beginning again where there are more workers: "
        "at 0.5 a gradient takes twice as long. A factor on that of its device, if any.",
    )
    speed_changes: tuple[SpeedChange, ...] = Field(
        (),
        max_length=256,
        exclude_if=_absent,
        title="Changes of speed",
        description="In the order of their beginnings; each holds until the worker's next one.",
    )
    straggling: float = Field(
        0,
        ge=0,
        le=1,
        exclude_if=_absent,
        title="Straggling",
        description="Chance that a gradient takes `straggling_factor` times as long.",
    )
    straggling_factor: float = Field(
        10,
        ge=1,
        le=10_000,
        exclude_if=lambda value: value == 10,
        title="Straggling factor",
        description="How much longer such a gradient takes.",
    )

    @property
    def described(self) -> int:
        """Return the number of workers that `devices` describe; 0: any number."""
        return sum(group.count for group in self.devices)

    def profile(self, worker: int) -> Profile | None:
        """Return the profile of a worker's device; None without `devices`."""
        kinds = [group.kind for group in self.devices for _ in range(group.count)]
        return PROFILES[kinds[worker % len(kinds)]] if kinds else None

    def speed(self, worker: int, seconds: float) -> float:
        """Return the relative speed of a worker at a time of the run, in virtual seconds."""
        own = self.speeds[worker % len(self.speeds)] if self.speeds else 1.0
        factor = 1.0
        for change in self.speed_changes:
            if change.worker not in (None, worker) or seconds < change.at:
                continue
            done = 1.0 if seconds >= change.at + change.over else (seconds - change.at) / change.over
            factor += (change.speed - factor) * done
        return own * factor


def with_devices(cluster: Any) -> Any:
    """Return the document of a cluster, with `workers: [{kind, count}, ...]` as the virtual cluster's `devices`.

    All entries must be such groups; everything else is returned as it is, for its own message.
    """
    groups = cluster.get("workers") if isinstance(cluster, dict) else None
    if not isinstance(groups, list) or not groups or not all(isinstance(group, dict) for group in groups):
        return cluster
    virtual = cluster.get("virtual")
    counts = [group.get("count", 1) for group in groups]
    if not isinstance(virtual, dict) or "devices" in virtual or not all(isinstance(n, int) for n in counts):
        return cluster
    return {**cluster, "workers": [sum(counts)], "virtual": {**virtual, "devices": groups}}
