"""Runs one planned run after the other: in virtual time in this process, or with real ranks under mpirun."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hooke.catalogue.expand import PlannedRun
from hooke.catalogue.workload import Workload
from hooke.cluster.local_run import prepare, start
from hooke.comparison import journals
from hooke.comparison.figures import RunFigures
from hooke.errors import NumericalError
from hooke.hardware.description import ranks_at_once
from hooke.loop.flag import Flag
from hooke.notebook import ranks
from hooke.spec.events import Evaluation
from hooke.spec.specification import RunSpec
from hooke.spec.states import DIVERGED, RunState

LOOK_SECONDS = 0.1
"""Time between two looks at a run."""
END_SECONDS = 10.0
"""Longest time that a run, once cancelled, is waited for after an error of the caller."""
Look = Callable[[Path], None]
"""Called with the folder of the run while it runs."""


@dataclass(frozen=True)
class ComparedRun:
    """One run of a comparison, with its figures; `spec` is the complete input of the engine."""

    figures: RunFigures
    spec: RunSpec
    folder: Path | None = None
    """The folder of its journals; None of a run that has not been started."""
    evaluations: tuple[Evaluation, ...] = ()
    why: str = ""
    """Why it failed."""
    core_seconds: float | None = None
    """Processor seconds of this process meanwhile, or seconds times real ranks; None: loaded or not started."""


def not_started(run: PlannedRun) -> ComparedRun:
    """Return a run that is planned only."""
    figures = RunFigures(
        variant=run.variant,
        algorithm=run.spec.algorithm.name,
        cluster=run.cluster,
        workers=run.workers,
        servers=run.servers,
        seed=run.seed,
        simulated=run.spec.world == "virtual",
        state=RunState.QUEUED,
        trial=run.trial,
        rung=run.rung,
    )
    return ComparedRun(figures, run.spec)


def execute(run: PlannedRun, folder: Path, given: type[Workload] | None, look: Look) -> tuple[ComparedRun, bool]:
    """Run it in `folder`, which must not exist; return what it has shown, and whether Ctrl-C ended it.

    `given`: a workload that exists in this process only. A run that diverges, or whose ranks raise, has failed;
    `why` says how.
    """
    prepare(folder, run.spec)
    play = _play_virtual if run.spec.world == "virtual" else _play_mpi
    of_all = run.ranks if run.spec.world == "mpi" else 1
    clock = time.process_time if run.spec.world == "virtual" else time.monotonic
    began = clock()
    state, diverged, why, interrupted = play(run.spec, folder, given, look)
    planned = replace(not_started(run), core_seconds=of_all * (clock() - began))
    figures = journals.filled_in(replace(planned.figures, state=state, diverged=diverged), folder)
    scored = journals.evaluations(folder, run.ranks)
    return replace(planned, figures=figures, folder=folder, evaluations=tuple(scored), why=why), interrupted


Ending = tuple[RunState, bool, str, bool]
"""State, whether it diverged, why it failed, whether Ctrl-C ended it."""


def _play_virtual(spec: RunSpec, folder: Path, given: type[Workload] | None, look: Look) -> Ending:
    """Run all ranks as threads of this process, and wait for them where Ctrl-C arrives.

    The wait is for an event, since Ctrl-C within `Thread.join` makes Python 3.11 take a living thread for ended.
    """
    del given  # the catalogue of this process offers it
    train = _training()
    cancel, ended = Flag(), threading.Event()
    raised, reasons = list[BaseException](), list[str]()

    def play() -> None:
        try:
            options = train.RankOptions(cancel)
            outcomes = train.run_spec_virtual(
                spec, folder, options=options, cores=ranks_at_once(spec.compute.threads)
            )
            reasons.append(outcomes[0].done.reason)
        except BaseException as error:  # noqa: BLE001 - judged below, in the thread of the caller
            raised.append(error)
        finally:
            ended.set()

    thread = threading.Thread(target=play, name="hooke-compare", daemon=True)
    running, pause = lambda: not ended.is_set(), lambda: ended.wait(LOOK_SECONDS)
    try:
        thread.start()
        interrupted = _wait(running, pause, lambda: look(folder), cancel.set)
    except BaseException:  # a second Ctrl-C, or the callback of the caller
        cancel.set()
        ended.wait(END_SECONDS)
        raise
    if not raised:
        early = {"cancelled": RunState.CANCELLED, "timed_out": RunState.TIMED_OUT}
        return early.get(reasons[0], RunState.SUCCEEDED), False, "", interrupted
    error = raised[0]
    if not isinstance(error, Exception):
        raise error
    diverged = isinstance(error, NumericalError)
    why = "; ".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
    return RunState.FAILED_USER, diverged, why, interrupted


def _play_mpi(spec: RunSpec, folder: Path, given: type[Workload] | None, look: Look) -> Ending:
    """Run the ranks as processes, as `hooke run` does."""
    program = ranks.program(folder, given)
    started = start(folder, spec) if program is None else start(folder, spec, program=program)
    try:
        pause = lambda: time.sleep(LOOK_SECONDS)  # noqa: E731 - the counterpart of joining a thread
        interrupted = _wait(started.poll, pause, lambda: look(folder), started.cancel)
    except BaseException:  # also Ctrl-C: no rank outlives the error, which goes on upwards
        started.kill()
        raise
    report = started.finish()
    ranks.tidy(folder)
    failed = report.state.startswith("failed")
    return RunState(report.state), report.exit_code == DIVERGED, report.why if failed else "", interrupted


def _wait(
    running: Callable[[], bool], pause: Callable[[], object], look: Callable[[], None], cancel: Callable[[], None]
) -> bool:
    """Return when the run has ended, and whether Ctrl-C cancelled it; a second Ctrl-C is passed on."""
    interrupted = False
    while True:
        try:
            while running():
                pause()
                look()
            return interrupted
        except KeyboardInterrupt:
            if interrupted:
                raise
            interrupted = True
            cancel()


def _training() -> Any:
    """Return `hooke.loop.train`, which sets a variable for the ranks of `mpirun`; here the user's stays."""
    before = os.environ.get("OMP_NUM_THREADS")
    loaded = "hooke.loop.train" in sys.modules
    from hooke.loop import train

    if before is None and not loaded:
        os.environ.pop("OMP_NUM_THREADS", None)
    return train
