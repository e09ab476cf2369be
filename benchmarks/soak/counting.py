"""Counts what a soak must not show: pure functions from what is stored, what ranks wrote, and what is left."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hooke.spec.states import TERMINAL

from benchmarks.soak.expected import expected

STUCK = "stuck"
LOST = "points lost"
DOUBLED = "points doubled"
WRONG_END = "ended wrongly"
LEFT = "processes left"
ORDERS = "orders left on the broker"
TWICE = "trained twice at once"
EXPERIMENTS = "experiments lost or doubled"
KINDS = (STUCK, LOST, DOUBLED, WRONG_END, LEFT, ORDERS, TWICE, EXPERIMENTS)
"""Every kind of violation; a soak has succeeded if there is none of any."""


@dataclass(frozen=True)
class Records:
    """Steps, and samples of evaluations, of one rank of one attempt, as often as they are there."""

    steps: tuple[int, ...] = ()
    evaluations: tuple[int, ...] = ()


@dataclass(frozen=True)
class Journal(Records):
    """The same as the rank wrote it."""

    restored: int = 0
    """Step of the checkpoint that it went on from."""
    began: float | None = None
    """When it began, s since 1970."""
    written: float = 0.0
    """When its journal was last written, s since 1970."""
    stopped: int | None = None
    """Samples at which it ended because it was told to stop: an evaluation is made there, too."""


Key = tuple[int, int]
"""Attempt and rank."""


@dataclass(frozen=True)
class RunFacts:
    """All that is known of one run after a soak."""

    id: str
    state: str
    attempt: int
    workers: int
    servers: int
    spec: Mapping[str, Any]
    cancelled: bool = False
    """Whether the soak asked for its cancellation."""
    why: str = ""
    """The reason of its state."""
    created: float = 0.0
    finished: float | None = None
    stored: Mapping[Key, Records] = field(default_factory=dict)
    journals: Mapping[Key, Journal] = field(default_factory=dict)


@dataclass(frozen=True)
class Violation:
    """One thing that must not be. `run`: empty where it is of no run; `attempt`: 0 if of no single one."""

    kind: str
    run: str
    attempt: int
    text: str


def violations(runs: Iterable[RunFacts]) -> list[Violation]:
    """Return what is wrong with the runs themselves."""
    return [found for run in runs for check in CHECKS for found in check(run)]


def stuck(run: RunFacts) -> Iterator[Violation]:
    """A run that is in no final state."""
    if run.state not in TERMINAL:
        yield Violation(STUCK, run.id, run.attempt, f"it is {run.state}: {run.why}")


def ended_wrongly(run: RunFacts) -> Iterator[Violation]:
    """A run that neither succeeded nor was cancelled by the soak: its programs are right, its attempts many."""
    allowed = ("succeeded", "cancelled") if run.cancelled else ("succeeded",)
    if run.state in TERMINAL and run.state not in allowed:
        yield Violation(WRONG_END, run.id, run.attempt, f"{run.state} at attempt {run.attempt}: {run.why}")


def transport(run: RunFacts) -> Iterator[Violation]:
    """What ranks wrote and the database lacks, and what it has more often, in every attempt."""
    for key in sorted({*run.journals, *run.stored}):
        wrote, has = run.journals.get(key, Journal()), run.stored.get(key, Records())
        for what, those, these in (
            ("steps", wrote.steps, has.steps),
            ("evaluations", wrote.evaluations, has.evaluations),
        ):
            yield from _differences(run, key, what, Counter(those), Counter(these))


def _differences(
    run: RunFacts, key: Key, what: str, wanted: Counter[int], found: Counter[int]
) -> Iterator[Violation]:
    for kind, these in ((LOST, wanted - found), (DOUBLED, found - wanted)):
        if these:
            some = ", ".join(map(str, sorted(these)[:5]))
            told = f"{these.total()} {what} of rank {key[1]}: {some}{', ...' if len(these) > 5 else ''}"
            yield Violation(kind, run.id, key[0], told)


def complete(run: RunFacts) -> Iterator[Violation]:
    """Of a run that succeeded: what its curve lacks, or shows twice, against the closed form."""
    if run.state != "succeeded":
        return
    wanted = expected(run.spec, run.workers, run.servers)
    shown = {rank: Counter(visible_steps(run, rank)) for rank in range(run.workers)}
    if wanted.each is not None:
        for rank, steps in shown.items():
            every = Counter(range(1, wanted.each + 1))
            yield from _differences(run, (run.attempt, rank), "steps shown", every, steps)
    elif (total := sum(steps.total() for steps in shown.values())) != wanted.total:
        kind = LOST if total < wanted.total else DOUBLED
        yield Violation(kind, run.id, run.attempt, f"{total} steps of all workers instead of {wanted.total}")
    scored = Counter(visible_evaluations(run))
    decides = run.workers if run.servers else 0
    due = Counter(wanted.evaluations)
    scored -= Counter(_of_stops(run) - due.keys())
    yield from _differences(run, (run.attempt, decides), "evaluations shown", due, scored)


def visible_steps(run: RunFacts, rank: int) -> Iterator[int]:
    """Yield the steps of a worker that count: of an attempt those up to the checkpoint that a later one took."""
    limit = math.inf
    for attempt in _newest_first(run):
        yield from (step for step in run.stored.get((attempt, rank), Records()).steps if step <= limit)
        journal = run.journals.get((attempt, rank))
        if journal is not None and journal.began is not None:
            limit = min(limit, journal.restored)


def visible_evaluations(run: RunFacts) -> Iterator[int]:
    """Yield the samples of the evaluations that count: of every attempt those before the first of a later one."""
    first = math.inf
    for attempt in _newest_first(run):
        own = [e for (a, _), records in run.stored.items() if a == attempt for e in records.evaluations]
        counted = [samples for samples in own if samples < first]
        yield from counted
        first = min([first, *counted])


def _of_stops(run: RunFacts) -> set[int]:
    """Return the samples at which attempts that a later one continued were told to stop, and were evaluated."""
    last = max((attempt for attempt, _ in run.journals), default=0)
    return {
        journal.stopped
        for (attempt, _), journal in run.journals.items()
        if attempt < last and journal.stopped is not None and journal.stopped in journal.evaluations
    }


def _newest_first(run: RunFacts) -> list[int]:
    return sorted({attempt for attempt, _ in run.journals}, reverse=True)


def at_once(run: RunFacts) -> Iterator[Violation]:
    """Two attempts of which the earlier one still wrote after the later one had begun."""
    for number in sorted({a for a, _ in run.journals}):
        began = [j.began for (a, _), j in run.journals.items() if a == number and j.began is not None]
        earlier = [j.written for (a, _), j in run.journals.items() if a < number]
        if began and earlier and (over := max(earlier) - min(began)) > 0:
            told = f"an earlier attempt wrote until {over:.2f} s after its beginning"
            yield Violation(TWICE, run.id, number, told)


CHECKS = (stuck, ended_wrongly, transport, complete, at_once)
