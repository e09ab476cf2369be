"""What a user who waits wants to know: position, reason, predicted start and end."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from hooke_api.queue.policies import at_limit, held, ordered
from hooke_api.queue.prediction import Z90, Prediction, total
from hooke_api.queue.state import Entry, QueueState

_TOLD_LATE = 60.0
"""Seconds from which on a run that takes longer than predicted is told to be late."""


@dataclass(frozen=True)
class Span:
    """A predicted time with a 90% interval, seconds since 1970."""

    at: float
    earliest: float
    latest: float

    def plus(self, took: tuple[float, float], now: float) -> Span | None:
        """Return the time after a duration, given as mean and standard deviation; None: far off."""
        deviation = (self.latest - self.at) / Z90
        return span(self.at + took[0], math.hypot(deviation, took[1]), now)


@dataclass(frozen=True)
class Outlook:
    """What is known about one waiting entry."""

    entry: Entry
    position: int
    """1: the next one."""
    experiments_ahead: int
    runs_ahead: int
    reason: str
    """Why it waits, as a phrase."""
    start: Span | None
    """Of its first run; None: cannot be predicted."""
    end: Span | None
    """Of its last run."""

    def after(
        self, count: int, batches: Sequence[tuple[int, Prediction | None]], now: float
    ) -> tuple[Span | None, str]:
        """Return start and reason of a run of the entry that follows `count` others, given by prediction."""
        then = f", then {plural(count, 'run')} of its experiment" if count else ""
        before = total(batches)
        start = None if self.start is None or before is None else self.start.plus(before, now)
        return start, self.reason + then


def plural(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def clock(at: float, now: float) -> str:
    """Return a time as text, in UTC: `14:05 UTC`, with the date on another day."""
    then, today = datetime.fromtimestamp(at, UTC), datetime.fromtimestamp(now, UTC)
    return then.strftime("%H:%M UTC" if then.date() == today.date() else "%Y-%m-%d %H:%M UTC")


FURTHEST = 10 * 365.25 * 86_400.0
"""Seconds from now beyond which nothing is predicted: such a time says only that a budget is large."""


def span(mean: float, deviation: float, now: float) -> Span | None:
    """Return a predicted time with its interval; nothing starts or ends in the past. None: beyond FURTHEST."""
    if not mean - now <= FURTHEST:
        return None
    reach = min(Z90 * deviation, FURTHEST)
    return Span(max(now, mean), max(now, mean - reach), max(now, mean + reach))


def outlooks(state: QueueState) -> list[Outlook]:
    """Return the outlook of every waiting entry, in the order of service."""
    entries = ordered(state)
    times = _times(state, entries)
    found, experiments, runs = [], 0, 0
    for position, (entry, (start, end)) in enumerate(zip(entries, times, strict=True), 1):
        reason = _reason(state, entry, experiments, runs)
        found.append(Outlook(entry, position, experiments, runs, reason, start, end))
        experiments, runs = experiments + 1, runs + entry.runs
    return found


def offline(state: QueueState) -> str:
    """Return since when a cluster is offline, as a phrase."""
    return f"offline since {clock(state.seen_at, state.now)}"


def _closed(state: QueueState) -> str:
    """Return why the cluster gets no runs at all; empty: it does."""
    if state.drained:
        return "cluster is drained"
    if not state.online:
        return f"cluster {offline(state)}"
    if state.held_until is not None:
        until = clock(state.held_until, state.now)
        return f"the cluster gets no runs until {until}: a launch failed {state.held_why}"
    return ""


def _reason(state: QueueState, entry: Entry, experiments: int, runs: int) -> str:
    if why := _closed(state):
        return why
    if held(state, entry) or (at_limit(state, entry.user) and not experiments):
        count = state.active_runs(entry.user)
        verb = "is" if count == 1 else "are"
        limit = state.policy.max_active_runs
        return f"held: {plural(count, 'run')} of {entry.user} {verb} active, the limit is {limit}"
    if experiments:
        return f"behind {plural(experiments, 'experiment')} ({plural(runs, 'run')})"
    return _of_the_first(state, entry)


def _of_the_first(state: QueueState, entry: Entry) -> str:
    calibration = state.calibration
    if calibration is None:
        return _slots(state, entry) if state.active else _elsewhere(state) or "next to start"
    if calibration.running:
        return f"the cluster is being calibrated until about {clock(state.now + calibration.left[0], state.now)}"
    return "behind a calibration of the cluster"


def _elsewhere(state: QueueState) -> str:
    other = state.elsewhere
    if other is None:
        return ""
    left = math.inf if other.left is None else other.left[0]
    until = f" until about {clock(state.now + left, state.now)}" if left <= FURTHEST else ""
    return f"another cluster on the same machine, {other.cluster}, {other.doing}{until}"


def _slots(state: QueueState, entry: Entry) -> str:
    free = state.free
    until = _release(state, entry)
    when = "for an unknown time" if until is None else f"until about {clock(until, state.now)}"
    late = max(each.late for each in state.active)
    if late >= _TOLD_LATE:
        when += f", already {_minutes(late)} late"
    if entry.ranks > free:
        verb = "is" if free == 1 else "are"
        return f"needs {plural(entry.ranks, 'slot')}, {free or 'none'} {verb} free {when}"
    if state.exclusive:
        numbers = sorted({each.number for each in state.active})
        busy = " and ".join(f"experiment {number}" if number else "another experiment" for number in numbers)
        return f"the cluster is taken by {busy} {when}: timed runs share no cores"
    return "next to start"


def _minutes(seconds: float) -> str:
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min"


def _release(state: QueueState, entry: Entry) -> float | None:
    """Return when enough of what is active has ended, or None."""
    if state.exclusive:
        known = [each.left[0] for each in state.active if each.left is not None]
        left = max(known) if len(known) == len(state.active) else math.inf
        return state.now + left if left <= FURTHEST else None
    free = state.free
    for left, ranks in sorted((each.left[0], each.ranks) for each in state.active if each.left is not None):
        free += ranks
        if free >= min(entry.ranks, state.slots):
            return state.now + left if left <= FURTHEST else None
    return None


def _times(state: QueueState, entries: Sequence[Entry]) -> list[tuple[Span | None, Span | None]]:
    """Return predicted start and end of each: one after the other in order, each as slots become free."""
    if state.drained or not state.online or state.held_until is not None:
        return [(None, None)] * len(entries)
    ends = _ends(state)
    heapq.heapify(ends)
    free = state.slots - sum(slots for _, _, slots in ends)
    at, variance = state.now, 0.0
    found: list[tuple[Span | None, Span | None]] = []
    for entry in entries:
        if held(state, entry):
            found.append((None, None))
            continue
        need = state.needed(entry.ranks)
        while free < need and ends:
            end, of_end, slots = heapq.heappop(ends)
            free += slots
            if end >= at:
                at, variance = end, of_end
        took = total([(batch.runs, batch.predicted) for batch in entry.batches])
        end_at, of_end = (math.inf, 0.0) if took is None else (at + took[0], variance + took[1] ** 2)
        found.append((span(at, math.sqrt(variance), state.now), span(end_at, math.sqrt(of_end), state.now)))
        free -= need
        heapq.heappush(ends, (end_at, of_end, need))
    return found


def _ends(state: QueueState) -> list[tuple[float, float, int]]:
    """Return (end, its variance, slots) of what is active; an end is infinite where it is unknown."""
    ends = [
        (state.now + each.left[0], each.left[1] ** 2, state.needed(each.ranks))
        if each.left is not None
        else (math.inf, 0.0, state.needed(each.ranks))
        for each in state.active
    ]
    if state.elsewhere is not None:
        left = state.elsewhere.left or (math.inf, 0.0)
        ends.append((state.now + left[0], left[1] ** 2, state.slots))
    if state.calibration is None:
        return ends
    mean, deviation = state.calibration.left
    at, variance, _ = max(ends, default=(state.now, 0.0, 0))  # it waits for all that is active
    return [(at + mean, variance + deviation**2, state.slots)]
