"""Seconds in each phase of a rank, as its last record has them."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator


def _complete(seconds: dict[str, float]) -> dict[str, float]:
    """Return them with the phase `rebuild`, in which ranks of before it existed spent no time."""
    return seconds if "rebuild" in seconds else {**seconds, "rebuild": 0.0}


Phases = Annotated[dict[str, float], AfterValidator(_complete)]
"""Phase -> s; records of versions without the phase `rebuild` are completed."""
