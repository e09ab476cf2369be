"""What a trace costs: processor time of a run with it over that of the same run without, in turns.

One worker under MPI with the exchange that Sync EASGD does even alone, and a whole virtual world. Processor time,
and the best of several turns, because the machine may have other work.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import torch
from hooke.comm.mpi import MpiComm
from hooke.expand import validate_run
from hooke.flat import FlatProblem
from hooke.spec import RunSpec
from hooke.trace.export import write
from hooke.train import run_spec_virtual, trace_of, train_rank

from benchmarks.core._problems import Timed, make_digits, make_lenet
from benchmarks.core.loop import in_turns

Result = tuple[str, float, str, float | None]
BATCH = 32
WORKERS = 8
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


def real(problem: FlatProblem, steps: int, traced: bool) -> float:
    """Processor seconds per step of one worker under MPI."""
    timed, run = Timed(problem), spec(steps, 1, "mpi")
    with tempfile.TemporaryDirectory() as folder:
        trace = trace_of(Path(folder), run, 0) if traced else None
        train_rank(MpiComm("tree"), run, Path(folder), timed, trace=trace)
    return timed.seconds_per_step()


def simulated(steps: int, traced: bool) -> float:
    """Processor seconds per gradient of a virtual world."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        run_spec_virtual(spec(steps, WORKERS, "virtual"), Path(folder), make_digits, trace=traced)
        return (time.process_time() - began) / (steps * WORKERS)


def overhead(run: Callable[[bool], float]) -> float:
    """Percent that a trace adds."""
    plain, traced = in_turns(partial(run, False), partial(run, True))
    return 100 * (traced / plain - 1)


def exported(steps: int) -> float:
    """Microseconds per event that it takes to make the file, behind the run."""
    with tempfile.TemporaryDirectory() as folder:
        run_spec_virtual(spec(steps, WORKERS, "virtual"), Path(folder), make_digits, trace=True)
        began = time.process_time()
        written = write(Path(folder), WORKERS, Path(folder) / "trace.json")
        return 1e6 * (time.process_time() - began) / written.events


def measure() -> Iterator[Result]:
    torch.set_num_threads(1)
    for name, make, steps in (("LeNet", make_lenet, 60), ("digits", make_digits, 1000)):
        yield f"{name}, one worker, added", overhead(partial(real, make(), steps)), "%", LIMIT
    yield f"digits, {WORKERS} virtual workers, added", overhead(partial(simulated, 100)), "%", LIMIT
    yield "making the file, per event", exported(100), "us", None
