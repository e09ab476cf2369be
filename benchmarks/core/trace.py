"""Overhead of a trace: processor time per step of runs with and without it, measured alternately.

Measured for one worker under MPI (Sync EASGD, which exchanges even with one worker) and a virtual world of eight;
for the loop alone, with data and gradients of no cost; and for single changes of phase and operations.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from hooke.catalogue.validation import validate_run
from hooke.comm.base import Traffic
from hooke.comm.mpi.communicator import MpiComm
from hooke.comm.wrappers.timed import Timed as Charged
from hooke.comm.wrappers.wrapper import Wrapper
from hooke.loop.train import run_spec_virtual, trace_of, train_rank
from hooke.objective.flat import FlatObjective
from hooke.spec.specification import RunSpec
from hooke.trace.export import write
from hooke.trace.phases import Ledger, Phase
from hooke.trace.recording import Trace, TracedLedger

from benchmarks.core._objectives import Timed, Weightless, make_digits, make_lenet

Result = tuple[str, float, str, float | None]
BATCH = 32
WORKERS = 8
TURNS = 8
LIMIT = 3.0
"""Percent."""


def spec(steps: int, workers: int, world: str) -> RunSpec:
    return validate_run(
        {
            "workload": {"name": "digits-mlp"},
            "algorithm": {"name": "sync-easgd3", "parameters": {"lr": 0.01}},
            "batch": BATCH,
            "workers": workers,
            "world": world,
            "virtual": {} if world == "virtual" else None,
            "budget": {"samples": steps * BATCH * workers},
            "evaluation": {"every": 10**9},
            "checkpoint": "never",
        }
    )


def real(kind: type[Timed], make: Callable[[], FlatObjective], steps: int, traced: bool) -> float:
    """Return processor seconds per step of one worker under MPI."""
    timed, run = kind(make()), spec(steps, 1, "mpi")
    with tempfile.TemporaryDirectory() as folder:
        trace = trace_of(Path(folder), run, 0) if traced else None
        train_rank(MpiComm("tree"), run, Path(folder), timed, trace=trace)
    return timed.seconds_per_step()


def simulated(kind: type[Timed], make: Callable[[], FlatObjective], steps: int, traced: bool) -> float:
    """Return processor seconds per step of a virtual worker, mean over workers."""
    problems: list[Timed] = []

    def build() -> Timed:
        problems.append(kind(make()))
        return problems[-1]

    with tempfile.TemporaryDirectory() as folder:
        run_spec_virtual(spec(steps, WORKERS, "virtual"), Path(folder), build, trace=traced)
    return fmean(problem.seconds_per_step() for problem in problems)


def in_turns(run: Callable[[bool], float]) -> tuple[float, float]:
    """Return seconds without a trace, and the seconds added by one; best of many short rounds."""
    pairs = [(run(False), run(True)) for _ in range(TURNS)]
    plain = min(plain for plain, _ in pairs)
    return plain, min(traced for _, traced in pairs) - plain


def exported(steps: int) -> float:
    """Return the microseconds per event of writing the timeline after the run."""
    with tempfile.TemporaryDirectory() as folder:
        run_spec_virtual(spec(steps, WORKERS, "virtual"), Path(folder), make_digits, trace=True)
        began = time.process_time()
        written = write(Path(folder), WORKERS, Path(folder) / "trace.json")
        return 1e6 * (time.process_time() - began) / written.events


class Nothing(Wrapper):
    """A communicator whose operations do nothing."""

    def __init__(self) -> None:
        self.rank, self.size, self.traffic, self.implementation = 0, 1, Traffic(), "nothing"
        self.control: Any = None

    def clock(self) -> float:
        return time.perf_counter()

    def allreduce(self, x: Any) -> None:
        del x


def calls(traced: bool, count: int = 2000) -> tuple[float, float]:
    """Return the nanoseconds of one change of phase and of one operation; best of many rounds."""
    about = {"rank": 0, "ranks": 1, "role": "worker", "world": "mpi", "host": "here"}
    x, best = torch.zeros(10), [float("inf"), float("inf")]
    for _ in range(30):
        with tempfile.TemporaryDirectory() as folder:
            trace = Trace(Path(folder) / "trace.bin", about)
            ledger = TracedLedger(time.perf_counter, trace) if traced else Ledger(time.perf_counter)
            timed = Charged(Nothing(), ledger)
            ledger.begin()
            began = time.thread_time_ns()
            for _ in range(count // 2):
                ledger.enter(Phase.COMPUTE)
                ledger.enter(Phase.IDLE)
            between = time.thread_time_ns()
            for _ in range(count):
                timed.allreduce(x)
            ended = time.thread_time_ns()
            trace.close()
        best = [min(best[0], (between - began) / count), min(best[1], (ended - between) / count)]
    return best[0], best[1]


def measure() -> Iterator[Result]:
    torch.set_num_threads(1)
    for traced in (False, True):
        change, operation = calls(traced)
        yield f"a change of phase, {'with' if traced else 'without'}", change, "ns", None
        yield f"an operation, {'with' if traced else 'without'}", operation, "ns", None
    for who, run, steps in (("one worker", real, 1000), (f"{WORKERS} virtual workers", simulated, 240)):
        step, added = in_turns(partial(run, Timed, make_digits, steps))
        yield f"digits, {who}, added", 100 * added / step, "%", LIMIT
        _, added = in_turns(partial(run, Weightless, make_digits, steps))
        yield f"the loop alone, {who}, added", 1e6 * added, "us", None
    lenet = make_lenet()
    step, added = in_turns(partial(real, Timed, lambda: lenet, 30))
    yield "LeNet, one worker, added", 100 * added / step, "%", LIMIT
    yield "making the file, per event", exported(100), "us", None
