"""Run the ranks of one attempt: `python -m mpi4py -m hooke.loop.train FOLDER [FOLDER ...] [--resume] [--trace]`.

Each folder holds a `spec.json` (a RunSpec) and receives the journals, `final.<rank>.npz` and checkpoints.
Several folders run one after the other in the same processes, and share their imports; a folder that contains a
file named `cancel` before its run starts is skipped. With --trace, or `trace` in the specification, each rank also
writes `trace.<rank>.bin`.

Exit status: 0 regular end (also after a cancel: see the `done` record), 3 the algorithm, workload or specification
raised, 4 anything else. SIGTERM and SIGINT cancel the run, SIGUSR1 requests a checkpoint.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: runs are bitwise equal only with one intra-op thread

import gc  # noqa: E402 - the line above must come first

if __name__ == "__main__":
    gc.disable()  # until all is imported

import argparse  # noqa: E402
import contextlib  # noqa: E402
import json  # noqa: E402
import signal  # noqa: E402
import socket  # noqa: E402
import sys  # noqa: E402
import traceback  # noqa: E402
from collections.abc import Callable  # noqa: E402
from dataclasses import dataclass, replace  # noqa: E402
from functools import partial  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

from hooke.catalogue import capacity  # noqa: E402
from hooke.catalogue.algorithm import algorithm, ranks_of, servers_of, slots_of  # noqa: E402
from hooke.catalogue.renamed import MODULES  # noqa: E402
from hooke.catalogue.validation import validate_run  # noqa: E402
from hooke.catalogue.warnings import said_of_compute_time  # noqa: E402
from hooke.catalogue.workload import Objective  # noqa: E402
from hooke.comm.base import Comm  # noqa: E402
from hooke.comm.wrappers.cuda import staging  # noqa: E402
from hooke.comm.wrappers.timed import connect  # noqa: E402
from hooke.errors import CheckpointError, CommError, HookeError, LaunchError, NumericalError  # noqa: E402
from hooke.hardware.placing import among, notes_of  # noqa: E402
from hooke.loop import checkpoint  # noqa: E402
from hooke.loop.decisions import Requests  # noqa: E402
from hooke.loop.evaluate import final_weights, score_test  # noqa: E402
from hooke.loop.flag import Flag  # noqa: E402
from hooke.loop.output import abort_all, end_at_once, write_output_to  # noqa: E402
from hooke.loop.rank import TrainingRank  # noqa: E402
from hooke.loop.recorder import Recorder  # noqa: E402
from hooke.loop.replay import read_order  # noqa: E402
from hooke.loop.split import settled, told  # noqa: E402
from hooke.loop.state import RankOptions, RankSetup  # noqa: E402
from hooke.loop.threads import built  # noqa: E402
from hooke.spec.events import Done, Evaluation  # noqa: E402
from hooke.spec.specification import RunSpec  # noqa: E402
from hooke.spec.states import DIVERGED, INFRASTRUCTURE, USER_RAISED  # noqa: E402
from hooke.trace.phases import Ledger  # noqa: E402
from hooke.trace.recording import DELIVERED_LIMIT, LIMIT, Trace, TracedLedger  # noqa: E402
from hooke.trace.records import file_of  # noqa: E402


@dataclass(frozen=True)
class Outcome:
    """The result of one rank."""

    rank: int
    weights: Any
    """Final weights (float32 array); on a server, the center."""
    center: Any
    """The evaluated weights, that is, the center; None on a worker of a method with a server."""
    done: Done
    evaluations: list[Evaluation]


def train_rank(
    comm: Comm,
    spec: RunSpec,
    folder: Path | None = None,
    objective: Objective | None = None,
    resume: bool = False,
    oversubscribed: bool = False,
    options: RankOptions | None = None,
    *,
    trace: Trace | None = None,
) -> Outcome:
    """Run one rank of `spec` on this communicator, from the start or from the latest checkpoint in `folder`.

    With a `trace` (see `trace_of`) every phase and message is recorded.
    """
    chosen = algorithm(spec.algorithm.name).model_validate(spec.algorithm.parameters)
    if comm.size != ranks_of(spec):
        raise LaunchError(f"{comm.size} ranks were started, but this run needs {ranks_of(spec)}")
    options, place = options or RankOptions(), checkpoint.latest(folder) if resume and folder else None
    build = partial(built, spec, comm.rank, options.placed)
    chosen, most, bounded = capacity.bounded(spec, chosen)
    chosen, sizes = settled(chosen, comm, spec, place, lambda: objective or build(), most)
    objective = objective or build()
    copies = staging(objective.device)
    ledger = Ledger(comm.clock) if trace is None else TracedLedger(comm.clock, trace)
    timed = connect(comm, spec.communication, objective.layout, ledger, copies, spec.seed)
    recorder = Recorder(folder, comm.rank, oversubscribed)
    # journal and trace of a failing rank are completed, too
    with contextlib.closing(recorder), contextlib.closing(trace) if trace else contextlib.nullcontext():
        setup = RankSetup(timed, chosen, objective, spec, folder, options)
        rank = TrainingRank(setup, recorder)
        rank.notes |= notes_of(rank.placed, objective, copies is not None) | told(sizes) | bounded
        rank.measured = sizes
        if spec.virtual is not None:
            rank.note("compute time", said_of_compute_time(spec.virtual))
        if place is not None:
            checkpoint.restore(rank, place)
        try:
            chosen.run(rank)
        except NumericalError:
            if not rank.drops or rank.is_server:
                raise
            traceback.print_exc()
            rank.leave()
        reason = rank.agree_on_ending()
        rank.settle()
        if reason in ("cancelled", "timed_out") or spec.checkpoint == "always":
            rank.checkpoint()
        score_test(rank)  # last: no decision and no checkpoint depends on it
        done = recorder.done(rank)
        if trace is not None:
            trace.finish()
    weights, center = final_weights(rank)
    outcome = Outcome(comm.rank, weights, center, done, recorder.evaluations)
    if folder is not None:
        arrays = {"weights": outcome.weights} | ({"center": center} if rank.holds_center else {})
        np.savez(folder / f"final.{comm.rank}.npz", **arrays)
    return outcome


def trace_of(folder: Path, spec: RunSpec, rank: int) -> Trace:
    """Return the trace that a rank of a run writes to the run's folder."""
    role = "worker" if rank < spec.workers else "server"
    about = {
        "rank": rank,
        "ranks": ranks_of(spec),
        "role": role,
        "world": spec.world,
        "host": socket.gethostname(),
    }
    return Trace(file_of(folder, rank), about, (DELIVERED_LIMIT if spec.trace else LIMIT) // ranks_of(spec))


def run_spec_virtual(
    spec: RunSpec,
    folder: Path | None = None,
    make_objective: Callable[[], Objective] | None = None,
    resume: bool = False,
    options: RankOptions | None = None,
    trace: bool = False,
    cores: int = 1,
) -> list[Outcome]:
    """Run all ranks of a virtual run in this process, one thread each, in virtual time; `trace` needs a folder.

    As many as `cores` gradients are computed at once; the results do not depend on it.
    """
    from hooke.comm.virtual.communicator import run_virtual

    if spec.virtual is None:
        raise LaunchError("the virtual world needs the constants of its network: spec.virtual is empty")
    if spec.virtual.like is not None:
        raise LaunchError(
            f"the constants like those of {spec.virtual.like!r} were not resolved: submit the experiment to the "
            "API, or use `hooke run` with the file of a calibration"
        )

    def main(comm: Comm) -> Outcome:
        objective = make_objective() if make_objective else None
        notes = trace_of(folder, spec, comm.rank) if (trace or spec.trace) and folder else None
        return train_rank(comm, spec, folder, objective, resume, options=options, trace=notes)

    ranks, servers = ranks_of(spec), servers_of(spec)
    options = replace(options or RankOptions(), together=Requests(ranks))
    return run_virtual(ranks, spec.virtual, main, spec.communication.collective, servers, cores)


@dataclass(frozen=True)
class _Asked:
    """Requests by signals, and options of the command line."""

    cancel: Flag
    checkpoint: Flag
    resume: bool
    replay: Path | None
    trace: bool
    cores: int

    def of_the_next(self) -> bool:
        """Forget a checkpoint requested of the run before; return whether a cancel has been requested."""
        self.checkpoint.clear()
        return self.cancel.is_set()


def _spec_of(folder: Path) -> RunSpec:
    return validate_run(json.loads((folder / "spec.json").read_text()))


def _run_folder(folder: Path, asked: _Asked, world: Any = None) -> None:
    """Run one folder; `world`: its ranks' MPI communicator, if other runs follow."""
    spec = _spec_of(folder)
    if spec.world == "virtual":
        options = RankOptions(asked.cancel, asked.checkpoint, read_order(asked.replay) if asked.replay else None)
        run_spec_virtual(spec, folder, None, asked.resume, options, trace=asked.trace, cores=asked.cores)
        return
    if asked.replay:
        raise LaunchError("a replay runs in the virtual world")
    from hooke.comm.mpi.communicator import MpiComm
    from hooke.hardware.description import usable_cores

    comm = MpiComm(spec.communication.collective, world)
    threads = 1 if (group := spec.group(comm.rank)) is None else group.threads
    beside = comm.ranks_on_this_machine - 1
    used = slots_of(spec) if beside + 1 == comm.size else beside + threads  # elsewhere: of others one thread each
    crowded = used > usable_cores()
    placed = among(spec.compute, comm, comm.rank >= spec.workers, threads)  # before torch starts threads
    options = RankOptions(asked.cancel, asked.checkpoint, placed=placed)
    trace = trace_of(folder, spec, comm.rank) if asked.trace or spec.trace else None
    train_rank(comm, spec, folder, None, asked.resume, crowded, options, trace=trace)
    if comm.incomplete:
        end_at_once()
    if world is not None:
        comm.close()


def _exit_status(error: BaseException) -> int:
    infra = (CommError, CheckpointError, LaunchError, OSError, MemoryError, KeyboardInterrupt)
    if isinstance(error, infra) or not isinstance(error, Exception):
        return INFRASTRUCTURE
    return DIVERGED if isinstance(error, NumericalError) else USER_RAISED


def main(arguments: list[str] | None = None) -> int:
    """Run the folders named on the command line; return the exit status."""
    parser = argparse.ArgumentParser(prog="hooke.loop.train", description="Run the ranks of an attempt.")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--resume", action="store_true", help="continue from the latest complete checkpoint")
    parser.add_argument("--replay", type=Path, help="reply in the order of the journal in this folder")
    parser.add_argument("--trace", action="store_true", help="write a timeline of every rank to the folder")
    parser.add_argument("--cores", type=int, default=1, help="virtual time: gradients computed at once")
    options = parser.parse_args(arguments)
    asked = _Asked(Flag(), Flag(), options.resume, options.replay, options.trace, options.cores)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: asked.cancel.set())
    signal.signal(signal.SIGUSR1, lambda *_: asked.checkpoint.set())
    if len(options.folders) > 1 and _spec_of(options.folders[0]).world == "mpi":
        from hooke.loop.in_turn import run_in_turn

        run_in_turn(
            options.folders,
            asked.of_the_next,
            lambda folder: ranks_of(_spec_of(folder)),
            lambda folder, world: _run_folder(folder, asked, world),
        )
        return 0
    for folder in options.folders:
        if asked.cancel.is_set():
            break
        if (folder / "cancel").exists():
            continue
        if len(options.folders) > 1:
            write_output_to(folder)
        _run_folder(folder, asked)
        asked.checkpoint.clear()  # requested of this run
    return 0


def run() -> None:
    """Entry point of the module: call `main`, print any error and, after an error, abort all ranks."""
    try:
        status = main()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)  # a repeated request must not kill a rank that is ending
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 - after any error the other ranks must be aborted
        traceback.print_exc()
        status = _exit_status(error)
        if isinstance(error, ImportError) and error.name in MODULES:  # an import in a function of a user's file
            print(f"{error.name} is now {MODULES[error.name]}: change the import", file=sys.stderr)  # noqa: T201
        if isinstance(error, HookeError):
            print(f"{type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201 - the rank's log
        sys.stderr.flush()
        abort_all(status)
    sys.exit(status)


if __name__ == "__main__":
    gc.freeze()  # modules stay to the end: they are searched for garbage neither in measured steps nor at the exit
    gc.enable()
    run()
