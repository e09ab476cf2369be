"""Name and hardware of a machine, to distinguish the results of several machines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hooke.hardware.description import describe

_SAYS_NOTHING = re.compile(r"\((?:R|TM)\)|\b(?:CPU|Processor)\b|@.*", re.IGNORECASE)


def hardware() -> dict[str, Any]:
    """Return `cpu`, `cores`, `memory_bytes`, `generation` and `bf16` (see `hooke.hardware`)."""
    described, _ = describe()
    return {
        **{part: described[part] for part in ("cpu", "cores", "memory_bytes")},
        "generation": described["cpu_generation"],
        "bf16": described["cpu_bf16"],
    }


def title_of(hardware: Mapping[str, Any]) -> str:
    """Return processor and cores in words, with generation and bf16 units if they were recorded."""
    kind = hardware.get("generation") or ""
    if kind and hardware["bf16"] != "emulated":
        kind += f", bf16 {hardware['bf16']}"
    return f"{hardware['cpu']}{f' ({kind})' if kind else ''}, {hardware['cores']} cores"


def name_of(hardware: Mapping[str, Any]) -> str:
    """Return the same as a folder name: `amd-epyc-family-25-model-1-2-cores`."""
    told = title_of({**hardware, "cpu": _SAYS_NOTHING.sub(" ", str(hardware["cpu"]))})
    return "-".join(re.findall(r"[a-z0-9]+", told.lower()))
