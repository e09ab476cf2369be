"""What a machine is called where results of several lie side by side."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hooke.hardware import describe

_SAYS_NOTHING = re.compile(r"\((?:R|TM)\)|\b(?:CPU|Processor)\b|@.*", re.IGNORECASE)


def name_of(hardware: Mapping[str, object]) -> str:
    """Return processor and cores as a folder's name: `intel-xeon-2-cores`."""
    told = _SAYS_NOTHING.sub(" ", str(hardware["cpu"])) + f" {hardware['cores']} cores"
    return "-".join(re.findall(r"[a-z0-9]+", told.lower()))


def this() -> str:
    """Return the name of this machine."""
    hardware, _ = describe()
    return name_of(hardware)
