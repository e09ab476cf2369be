"""Profiles of virtual devices: how long a batch takes, and what a message costs. All constants are assumptions.

seconds(b) = overhead + b s / speed, where s is the cluster's time of a sample: throughput grows with the batch.
Speeds are relative to `cpu-28`, two CPUs of 14 cores, for which s stands.

============  ======  ==========================================================================================
profile       speed   assumed from
============  ======  ==========================================================================================
cpu-28        1       two Xeons of 14 cores at about 2 GHz with AVX2: 28 x 16 multiply-adds x 2 GHz, 1.8 TFLOP/s
                      in float32; overhead of a step in one process; the host's own memory, 10 GB/s per copy
k80           2.2     one of the card's two GPUs: 2.8 to 4.4 TFLOP/s in float32; kernels one after the other;
                      PCIe 3, 10 GB/s
v100          8       14 to 15.7 TFLOP/s in float32; PCIe 3, 12 GB/s
h100          32      51 to 67 TFLOP/s in float32 without tensor cores; PCIe 5, 50 GB/s
============  ======  ==========================================================================================

Peaks are those of the makers' data sheets; that all reach the same share of them is assumed, too. Memory is not
modelled. Measure a device of your own and give `speeds`, `compute_seconds_per_step` and links instead.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import Field

from hooke.spec.frozen import Frozen

Kind = Literal["cpu-28", "k80", "v100", "h100"]


class Profile(NamedTuple):
    """One device."""

    speed: float
    """Samples per second at large batches, relative to `cpu-28`."""
    overhead: float
    """Seconds of a gradient in addition to those of its samples: launches, synchronization."""
    seconds_per_byte: float
    """Of its link to the host, one direction."""


PROFILES: dict[Kind, Profile] = {
    "cpu-28": Profile(1.0, 50e-6, 1e-10),
    "k80": Profile(2.2, 1e-3, 1e-10),
    "v100": Profile(8.0, 400e-6, 8.3e-11),
    "h100": Profile(32.0, 250e-6, 2e-11),
}


class DeviceGroup(Frozen):
    """Workers with the same virtual device."""

    kind: Kind = Field(
        title="Kind", description="A profile of `hooke.spec.devices`; its constants are assumptions."
    )
    count: int = Field(1, ge=1, le=4096, title="Count", description="Workers with this device.")
