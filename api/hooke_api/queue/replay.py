"""Replay of a job trace under a policy, on a number of slots: a simulation of the queue alone.

A job starts when it is first in the order and its slots are free; nothing overtakes it, and it runs for the
duration that it had. Durations that a policy reads are predicted at submission from the jobs that have ended by
then (the same user and slots, then coarser), or known exactly, which is the bound of any prediction.
"""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from hooke_api.queue.policies import Key, age_key, overdue, priority_key
from hooke_api.queue.prediction import History, Level, Prediction
from hooke_api.queue.settings import Order, QueuePolicy
from hooke_api.queue.state import Batch, Entry
from hooke_api.queue.trace import Job

Durations = Literal["history", "known"]
JOB_LEVELS: tuple[Level[Job], ...] = (
    Level("the same user and slots", lambda job: (job.user, job.slots)),
    Level("the same user", lambda job: job.user, spread=0.5),
    Level("the same slots", lambda job: job.slots, spread=0.7),
    Level("any job", lambda _: 0, spread=1.0),
)


@dataclass(frozen=True)
class Replayed:
    """What a replay gave: the wait of each job, s, in the order of the trace."""

    policy: QueuePolicy
    durations: Durations
    waits: tuple[float, ...]


def entry_of(job: Job, number: int, predicted: Prediction | None) -> Entry:
    """Return a job as an entry of a queue; its id has the place in the trace, so that ties go by it."""
    batch = Batch(1, job.slots, predicted)
    return Entry(f"{number:09d}", job.user, job.submitted_at, (batch,), priority=job.priority, number=number)


class Line(Protocol):
    """The waiting entries of a replay."""

    def push(self, entry: Entry) -> None:
        """Add an entry."""

    def first(self, now: float) -> Entry | None:
        """Return the entry that is first in the order, or None."""

    def started(self, entry: Entry, now: float) -> None:
        """Remove the first entry, which starts."""

    def ended(self, entry: Entry, seconds: float, now: float) -> None:
        """Learn how long an entry has taken."""


class _Sorted:
    """Entries whose order does not change while they wait."""

    def __init__(self, policy: QueuePolicy) -> None:
        self._policy = policy
        self._heap: list[tuple[Key | tuple[()], tuple[float, str], Entry]] = []

    def push(self, entry: Entry) -> None:
        key = priority_key(entry, self._policy) if self._policy.order is Order.PRIORITY else ()
        heapq.heappush(self._heap, (key, age_key(entry), entry))

    def first(self, now: float) -> Entry | None:
        del now
        return self._heap[0][2] if self._heap else None

    def started(self, entry: Entry, now: float) -> None:
        del entry, now
        heapq.heappop(self._heap)

    def ended(self, entry: Entry, seconds: float, now: float) -> None:
        pass


class _Shortest:
    """Entries by service, those that have waited too long first, by age."""

    def __init__(self, policy: QueuePolicy) -> None:
        self._policy = policy
        self._by_service: list[tuple[float, tuple[float, str], Entry]] = []
        self._by_age: list[tuple[tuple[float, str], Entry]] = []
        self._unknown: list[tuple[tuple[float, str], Entry]] = []
        self._gone: set[str] = set()
        self._services: list[float] = []
        """Known services of those that wait, sorted: their median stands for the unknown ones."""

    def push(self, entry: Entry) -> None:
        heapq.heappush(self._by_age, (age_key(entry), entry))
        service = entry.service
        if service is None:
            heapq.heappush(self._unknown, (age_key(entry), entry))
        else:
            heapq.heappush(self._by_service, (service, age_key(entry), entry))
            bisect.insort(self._services, service)

    def first(self, now: float) -> Entry | None:
        heaps: tuple[list[Any], ...] = (self._by_age, self._by_service, self._unknown)
        for heap in heaps:
            while heap and heap[0][-1].experiment in self._gone:
                heapq.heappop(heap)
        if not self._by_age:
            return None
        oldest = self._by_age[0][1]
        if overdue(oldest, self._policy, now):
            return oldest
        if not self._unknown:
            return self._by_service[0][2]
        if not self._by_service:
            return self._unknown[0][1]
        unknown, shortest = self._unknown[0], self._by_service[0]
        return min((self._median(), *unknown), shortest)[2]

    def _median(self) -> float:
        half = len(self._services) // 2
        return (self._services[half] + self._services[~half]) / 2

    def started(self, entry: Entry, now: float) -> None:
        del now
        self._gone.add(entry.experiment)
        if (service := entry.service) is not None:
            del self._services[bisect.bisect_left(self._services, service)]

    def ended(self, entry: Entry, seconds: float, now: float) -> None:
        pass


class _Fair:
    """Entries by user; the user with the least decayed use comes first."""

    def __init__(self, policy: QueuePolicy) -> None:
        self._half_life = 3600 * policy.half_life_hours
        self._queues: dict[str, list[tuple[int, tuple[float, str], Entry]]] = {}
        self._use: dict[str, tuple[float, float]] = {}
        """User -> slot seconds, and when they were that many."""
        self._charged: dict[str, tuple[float, float]] = {}
        """Running entry -> what its user was charged for it, and when."""

    def push(self, entry: Entry) -> None:
        heapq.heappush(self._queues.setdefault(entry.user, []), (-entry.priority, age_key(entry), entry))

    def usage(self, now: float) -> dict[str, float]:
        """Return the decayed use of every user, what is charged for running entries included."""
        return {user: used * self._decay(at, now) for user, (used, at) in self._use.items()}

    def first(self, now: float) -> Entry | None:
        best = None
        for user, queue in self._queues.items():
            used, at = self._use.get(user, (0.0, now))
            key = (used * self._decay(at, now), queue[0][1])
            if best is None or key < best[0]:
                best = key, queue[0][2]
        return None if best is None else best[1]

    def started(self, entry: Entry, now: float) -> None:
        queue = self._queues[entry.user]
        heapq.heappop(queue)
        if not queue:
            del self._queues[entry.user]
        charged = entry.service or 0.0
        self._charged[entry.experiment] = charged, now
        self._charge(entry.user, charged, now)

    def ended(self, entry: Entry, seconds: float, now: float) -> None:
        charged, at = self._charged.pop(entry.experiment)
        used = seconds * entry.ranks
        self._charge(entry.user, used - charged * self._decay(at, now), now)

    def _charge(self, user: str, amount: float, now: float) -> None:
        used, at = self._use.get(user, (0.0, now))
        self._use[user] = max(0.0, used * self._decay(at, now) + amount), now

    def _decay(self, then: float, now: float) -> float:
        return float(0.5 ** ((now - then) / self._half_life))


def line_of(policy: QueuePolicy) -> Line:
    """Return an empty line in the order of a policy."""
    if policy.order is Order.SHORTEST_SERVICE:
        return _Shortest(policy)
    if policy.order is Order.FAIR_SHARE:
        return _Fair(policy)
    return _Sorted(policy)


def replay(
    jobs: Sequence[Job],
    slots: int,
    policy: QueuePolicy,
    durations: Durations = "history",
    line: Line | None = None,
) -> Replayed:
    """Return the waits of jobs, sorted by submission, on a number of slots under a policy.

    A job that asks for more slots than there are gets all of them.
    """
    waiting = line or line_of(policy)
    history: History[Job] = History(JOB_LEVELS)
    waits = [0.0] * len(jobs)
    running: list[tuple[float, int, Entry]] = []
    free, arrived = slots, 0
    while arrived < len(jobs) or running:
        arrival = jobs[arrived].submitted_at if arrived < len(jobs) else float("inf")
        if running and running[0][0] <= arrival:
            now, number, entry = heapq.heappop(running)
            free += entry.ranks
            history.add(jobs[number], jobs[number].seconds)
            waiting.ended(entry, jobs[number].seconds, now)
        else:
            now = arrival
            job = replace(jobs[arrived], slots=min(jobs[arrived].slots, slots))
            predicted = Prediction(job.seconds) if durations == "known" else history.predict(jobs[arrived])
            waiting.push(entry_of(job, arrived, predicted))
            arrived += 1
        while (first := waiting.first(now)) is not None and first.ranks <= free:
            waiting.started(first, now)
            free -= first.ranks
            waits[first.number] = now - first.submitted_at
            heapq.heappush(running, (now + jobs[first.number].seconds, first.number, first))
    return Replayed(policy, durations, tuple(waits))


def peak(jobs: Sequence[Job]) -> int | None:
    """Return the largest number of slots that were in use at once, by the times at which the jobs really started.

    None: the trace does not say when they started.
    """
    changes = []
    for job in jobs:
        if job.started_at is None:
            return None
        changes += [(job.started_at, job.slots), (job.started_at + job.seconds, -job.slots)]
    used = highest = 0
    for _, change in sorted(changes):
        used += change
        highest = max(highest, used)
    return highest or None
