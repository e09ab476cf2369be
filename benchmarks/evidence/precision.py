"""The precision of a machine's matrix: bf16 if it is faster than fp32, else fp32."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.evidence.conditions import BATCH, Precision


def used(sessions: Iterable[Mapping[str, Any]]) -> Precision | None:
    """Return the precision of sessions (bf16 for sessions that did not record it); None without sessions."""
    found = {session.get("precision", "bf16") for session in sessions}
    return next(iter(sorted(found)), None)


def chosen(hardware: Mapping[str, Any], sessions: Iterable[Mapping[str, Any]]) -> Precision:
    """Return the precision of earlier sessions; without any, the faster one on `hardware`, this machine."""
    if before := used(sessions):
        return before
    if hardware["bf16"] == "vectors":
        return faster()
    return "bf16" if hardware["bf16"] == "tiles" else "fp32"


def faster() -> Precision:
    """Measure forward and backward of LeNet in both precisions on this machine; return the faster one."""
    import torch

    from benchmarks.core.compute import fastest, ours

    torch.set_num_threads(1)
    found = fastest({"bf16": ours("bf16", BATCH), "fp32": ours("fp32", BATCH)})
    return "bf16" if found["bf16"] < found["fp32"] else "fp32"
