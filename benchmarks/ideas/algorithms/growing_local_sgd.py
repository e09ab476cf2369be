"""Local SGD with a period that grows as the loss falls."""

from __future__ import annotations

from hooke.algorithms.local_sgd import LocalSGD
from hooke.catalogue.rank import Rank

from benchmarks.ideas.parts import Growing


class GrowingLocalSGD(LocalSGD):
    """Local SGD whose rounds become longer: see `Growing`. `period` is the first one."""

    def run(self, r: Rank) -> None:
        """Take local steps, then average."""
        x, center = r.params, r.state("center", like=r.params)
        step, comm, rounds = self.local_step(r), r.comm.sending("averages"), Growing(r, self.period)
        for _ in r.steps(evaluated=center):
            step.apply(step.gradient())
            if rounds.due():
                comm.allreduce(x)
                x.mul_(1 / r.workers)
                center.copy_(x)
                rounds.exchanged()
