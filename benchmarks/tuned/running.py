"""Runs what is missing: on hosts one run after the other, in virtual time as many at once as there are processes.

On hosts all trials come first, then seed by seed over all entries: reported runs of different entries with the
same seed are close to each other in time, so that a change of the machine's speed meets all of them.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from benchmarks import speed
from benchmarks.common.rounds import carry_out
from benchmarks.evidence.running import OVERTIME, BrokenClock, faults, run_within
from benchmarks.evidence.store import over
from benchmarks.netlab import lab as labs
from benchmarks.netlab import warm
from benchmarks.tuned.conditions import MAX_SECONDS, Place
from benchmarks.tuned.rounds import Play, Rounds
from benchmarks.tuned.store import Store

LAB = "tuned"
REPEATED = 3
"""Runs of the same play with a broken clock after which the clock itself is to be doubted."""
Todo = tuple[Play, Path]
"""A run and the folder of its journals."""


class Plan(Protocol):
    """What has runs to carry out: a search, or published settings to repeat."""

    def missing(self, results: Mapping[str, Mapping[str, Any]]) -> Iterator[Play]:
        """Yield the runs that can be carried out now and have no result."""


class Session:
    """What became of the runs of one call: results are kept, failures are not repeated."""

    def __init__(self, store: Store, *, goes_on: bool = False) -> None:
        """`goes_on`: leave out a play whose clock is broken again and again, instead of ending."""
        self.store, self._goes_on = store, goes_on
        self.failed = set[str]()
        """Keys of runs that failed for a reason outside of their method."""
        self.done = 0
        self.doubted: list[str] = []
        """Runs that count as failed because their journals violate the rules of the train clock, in words."""
        self._broken = Counter[str]()

    def keep(self, todo: Todo, outcome: dict[str, Any]) -> None:
        """Keep what came of a run, unless its clock is broken.

        Raises KeyboardInterrupt if Ctrl-C has ended it, BrokenClock if the clock of REPEATED runs of the same play
        on hosts was broken. A simulated one would have the same bits again: it counts as failed.
        """
        (play, journal), result = todo, outcome["result"]
        if result["state"] == "cancelled":  # Ctrl-C, which the run has caught to end its ranks in order
            raise KeyboardInterrupt
        if outcome["wrong"]:
            self._not_counted(play, f"{play.title} ({play.key}, journals in {journal}): {outcome['wrong']}")
            return
        self.store.keep(play, result, outcome["machine_ms"])
        if not over(result):
            self.failed.add(play.key)
        shutil.rmtree(journal, ignore_errors=True)
        self.done += 1
        print(f"{play.title}: {_said(result)} ({outcome['seconds']:.0f} s in all)", flush=True)

    def _not_counted(self, play: Play, told: str) -> None:
        self._broken[play.key] += 1
        if play.place.world == "virtual" or (self._goes_on and self._broken[play.key] == REPEATED):
            self.failed.add(play.key)
            self.doubted.append(told)
        elif self._broken[play.key] == REPEATED:
            raise BrokenClock(told)
        print(f"not counted: {told}", flush=True)


def run_all(
    rounds: Sequence[Plan], place: Place, store: Store, minutes: float, *, warm_hosts: bool = False
) -> int:
    """Run what is missing until nothing is, or `minutes` are over; return the number of runs.

    `warm_hosts`: ranks begin without imports, pinned to a core each (`netlab.warm`); a run whose clock is broken
    REPEATED times is then left out, and BrokenClock raised at the end.

    A run that fails for a reason outside of its method, such as the limit of this benchmark, is kept as a failure
    that says so, is in no table, and is not repeated in this session. One whose journals violate
    the rules of the train clock is repeated at once, because a rank that waits for a core may leave a stop late;
    raises BrokenClock if that happens REPEATED times to the same run.
    """
    until, session = time.monotonic() + 60 * minutes, Session(store, goes_on=warm_hosts)
    held = labs.held(place.hosts, place.rate, LAB) if place.world == "lab" else contextlib.nullcontext()
    with held as lab, warm.kept(lab) if warm_hosts and lab else contextlib.nullcontext():
        while time.monotonic() < until and (play := following(rounds, store, session.failed)):
            todo = play, store.journal(play)
            session.keep(todo, carried_out(todo, lab))
    if session.doubted:
        raise BrokenClock("; ".join(session.doubted))
    return session.done


def run_in_turn(rounds: Sequence[Rounds], store: Store, minutes: float, processes: int = 1) -> int:
    """Run what is missing in virtual time until nothing is or `minutes` are over; return the number of runs.

    Entry by entry, because nothing is gained where runs of several entries are near to each other. With several
    `processes`, each carries out a run on one core, and takes one of the next entry where the present one has
    none that can begin. Raises BrokenClock at the end if journals of any run violate the rules of the train clock.
    """
    session = Session(store)

    def wanted(busy: Sequence[Todo], room: int) -> list[Todo]:
        taken = session.failed | {play.key for play, _ in busy}
        results, found = store.results(), dict[str, Play]()
        for play in (play for each in rounds for play in each.missing(results)):
            if len(found) == room:
                break
            if play.key not in taken:
                found.setdefault(play.key, play)
        return [(play, store.journal(play)) for play in found.values()]

    cores = 1 if processes > 1 else None
    carry_out(wanted, partial(carried_out, cores=cores), session.keep, minutes, processes)
    if session.doubted:
        raise BrokenClock("; ".join(session.doubted))
    return session.done


def carried_out(todo: Todo, lab: labs.Lab | None = None, cores: int | None = None) -> dict[str, Any]:
    """Carry out a run and return its result, what is wrong with its clock in words, and the machine's speed.

    `cores`: that a simulated run may use at once; None: all. `seconds`: those of the wall.
    """
    (play, journal), began, machine_ms = todo, time.monotonic(), speed.probe()
    result = run_within(MAX_SECONDS + OVERTIME, play, lab, journal, cores)
    wrong = "; ".join(faults(play, journal)) if over(result) else ""
    return {"result": result, "wrong": wrong, "machine_ms": machine_ms, "seconds": time.monotonic() - began}


def following(rounds: Sequence[Plan], store: Store, failed: set[str]) -> Play | None:
    """Return the next run: trials first, then reported runs by group and seed."""
    results = store.results()
    plays = [play for each in rounds for play in each.missing(results) if play.key not in failed]
    return min(plays, key=lambda play: (-1, 0) if play.rung is not None else (play.group, play.seed), default=None)


def _said(result: dict[str, object]) -> str:
    if not over(result):
        return f"{result['state']}: {result['why']}"
    if result.get("diverged"):
        return "diverged"
    reached = result["time_to_target"]
    return (
        f"target after {reached:.1f} s" if reached is not None else f"missed, {result['validation_accuracy']:.2%}"
    )
