"""SlowMo, of which the mean of the workers is evaluated."""

from __future__ import annotations

from typing import Any

from hooke.algorithms.slowmo import Slowmo

from benchmarks.ideas.parts import Averaged


class MeanSlowmo(Slowmo):
    """SlowMo with other evaluations: its weights and their changes are the same."""

    def run(self, r: Any) -> None:
        """Run the method on a rank that evaluates the mean."""
        super().run(Averaged(r))
