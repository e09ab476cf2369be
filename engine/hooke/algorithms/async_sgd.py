"""Async SGD: a parameter server with updates in order of arrival."""

from __future__ import annotations

from hooke.catalogue.claims import before_steps, one_worker, swap
from hooke.catalogue.rank import Rank
from hooke.comm.touched import add_rows, front, place
from hooke.methods.pushed import Pulls, Pushed
from hooke.methods.steps import Step


class AsyncSGD(Pushed):
    """Async SGD.

    worker   pull x = c;  u = g_i(x)              tau > 1: tau steps x' = x - lr g_i(x), u their gradients' sum
    server   c' = c - lr u                        whoever comes first, one at a time

    A worker pushes the sum u of its gradients and pulls the center with one request; the first request pushes
    nothing, and a last push follows the last step. The staleness of a gradient is the number of updates that the
    server applied meanwhile: P - 1 for equally fast workers. Cost per exchange 2 (A + |W| B), not hidden.

    Readings: with `momentum_at = master` the server has the velocity: v' = mu v - lr u, c' = c + v'; for Nesterov,
    workers pull c + mu v. With `worker` each worker has its own velocity and pushes the sum of its updates; so
    it does with another optimizer than SGD. Clipping, weight decay and the schedule's factor of lr are the
    worker's: u sums its gradients after these, and the server's lr is constant. Where only touched rows travel, u
    has the rows that the worker's steps have moved, and a pull those of c that have changed since its pull before.

    Reference: You, Buluc, Demmel, SC17 (arXiv 1708.02983), the asynchronous baseline; Dean et al. 2012.
    """

    family = "Stochastic gradient descent"
    reference = "descent.parameter_server"
    exchange = before_steps(swap)
    limits = [one_worker(), one_worker(momentum_at="worker")]
    tested_together = [{"momentum": 0.6, "momentum_at": "worker", "period": 3}]
    servers, coordination, pushes = 1, "parameter-server", "updates"
    may_drop = True
    deterministic = False

    def run(self, r: Rank) -> None:
        """Run the server's or the worker's part."""
        (self.serve if r.is_server else self.work)(r, self.local_step(r), self.moves())

    def serve(self, r: Rank, step: Step, moves: bool) -> None:
        """Apply each pushed update, reply with the center."""
        c, u, pulls = r.params, r.buffer(r.params), Pulls(r) if self.sends_rows(r) else None
        for i in r.requests(u, order="arrival", period=self.period, last_words=True):
            if r.brought and r.rows is not None:
                add_rows(c, front(u, r.rows), 1.0 if moves else -self.lr, r.rows)
            elif r.brought:
                c.add_(u) if moves else step.apply(u)
            if pulls and r.brought:
                pulls.note(r.rows)
            r.reply(i, step.point(), told=pulls.take(i) if pulls else None)

    def work(self, r: Rank, step: Step, moves: bool) -> None:
        """Push and pull, then take local steps from the pulled center."""
        x, u, only = r.params, r.state("unsent"), self.sends_rows(r)
        c, step = (r.buffer(x), step.follow(at_first=False)) if only else (x, step)
        filled = float(r.buffer(u).addcmul_(u, u).sum()) > 0  # from before a restart
        for t in r.steps():
            if r.due(t, self.period):
                moved = step.moved()
                r.request(u if filled else None, into=c, rows=moved if filled else None, told=only).wait()
                if only:
                    place(x, c, r.answered)
                u.zero_()
            by, factor = step.move(step.gradient())
            u.add_(by, alpha=factor if moves else factor / -self.lr)
            if self.period > 1:
                x.add_(by, alpha=factor)
            filled = True
        r.deliver(u)
        u.zero_()
