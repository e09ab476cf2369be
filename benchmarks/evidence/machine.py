"""What a machine is called where results of several lie side by side, and what it can."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hooke.hardware import describe

_SAYS_NOTHING = re.compile(r"\((?:R|TM)\)|\b(?:CPU|Processor)\b|@.*", re.IGNORECASE)


def hardware() -> dict[str, Any]:
    """Return `cpu`, `cores`, `memory_bytes`, `generation` (see `hooke.hardware`) and `bf16` of this machine."""
    described, _ = describe()
    return {
        **{part: described[part] for part in ("cpu", "cores", "memory_bytes")},
        "generation": described["cpu_generation"],
        "bf16": described["cpu_bf16"] == "native",
    }


def title_of(hardware: Mapping[str, Any]) -> str:
    """Return processor and cores in words; the generation, where it was taken down."""
    generation = hardware.get("generation")
    return f"{hardware['cpu']}{f' ({generation})' if generation else ''}, {hardware['cores']} cores"


def name_of(hardware: Mapping[str, Any]) -> str:
    """Return the same as a folder's name: `amd-epyc-family-25-model-1-2-cores`."""
    told = title_of({**hardware, "cpu": _SAYS_NOTHING.sub(" ", str(hardware["cpu"]))})
    return "-".join(re.findall(r"[a-z0-9]+", told.lower()))
