"""What a machine's matrix computes in: bf16 where it is faster than fp32, else fp32."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.evidence.conditions import BATCH, Precision


def used(sessions: Iterable[Mapping[str, Any]]) -> Precision | None:
    """Return what sessions computed in (bf16 where they are from before it was taken down); None without any."""
    found = {session.get("precision", "bf16") for session in sessions}
    return next(iter(sorted(found)), None)


def chosen(hardware: Mapping[str, Any], sessions: Iterable[Mapping[str, Any]]) -> Precision:
    """Return what the sessions before computed in, else what is fast on `hardware`, which is this machine."""
    if before := used(sessions):
        return before
    if hardware["bf16"] == "vectors":
        return faster()
    return "bf16" if hardware["bf16"] == "tiles" else "fp32"


def faster() -> Precision:
    """Measure forward and backward of LeNet in both on this machine; return the faster one."""
    import torch

    from benchmarks.core.compute import fastest, ours

    torch.set_num_threads(1)
    found = fastest({"bf16": ours("bf16", BATCH), "fp32": ours("fp32", BATCH)})
    return "bf16" if found["bf16"] < found["fp32"] else "fp32"
