"""1-bit Adam: Adam for some steps, then momentum SGD with the scales of Adam, whose momentum is sent as signs."""

from __future__ import annotations

from pydantic import Field

from hooke.catalogue.claims import Step, Transfers, all_reduce, identical_workers
from hooke.catalogue.rank import Rank
from hooke.methods.gathered import Gathered, signs
from hooke.methods.settings import SCHEDULED, StepSettings
from hooke.spec.spaces import Space


def gradients_then_signs(method: OnebitAdam, step: Step) -> Transfers:
    """Return an all-reduce at every step of the warm-up, and an all-gather of signs at every later one."""
    return all_reduce(step) if step.t < method.switch else (signs(step),)


class OnebitAdam(StepSettings):
    """1-bit Adam.

    t <  T:   m' = b1 m + (1 - b1) mean_i g_i,   v' = b2 v + (1 - b2) (mean_i g_i)^2               Adam
    t >= T:   m_i = b1 m + (1 - b1) g_i,   q_i = C(m_i + e_i),   e_i' = m_i + e_i - q_i,   m' = mean_i q_i
    x' = x - lr m' / (sqrt(v) + eps)                      the same on all P workers; v stays that of step T - 1

    After a warm-up of T steps of Adam its second moment is kept, and the rest is linear in the gradients, so that
    error feedback applies. C(y) is the sign of each element times the mean |y| of its block of 512. Cost per step:
    2 log2(P) A + 2 (P - 1)/P |W| B in the warm-up, then an all-gather, log2(P) A + (P - 1) |W| B / 32.

    Readings: workers gather all q_i and add them, in place of the paper's compressed exchange in two parts through
    chunk owners, whose second compression has an error of its own. The paper has one scale per chunk. Moments have
    no bias correction, as in the paper and the authors' program. An element without any gradient in the warm-up
    (v = 0) is not moved, as with that program's mask. eps = 1e-8. In the warm-up the mean is clipped, later each
    worker's gradient; weight decay shrinks x (decoupled), as in that program. Default T = 100; the paper takes 15
    to 20 percent of the steps. With b1 = b2 = 0 the warm-up steps along signs, as DeMo does where it sends all.

    Reference: Tang et al., ICML 2021 (arXiv 2102.02888).
    """

    family = "Stochastic gradient descent"
    reference = "onebit_adam.onebit_adam"
    exchange = gradients_then_signs
    limits = [identical_workers("onebit-adam")]
    takes_threads = False
    tested_with = {"switch": 5, "lr": 0.01}
    accesses = 25
    search = {
        "lr": Space(low=0.0001, high=0.03, scale="log"),
        "switch": Space(low=10, high=1000, scale="log", integer=True),
        **SCHEDULED,
    }

    lr: float = Field(0.001, gt=0, le=10, title="Learning rate", description="Step length (eta).")
    switch: int = Field(100, ge=1, le=10**9, title="Switch", description="First step that sends signs (T).")
    b1: float = Field(0.9, ge=0, lt=1, title="Beta 1", description="Factor of the first moment (b1).")
    b2: float = Field(0.999, ge=0, lt=1, title="Beta 2", description="Factor of the second moment (b2).")

    def run(self, r: Rank) -> None:
        """Take steps of Adam; from the end of the warm-up on, exchange signs of the momentum."""
        from hooke.comm.compressors import Sign

        x, m, v, e = r.params, r.state("first"), r.state("second"), r.state("error")
        root, moves, comm, gathered = r.buffer(x), r.buffer(x), r.comm.sending("updates"), Gathered(r, Sign())
        step = self.own_step(r)
        for t in r.steps():
            g = r.gradient()
            if t < self.switch:
                comm.allreduce(g)
                step.average(g, r.workers)
                v.mul_(self.b2).addcmul_(g, g, value=1 - self.b2)
            else:
                step.average(g)
            m.mul_(self.b1).add_(g, alpha=1 - self.b1)
            if t >= self.switch:
                gathered.exchange(e.add_(m), m)
                moves.copy_(v).clamp_(0, 1e-30).mul_(1e30)  # 1, or 0 where v is
                m.mul_(1 / r.workers).mul_(moves)
            step.shrink()
            x.addcdiv_(m, root.copy_(v).sqrt_().add_(1e-8), value=-step.lr)
