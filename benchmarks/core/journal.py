"""Overhead of the journal and the phases per step, as a share of a LeNet step of 32 samples.

The real loop runs with an objective of LeNet's size whose gradient costs nothing. Journal: difference between runs
with and without a folder. Phases: the calls of `Ledger.enter` of a step, timed separately. Loop: everything except
the gradient, including the checks for NaN. All in processor time of the rank's thread.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from hooke.catalogue.workload import Objective
from hooke.comm.mpi.communicator import MpiComm
from hooke.loop.train import train_rank
from hooke.trace.phases import Ledger, Phase

from benchmarks.core._objectives import Weightless, make_digits, make_lenet
from benchmarks.core.loop import spec

Result = tuple[str, float, str, float | None]
STEPS = 2000
TURNS = 5


def loop_seconds(real: Objective, folder: Path | None) -> float:
    """Return processor seconds per step of a run with one rank and an objective of this size without cost."""
    objective = Weightless(real)
    train_rank(MpiComm("tree"), spec(STEPS), folder, objective)
    return objective.seconds_per_step()


def journal_seconds(objective: Objective) -> float:
    """Return the seconds per step added by the journal; best of several rounds on both sides."""
    with_journal, without = [], []
    for _ in range(TURNS):
        with tempfile.TemporaryDirectory() as folder:
            with_journal.append(loop_seconds(objective, Path(folder)))
        without.append(loop_seconds(objective, None))
    return min(with_journal) - min(without)


def phase_seconds() -> float:
    """Return the seconds per step spent in changes of phase: counted in a real step, timed in a tight loop."""
    changes = 0
    entered = Ledger.enter

    def counting(self: Ledger, phase: Phase) -> Phase:
        nonlocal changes
        changes += 1
        return entered(self, phase)

    Ledger.enter = counting  # type: ignore[method-assign] # a counter around the real one
    try:
        loop_seconds(make_digits(), None)
    finally:
        Ledger.enter = entered  # type: ignore[method-assign] # as it was
    ledger = Ledger(time.perf_counter)
    best = float("inf")
    for _ in range(TURNS):
        began = time.thread_time()
        for _ in range(10_000):
            ledger.enter(Phase.COMPUTE)
        best = min(best, (time.thread_time() - began) / 10_000)
    return best * changes / STEPS


def step_seconds(objective: Objective) -> float:
    """Return the processor seconds of a LeNet gradient with its data; best of several rounds."""
    objective.bind(objective.initial(0), objective.allocate())
    best = float("inf")
    for _ in range(TURNS):
        began = time.thread_time()
        for at in range(20):
            objective.gradient(objective.pick(range(32 * at, 32 * at + 32)))
        best = min(best, (time.thread_time() - began) / 20)
    return best


def measure() -> Iterator[Result]:
    torch.set_num_threads(1)
    lenet = make_lenet()
    step, journal, phases = step_seconds(lenet), journal_seconds(lenet), phase_seconds()
    loop = min(loop_seconds(lenet, None) for _ in range(2))
    yield "LeNet step, batch 32", 1e3 * step, "ms", None
    yield "journal per step", 1e6 * journal, "us", None
    yield "phases per step", 1e6 * phases, "us", None
    yield "journal and phases", 100 * (journal + phases) / step, "% of a LeNet step", 2.0
    yield "loop without journal (NaN checks, polls, update)", 1e6 * loop, "us", None
