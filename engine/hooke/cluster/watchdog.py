"""Whether the ranks of an attempt get on: its wall limit, and how long nothing has come of them."""

from __future__ import annotations

import os
import time

from hooke.cluster.processes import status
from hooke.cluster.witness import Witness
from hooke.spec.specification import RunSpec

BACKSTOP = 60.0
"""Seconds behind its wall limit after which a run is ended from outside: a rank that hangs cannot stop itself."""
STALL = 60.0
"""Seconds without a step and without an evaluation that a run always has, unless its budget says otherwise."""
USUAL = 20
"""How many times as long as its longest pause so far a run may pause."""
UNSCORED = 5
"""How many times as long again before its first evaluation: nobody knows yet how long one takes."""
ASLEEP = 5.0
"""Seconds between two looks after which this process did not run itself: its ranks have not, perhaps, either."""
_STATES = {"T": "stopped by a signal", "t": "stopped by a debugger", "D": "waiting for a device or a disk"}


class Watchdog:
    """Watches one attempt once all of its ranks have started; says why they are to be ended, if they are."""

    def __init__(self, spec: RunSpec, witness: Witness, backstop: float = BACKSTOP) -> None:
        self._limit = spec.budget.max_seconds if spec.world == "mpi" else None  # else they are virtual seconds
        self._stall = spec.budget.max_stall_seconds or STALL
        self._backstop = backstop
        self._witness = witness
        self._running_since: float | None = None
        self._looked_at = 0.0
        self._signs = 0
        self._sign_at = 0.0
        self._longest = 0.0

    @property
    def allowed(self) -> float:
        """Return for how many seconds nothing may come of the ranks."""
        return max(self._stall, USUAL * self._longest) * (1 if self._witness.scored else UNSCORED)

    def look(self) -> str:
        """Return why the ranks are to be ended; empty: they get on, have not started, or are done.

        Call it when the witness has just looked.
        """
        now = time.monotonic()
        if not self._witness.all_started or self._witness.all_done:
            return ""
        if self._running_since is None:
            self._running_since = self._sign_at = self._looked_at = now
        if (slept := now - self._looked_at) > ASLEEP:
            self._running_since += slept
            self._sign_at += slept
        self._looked_at = now
        return self._behind_the_limit(now - self._running_since) or self._without_a_sign(now)

    def _behind_the_limit(self, seconds: float) -> str:
        if self._limit is None or seconds <= self._limit + self._backstop:
            return ""
        hang = f"a rank hangs: {self._told()}" if self._witness.stepped else "a rank hangs"
        return f"still running {self._backstop:g} s behind its wall limit of {self._limit:g} s: {hang}"

    def _without_a_sign(self, now: float) -> str:
        witness = self._witness
        if witness.signs != self._signs:
            self._longest = max(self._longest, now - self._sign_at)
            self._signs, self._sign_at = witness.signs, now
        silence = now - self._sign_at
        if not witness.stepped or silence <= self.allowed:
            return ""
        before = f"the longest pause before took {self._longest:.1f} s"
        return (
            f"no step and no evaluation for {silence:.0f} s ({before}): {self._told()}. "
            f"A run that pauses longer than {self.allowed:.0f} s needs budget.max_stall_seconds"
        )

    def _told(self) -> str:
        """Return who is where: ranks that cannot run first, then those that lag."""
        reached = self._witness.reached()
        states = {rank: self._state(rank) for rank in self._witness.started}
        stuck = [rank for rank, state in states.items() if state]
        told = [f"rank {rank} is {states[rank]}{_at(reached.get(rank))}" for rank in stuck]
        least = min(reached.values(), default=0)
        lagging = [rank for rank, step in reached.items() if step == least and rank not in stuck]
        ahead = [rank for rank in reached if rank not in (*stuck, *lagging)]
        if lagging:
            told.append(f"{_ranks(lagging)}{_at(least)}")
        if ahead:
            told.append(f"{_ranks(ahead)}{_at(max(reached[rank] for rank in ahead))}")
        return "; ".join(told)

    def _state(self, rank: int) -> str:
        """Return why the kernel lets a rank of this machine not run; empty: it does, or nobody here knows."""
        start = self._witness.started[rank]
        found = status(start.pid) if start.host == os.uname().nodename else None
        return _STATES.get(found.state, "") if found else ""


def _ranks(ranks: list[int]) -> str:
    return f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {', '.join(map(str, ranks))}"


def _at(step: int | None) -> str:
    return "" if step is None else f" at step {step}"
