"""Measurement of all-reduces between the gradients of a workload: what lines of single operations do not show.

An all-reduce of all weights is timed where runs have it: after a gradient, after several, and behind the next one.
It then takes another time than between idle ranks, the gradient after it finds other caches, and where ranks share
cores the differences of their gradients add up until they meet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from hooke.calibration.documents import ROUNDS, Exchanging
from hooke.calibration.fitting import estimate
from hooke.calibration.timing import gathered

if TYPE_CHECKING:
    from hooke.comm.mpi.communicator import MpiComm

PERIOD = 16
"""Gradients before an all-reduce, where it is not one."""
HIDDEN_PERIOD = 4
"""Gradients that hide an all-reduce in the background as a whole."""
_LEAST, _MOST = 4, 400
"""All-reduces of a series."""


class Series:
    """Gradients and what follows them, on all ranks."""

    def __init__(self, comm: MpiComm, compute: Callable[[], Any], gradient: Any) -> None:
        """`compute` writes `gradient`, shape (weights,), which blocking all-reduces then sum."""
        self._comm, self._compute, self._gradient = comm, compute, gradient
        self._vector: Any = np.full(len(gradient), 0.0, np.float32)

    def alone(self, steps: int) -> Any:
        """Return the seconds of gradients without all-reduce, shape (ranks, steps)."""
        return self._run(steps, 1, lambda: None, lambda: None)[0]

    def blocking(self, steps: int, period: int = 1) -> tuple[Any, Any]:
        """Return the seconds of gradients, and of the all-reduces that each follow `period` of them."""
        return self._run(steps, period, lambda: None, lambda: self._comm.allreduce(self._gradient))

    def behind(self, steps: int, period: int = 1) -> Any:
        """Return the seconds of steps whose all-reduce begins before `period` gradients and ends after them."""
        pending: list[Any] = []
        computed, waited = self._run(
            steps,
            period,
            lambda: pending.append(self._comm.iallreduce(self._vector)),
            lambda: pending.pop().wait(),
        )
        return computed + waited

    def shifting(self, steps: int) -> Any:
        """Return the seconds of gradients, with a message of all weights to the next, shape (ranks, steps)."""
        comm = self._comm
        to, source = ((comm.rank + hop) % comm.size for hop in (1, -1))

        def shift() -> None:
            messages = [comm.isend(self._gradient, to), comm.irecv(self._vector, source)]
            for message in messages:
                message.wait()

        return sum(self._run(steps, 1, lambda: None, shift))

    def accessing(self, steps: int) -> float:
        """Return the seconds of a step that reads a window of rank 0, computes and adds to it.

        Ranks take their steps from one counter, as lock-free workers do: a slow one leaves them to the others.
        """
        comm, count = self._comm, steps * self._comm.size
        window, counter = comm.window(self._vector, 0), comm.counter()
        comm.barrier()
        began = comm.clock()
        while counter.take() < count:
            window.get(self._vector)
            self._compute()
            window.accumulate(self._vector)
        taken = gathered(comm, np.array([comm.clock() - began]))
        counter.close()
        window.close()
        return float(taken.min()) / done(steps, comm.size)

    def _run(
        self, steps: int, period: int, before: Callable[[], Any], after: Callable[[], Any]
    ) -> tuple[Any, Any]:
        comm, clock = self._comm, self._comm.clock
        computed, ended = np.empty(steps), np.empty(steps)
        comm.barrier()
        for number in range(steps):
            began = clock()
            before()
            for _ in range(period):
                self._compute()
            middle = clock()
            after()
            computed[number], ended[number] = middle - began, clock() - middle
        comm.barrier()
        return gathered(comm, computed), gathered(comm, ended)


def measure(comm: MpiComm, compute: Callable[[], Any], gradient: Any, seconds: float) -> Exchanging | None:
    """Time all-reduces by halving among gradients within about `seconds`; collective; None with one rank.

    Times are means of series in each of the rounds, as where ranks share cores (`hooke.calibration.sharing`).
    """
    if comm.size == 1:
        return None
    usual, comm.collective = comm.collective, "halving"
    try:
        return _measured(Series(comm, compute, gradient), seconds)
    finally:
        comm.collective = usual


def _measured(series: Series, seconds: float) -> Exchanging:
    alone_once = float(series.alone(_LEAST).mean())
    computed, ended = series.blocking(_LEAST)
    once = float((computed + ended).mean())
    share = seconds / ROUNDS / 7
    accesses = _count(share / max(series.accessing(_LEAST), alone_once))
    steps = _count(share / once)
    found: dict[str, list[list[float]]] = {
        name: [] for name in ("alone", "after", "last", "added", "late", "behind", "hidden", "shifted", "accessed")
    }
    spread = []
    for _ in range(ROUNDS):
        alone = series.alone(_count(share / alone_once))
        mean = float(alone.mean())
        computed, ended = series.blocking(steps)
        seldom = series.blocking(_count(share / (once + (PERIOD - 1) * alone_once)), PERIOD)
        found["alone"].append([mean])
        found["after"].append([float(computed.mean())])
        found["last"].append([float(ended.min(axis=0).mean())])
        found["added"].append([max(0.0, float((computed + ended).mean()) - mean)])
        found["late"].append([max(0.0, float(sum(seldom).mean()) - PERIOD * mean)])
        found["behind"].append([max(0.0, float(series.behind(steps).mean()) - mean)])
        hidden = series.behind(_count(share / (once + (HIDDEN_PERIOD - 1) * alone_once)), HIDDEN_PERIOD)
        found["hidden"].append([max(0.0, float(hidden.mean()) - HIDDEN_PERIOD * mean)])
        found["shifted"].append([max(0.0, float(series.shifting(steps).mean()) - mean)])
        found["accessed"].append([max(0.0, series.accessing(accesses) - mean)])
        spread.append(float(alone.max(axis=0).mean()) - mean)
    return Exchanging(
        **{name: estimate(rounds) for name, rounds in found.items()},
        wait=max(0.0, float(np.mean(spread))),
        period=PERIOD,
        hidden_period=HIDDEN_PERIOD,
    )


def done(steps: int, ranks: int) -> float:
    """Return the steps per rank that are done when the first rank finds none of `ranks x steps` left.

    All others are within a step, of which half is done in the mean.
    """
    return steps - (ranks - 1) / (2 * ranks)


def _count(steps: float) -> int:
    return max(_LEAST, min(_MOST, int(steps)))
