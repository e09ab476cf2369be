"""Runs the missing runs at one place, one after the other: first all trials, then seed by seed over all entries.

Reported runs of different entries with the same seed are close to each other in time, so that a change of the
machine's speed meets all of them.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections import Counter
from collections.abc import Sequence

from benchmarks import speed
from benchmarks.evidence.running import OVERTIME, BrokenClock, faults, run_within
from benchmarks.evidence.store import over
from benchmarks.netlab import lab as labs
from benchmarks.tuned.conditions import MAX_SECONDS, Place
from benchmarks.tuned.rounds import Play, Rounds
from benchmarks.tuned.store import Store

LAB = "tuned"
REPEATED = 3
"""Runs of the same play with a broken clock after which the clock itself is to be doubted."""


def run_all(rounds: Sequence[Rounds], place: Place, store: Store, minutes: float) -> int:
    """Run what is missing until nothing is, or `minutes` are over; return the number of runs.

    A run that fails for a reason outside of its method, such as the limit of this benchmark, is kept as a failure
    that says so, is in no table, and is not repeated in this session. One whose journals violate
    the rules of the train clock is repeated at once, because a rank that waits for a core may leave a stop late;
    raises BrokenClock if that happens REPEATED times to the same run.
    """
    until, failed, broken, done = time.monotonic() + 60 * minutes, set[str](), Counter[str](), 0
    held = labs.held(place.hosts, place.rate, LAB) if place.world == "lab" else contextlib.nullcontext()
    with held as lab:
        while time.monotonic() < until and (play := following(rounds, store, failed)):
            began, journal, machine_ms = time.monotonic(), store.journal(play), speed.probe()
            result = run_within(MAX_SECONDS + OVERTIME, play, lab, journal)
            if result["state"] == "cancelled":  # Ctrl-C, which the run has caught to end its ranks in order
                raise KeyboardInterrupt
            if over(result) and (wrong := faults(play, journal)):
                broken[play.key] += 1
                told = f"{play.title} ({play.key}, journals in {journal}): {'; '.join(wrong)}"
                if broken[play.key] == REPEATED:
                    raise BrokenClock(told)
                print(f"not counted: {told}", flush=True)
                continue
            store.keep(play, result, machine_ms)
            if not over(result):
                failed.add(play.key)
            shutil.rmtree(journal, ignore_errors=True)
            done += 1
            print(f"{play.title}: {_said(result)} ({time.monotonic() - began:.0f} s in all)", flush=True)
    return done


def run_in_turn(rounds: Sequence[Rounds], place: Place, store: Store, minutes: float) -> int:
    """Run what is missing, entry by entry, until nothing is or `minutes` are over; return the number of runs.

    For virtual time: there nothing is gained where runs of several entries are near to each other.
    """
    until, done = time.monotonic() + 60 * minutes, 0
    for each in rounds:
        done += run_all([each], place, store, (until - time.monotonic()) / 60)
    return done


def following(rounds: Sequence[Rounds], store: Store, failed: set[str]) -> Play | None:
    """Return the next run: trials first, then reported runs by seed."""
    results = store.results()
    plays = [play for each in rounds for play in each.missing(results) if play.key not in failed]
    return min(plays, key=lambda play: -1 if play.rung is not None else play.seed, default=None)


def _said(result: dict[str, object]) -> str:
    if not over(result):
        return f"{result['state']}: {result['why']}"
    if result.get("diverged"):
        return "diverged"
    reached = result["time_to_target"]
    return (
        f"target after {reached:.1f} s" if reached is not None else f"missed, {result['validation_accuracy']:.2%}"
    )
