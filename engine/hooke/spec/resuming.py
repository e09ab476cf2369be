"""Which run a checkpoint belongs to."""

from __future__ import annotations

from hooke.spec.limits import Budget
from hooke.spec.specification import RunSpec, fingerprint


def identity(spec: RunSpec) -> str:
    """Return the fingerprint of the run that a checkpoint belongs to, without budget, target and checkpoints."""
    anyway = {"budget": Budget(samples=1), "target": None, "checkpoint": "never", "checkpoint_every": None}
    return fingerprint(spec.model_copy(update=anyway))
