"""Workers of a virtual cluster whose speeds differ: from worker to worker, over time, and now and then."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, field_validator

from hooke.spec.devices import (
    LEAST_SPEED,
    PROFILES,
    Change,
    DeviceGroup,
    Profile,
    Straggling,
    StragglingFactor,
    factor_of,
    of_worker,
)
from hooke.spec.frozen import Frozen

Speed = Annotated[float, Field(ge=LEAST_SPEED, le=1000)]


def _absent(value: Any) -> bool:
    return not value


class SpeedChange(Change):
    """A change of speed of a worker, or of all."""

    worker: int | None = Field(None, ge=0, le=4095, title="Worker", description="Its rank; empty: all workers.")


class UnequalWorkers(Frozen):
    """Relative speeds of the workers; with the defaults all are equal, and the fingerprint is as without them."""

    devices: tuple[DeviceGroup, ...] = Field(
        (),
        max_length=256,
        exclude_if=_absent,
        title="Devices",
        description="Kinds of worker 0, 1, ...: virtual devices with times and links of their own (assumed "
        "constants), or CPUs; empty: all as the cluster says.",
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
    straggling: Straggling = Field(
        0, description="Chance that a gradient takes `straggling_factor` times as long."
    )
    straggling_factor: StragglingFactor = 10

    @field_validator("devices")
    @classmethod
    def _simulated(cls, value: tuple[DeviceGroup, ...]) -> tuple[DeviceGroup, ...]:
        for group in value:
            if group.kind not in PROFILES:
                raise ValueError(f"there is no virtual device {group.kind}: choose one of {', '.join(PROFILES)}")
            if group.kind == "cpu" and group.threads > 1:
                raise ValueError("threads of kind cpu are not simulated: give its `speed` instead")
        return value

    @property
    def described(self) -> int:
        """Return the number of workers that `devices` describe; 0: any number."""
        return sum(group.count for group in self.devices)

    def profile(self, worker: int) -> Profile | None:
        """Return the profile of a worker's device; None without `devices`."""
        group = of_worker(self.devices, worker)
        return None if group is None else PROFILES[group.kind]

    @property
    def own_links(self) -> bool:
        """Return whether a device has a link of its own, so that ranks do not share one memory."""
        return any(PROFILES[group.kind].seconds_per_byte is not None for group in self.devices)

    def speed(self, worker: int, seconds: float) -> float:
        """Return the relative speed of a worker at a time of the run, in virtual seconds."""
        group = of_worker(self.devices, worker)
        own = self.speeds[worker % len(self.speeds)] if self.speeds else 1.0
        if group is not None:
            own *= group.speed * factor_of(group.changes, seconds)
        return own * factor_of((each for each in self.speed_changes if each.worker in (None, worker)), seconds)

    def stragglers(self, worker: int) -> tuple[float, float]:
        """Return the chance that a gradient straggles, and by how much: of the worker's group, else of all."""
        group = of_worker(self.devices, worker)
        own = self if group is None or not group.straggling else group
        return own.straggling, own.straggling_factor


def with_devices(cluster: Any) -> Any:
    """Return the document of a cluster, with `workers: [{kind, count}, ...]` as numbers and groups.

    Of a virtual cluster the groups are the virtual cluster's `devices`, else `groups`. All entries must be such
    groups; everything else is returned as it is, for its own message.
    """
    groups = cluster.get("workers") if isinstance(cluster, dict) else None
    if not isinstance(groups, list) or not groups or not all(isinstance(group, dict) for group in groups):
        return cluster
    virtual = cluster.get("virtual")
    counts = [group.get("count", 1) for group in groups]
    if not all(isinstance(n, int) for n in counts):
        return cluster
    workers = [sum(max(1, n) for n in counts)]  # a count below 1 is told of its group
    if virtual is None and "groups" not in cluster:
        return {**cluster, "workers": workers, "groups": groups}
    if not isinstance(virtual, dict) or "devices" in virtual:
        return cluster
    return {**cluster, "workers": workers, "virtual": {**virtual, "devices": groups}}


def as_written(document: Any, place: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Return where a document has what `with_devices` has made groups of; every other place as it is."""
    clusters = document.get("clusters") if isinstance(document, dict) and place[:1] == ("clusters",) else None
    index = place[1] if len(place) > 1 else None
    if not isinstance(clusters, list) or not isinstance(index, int) or index >= len(clusters):
        return place
    for made in (("groups",), ("virtual", "devices")):
        end = 2 + len(made)
        if place[2:end] == made and with_devices(clusters[index]) is not clusters[index]:
            return (*place[:2], "workers", *place[end:])
    return place
