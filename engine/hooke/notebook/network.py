"""A simulated network in readable units."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

from hooke.errors import ArgumentError
from hooke.notebook.values import real

PRESETS: dict[str, tuple[float, float]] = {
    # name -> (seconds per byte, seconds per message)
    "10gbe": (0.9e-9, 7.2e-6),
    "qdr": (0.3e-9, 1.2e-6),
    "fdr": (0.2e-9, 0.7e-6),
}
"""10 Gb/s Ethernet, and typical values of QDR and FDR InfiniBand: those of the form in the browser."""
LATENCY = "50us"
"""Latency of a network that is given by its bandwidth: that of TCP in one building."""
_PREFIX = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}
_RATE = re.compile(r"\s*([0-9.]+(?:e[+-]?[0-9]+)?)\s*([kKmMgGtT]?)(bits?|b|bytes?|B)(?:/s|ps)\s*")
_TIME = re.compile(r"\s*([0-9.]+(?:e[+-]?[0-9]+)?)\s*(s|ms|us|µs|μs|ns)\s*")


@dataclass(frozen=True)
class Network:
    """The links between simulated workers: one message at a time in each direction, latency + bytes / bandwidth.

    `bandwidth` of one direction: "1Gb/s", "100 Mbit/s", "12.5GB/s" (b: bits, B: bytes), or the name of a preset,
    "10gbe", "qdr", "fdr", which also has a latency. `latency` per message: "50us", "7.2 µs", "1ms"; empty: that of
    the preset, otherwise 50 us. `to_server`: bandwidth between workers and a server; None: as between workers.
    `jitter`: sigma of the log-normal factor on each gradient's time. Raises ArgumentError for another unit.
    """

    bandwidth: str
    latency: str | None = None
    to_server: str | None = None
    jitter: float = 0.05
    seconds_per_byte: float = field(init=False, repr=False)
    seconds_per_message: float = field(init=False, repr=False)
    seconds_per_byte_to_server: float | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        preset = PRESETS.get(self.bandwidth.strip().lower()) if isinstance(self.bandwidth, str) else None
        per_byte = preset[0] if preset else _per_byte(self.bandwidth, "bandwidth")
        latency = _seconds(LATENCY if self.latency is None else self.latency)
        per_message = preset[1] if preset and self.latency is None else latency
        server = None if self.to_server is None else _per_byte(self.to_server, "to_server")
        object.__setattr__(self, "jitter", real("jitter", self.jitter, "0.05"))
        object.__setattr__(self, "seconds_per_byte", per_byte)
        object.__setattr__(self, "seconds_per_message", per_message)
        object.__setattr__(self, "seconds_per_byte_to_server", server)

    @property
    def name(self) -> str:
        """Return the name of the virtual cluster, such as `1gb-s-50us`; `1gbyte-s-50us` of bytes."""
        parts = (re.sub(r"B(?=/s|ps)", "byte", self.bandwidth), self.latency or "")
        text = "-".join(re.sub(r"\s", "", part).lower().replace("µ", "u").replace("μ", "u") for part in parts)
        return re.sub(r"[^a-z0-9.]+", "-", text).strip("-.")

    def document(self, seconds_per_sample: float, measured: str | None) -> dict[str, Any]:
        """Return the `virtual` of a cluster in a specification.

        `seconds_per_sample`: forward and backward; `measured`: the source of that time, None if it is assumed.
        """
        return {
            "latency": self.seconds_per_message,
            "seconds_per_byte": self.seconds_per_byte,
            "host_seconds_per_byte": self.seconds_per_byte_to_server,
            "compute_seconds_per_sample": seconds_per_sample,
            "compute_source": measured,
            "compute_jitter": self.jitter,
        }


def network_of(given: object) -> Network:
    """Return a network that is given as one, or as the text of its bandwidth; None: 10 Gb/s Ethernet."""
    if given is None:
        return Network("10gbe")
    if isinstance(given, Network):
        return given
    if isinstance(given, str):
        return Network(given)
    raise ArgumentError(
        f'`network` is a hooke.Network or its bandwidth, such as "1Gb/s", not {type(given).__name__}'
    )


def _per_byte(text: object, argument: str) -> float:
    found = _RATE.fullmatch(text) if isinstance(text, str) else None
    number = _number(found[1]) if found else None
    if found is None or not number:
        presets = ", ".join(map(repr, PRESETS))
        raise ArgumentError(
            f'`{argument}` of a network is a rate such as "1Gb/s" (bits) or "100MB/s" (bytes), or one of '
            f"{presets}, not {text!r}"
        )
    bits = 8.0 if found[3].startswith("B") or found[3].startswith("byte") else 1.0
    return 8.0 / (number * _PREFIX[found[2].lower()] * bits)


def _seconds(text: object) -> float:
    found = _TIME.fullmatch(text) if isinstance(text, str) else None
    number = _number(found[1]) if found else None
    if found is None or number is None:
        raise ArgumentError(f'`latency` of a network is a time such as "50us" or "1ms", not {text!r}')
    return number * _SECONDS[found[2]]


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) else None
