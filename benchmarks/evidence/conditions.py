"""The conditions of all measurements: places, target, budgets, evaluation interval, seeds.

Methods: `methods.py`; runs with a fixed number of steps: `paces.py`; order of execution: `matrix.py`; selection of
learning rates: `search.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Precision = Literal["bf16", "fp32"]
METRIC = "validation_accuracy"
TARGET = 0.96
BATCH = 16
MU = 0.9
SPRING = {"beta": 0.9}
"""a = beta / P, as arXiv 1412.6651 recommends."""
SEVERAL = 16
"""Steps per exchange of methods with a second period in their label; the paper's period is 1."""
TUNING_SEED = 100
"""Seed for the selection of rates and periods; it is in no result."""
HOLDING_SEEDS = (101, 102)
"""Seeds with which the selected rate must not diverge; not in any result either."""
SEEDS = 3
CLAIM_SEEDS = 5
"""Reported seeds are 0, 1, 2, and for claims of the paper also 3 and 4."""
EVERY = 1_600
"""Samples between evaluations; the crossing of the target is known to lie between two evaluations."""
SAMPLES = 80_000
MAX_SECONDS = 240.0
"""Budgets of a run, in samples and in wall seconds; a run that uses up either has not met the target."""
CLOCK = 2
"""Version of the clock rule; results with different versions are not mixed."""
NETWORK: dict[str, float] = {
    "latency": 10e-6,
    "seconds_per_byte": 8e-9,
    "compute_seconds_per_sample": 160e-6,
}
"""Of the virtual cluster: 1 Gb/s."""


@dataclass(frozen=True)
class Place:
    """A place of runs: emulated hosts (`lab`), this machine without them (`here`), or virtual time."""

    name: str
    title: str
    world: Literal["lab", "here", "virtual"]
    hosts: int
    """Number of workers; each emulated host has one."""
    rate: str = "1gbit"
    network: tuple[tuple[str, float], ...] = ()
    """Constants of the virtual cluster that differ from NETWORK."""

    @property
    def constants(self) -> dict[str, Any]:
        """Return the constants of the virtual cluster."""
        return NETWORK | dict(self.network)


def _costs(name: str, title: str, link: float, host: float | None) -> Place:
    constants = {"seconds_per_byte": link} | ({} if host is None else {"host_seconds_per_byte": host})
    return Place(name, title, "virtual", 8, network=tuple(constants.items()))


COSTS = (
    _costs("copy-3-of-40g", "links 40 Gb/s, copy to the host at 3 times the cost", 0.2e-9, 0.6e-9),
    _costs("link-40g", "links 40 Gb/s, the host's too", 0.2e-9, None),
    _costs("copy-2", "links 10 Gb/s, copy to the host at 2 times the cost", 0.8e-9, 1.6e-9),
    _costs("link-10g", "links 10 Gb/s, the host's too", 0.8e-9, None),
    _costs("link-1g", "links 1 Gb/s, the host's too", 8e-9, None),
)
"""Cost of a byte between workers, and between a worker and the host with the center (simulated)."""
SLOWER = (
    Place("2-hosts-250m", "2 emulated hosts, 250 Mb/s", "lab", 2, "250mbit"),
    Place("2-hosts-100m", "2 emulated hosts, 100 Mb/s", "lab", 2, "100mbit"),
)
PARTS = tuple(
    Place(f"{n}-parts", f"{n} {'part' if n == 1 else 'parts'} of one chip, on this machine's cores", "here", n)
    for n in (1, 4, 8, 16)
)
"""Parts of a many-core chip: ranks of this machine without emulated hosts."""
PLACES = {
    place.name: place
    for place in (
        Place("8-hosts", "8 emulated hosts, 1 Gb/s", "lab", 8),
        Place("4-hosts", "4 emulated hosts, 1 Gb/s", "lab", 4),
        Place("2-hosts", "2 emulated hosts, 1 Gb/s", "lab", 2),
        Place("1-host", "1 emulated host", "lab", 1),
        Place("here", "one worker, no network", "here", 1),
        Place("virtual", "8 workers on a virtual cluster of 1 Gb/s", "virtual", 8),
        *COSTS,
        *SLOWER,
        *PARTS,
    )
}
SCALING = ("1-host", "2-hosts", "4-hosts", "8-hosts")
