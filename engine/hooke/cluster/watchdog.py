"""The watchdog of an attempt: detects an exceeded wall limit and ranks that make no progress."""

from __future__ import annotations

import os
import time
from contextlib import suppress

import psutil

from hooke.catalogue.algorithm import algorithm
from hooke.cluster.witness import Witness
from hooke.errors import HookeError
from hooke.spec.journal import EVERY_RANK_WRITES
from hooke.spec.specification import RunSpec

BACKSTOP = 60.0
"""Seconds after its wall limit until a run is killed, because a rank that hangs cannot end itself. The limit is
ten times as long while journals grow: a last evaluation or a checkpoint may be in progress."""
STALL = 60.0
"""Minimum of the stall limit, s without a step and without an evaluation.

Default of `budget.max_stall_seconds`.
"""
USUAL = 20
"""Stall limit as a multiple of the longest pause so far."""
UNKNOWN = 60
"""Factor on the stall limit where the duration of the next operation is unknown: before the first step, before the
first evaluation of an attempt, and at the end, when the test part is scored."""
ASLEEP = 5.0
"""Seconds between two calls of `look` from which this process counts as having been suspended, like its ranks."""
_STATES = {
    psutil.STATUS_STOPPED: "stopped by a signal",
    psutil.STATUS_TRACING_STOP: "stopped by a debugger",
    psutil.STATUS_DISK_SLEEP: "waiting for a device or a disk",
}


def _silent_steps(spec: RunSpec) -> int:
    """Return after how many steps a rank is heard of where most ranks write nothing: at every exchange."""
    if spec.workers <= EVERY_RANK_WRITES:
        return 1
    with suppress(HookeError, ValueError):  # the ranks will say what is wrong with it
        return algorithm(spec.algorithm.name).model_validate(spec.algorithm.parameters).exchange_period()
    return 1


class Watchdog:
    """Watches one attempt from the moment all of its ranks have started."""

    def __init__(self, spec: RunSpec, witness: Witness, backstop: float = BACKSTOP, *, last: bool = True) -> None:
        """`last`: its processes end with it; otherwise they go on with another attempt."""
        self._factor_at_end = 1 if last else UNKNOWN
        self._real = (
            spec.world == "mpi"
        )  # otherwise the limit is in virtual seconds, and a process has several runs
        self._limit = spec.budget.max_seconds if self._real else None
        self._samples = spec.budget.samples
        self._stall = spec.budget.max_stall_seconds or STALL
        self._usual = USUAL * _silent_steps(spec)
        self._backstop = backstop
        self._witness = witness
        self._running_since: float | None = None
        self._done_since: float | None = None
        self._looked_at: float | None = None
        self._gap = 0.0
        self._signs = 0
        self._sign_at = 0.0
        self._longest = 0.0

    @property
    def allowed(self) -> float:
        """Return the current stall limit, s."""
        witness = self._witness
        known = witness.stepped and witness.evaluated and not witness.ending(self._samples)
        return max(self._stall, self._usual * self._longest) * (1 if known else UNKNOWN)

    def look(self) -> str:
        """Return the reason to end the ranks; empty if they make progress or have not all started.

        Call it directly after `Witness.look`.
        """
        now = time.monotonic()
        if not self._witness.all_started:
            return ""
        self._leave_out_sleep(now)
        if self._witness.all_done:
            return self._behind_the_end(now)
        if self._witness.signs != self._signs:
            self._longest = max(self._longest, now - self._sign_at)
            self._signs, self._sign_at = self._witness.signs, now
        if self._running_since is None and (self._witness.evaluated or self._witness.stepped):
            self._running_since = now  # the clock starts after the first evaluation
        return self._behind_the_limit(now) or self._without_a_sign(now)

    def _leave_out_sleep(self, now: float) -> None:
        """Shift all times by a gap between calls, in which this process was stopped or the machine suspended."""
        if self._looked_at is None:
            self._looked_at = self._sign_at = now
        gap = now - self._looked_at
        if gap > max(ASLEEP, 10 * self._gap):
            self._sign_at += gap
            self._running_since = None if self._running_since is None else self._running_since + gap
            self._done_since = None if self._done_since is None else self._done_since + gap
        else:
            self._gap = gap
        self._looked_at = now

    def _behind_the_end(self, now: float) -> str:
        """Return the reason to end ranks that are all done but have not exited."""
        if self._done_since is None:
            self._done_since = now
        allowed = max(self._stall, self._usual * self._longest) * self._factor_at_end
        if not self._real or now - self._done_since <= allowed:
            return ""
        return f"all ranks were done {now - self._done_since:.0f} s ago and have not ended: {self._told()}"

    def _behind_the_limit(self, now: float) -> str:
        seconds = 0.0 if self._running_since is None else now - self._running_since
        if self._limit is None or seconds <= self._limit + self._backstop:
            return ""
        if now - self._sign_at <= self._backstop and seconds <= self._limit + 10 * self._backstop:
            return ""
        hang = f"a rank hangs: {self._told()}" if self._witness.stepped else "a rank hangs"
        return f"still running {self._backstop:g} s after its wall limit of {self._limit:g} s: {hang}"

    def _without_a_sign(self, now: float) -> str:
        witness, silence = self._witness, now - self._sign_at
        if silence <= self.allowed or witness.damaged or witness.writes_a_checkpoint(self.allowed):
            return ""  # a damaged journal is not read any further; the verdict reports it
        before = f"the longest pause before took {self._longest:.1f} s"
        return (
            f"no step and no evaluation for {silence:.0f} s ({before}): {self._told()}. "
            f"Set budget.max_stall_seconds to allow pauses of more than {self.allowed:.0f} s"
        )

    def _told(self) -> str:
        """Return the positions of the ranks: first those that cannot run, then those that lag."""
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
        return "; ".join(told) or "no rank has written a step"

    def _state(self, rank: int) -> str:
        """Return why a rank of this machine is not runnable; empty if it is, or if unknown."""
        start = self._witness.started[rank]
        if start.host == os.uname().nodename:
            with suppress(psutil.Error, ValueError):  # users' code may write any number
                return _STATES.get(psutil.Process(start.pid).status(), "")
        return ""


def _ranks(ranks: list[int]) -> str:
    return f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {', '.join(map(str, ranks))}"


def _at(step: int | None) -> str:
    return "" if step is None else f" at step {step}"
