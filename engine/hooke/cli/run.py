"""`hooke run`: one run on this machine, without any server."""

from __future__ import annotations

import shutil
import signal
import sys
import tempfile
import time
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from hooke.cluster.local_run import LocalRun
    from hooke.spec.events import Evaluation, StateReport
    from hooke.spec.specification import RunSpec

FAILED, BAD_SPEC, CANCELLED = 1, 2, 130
POLL_SECONDS = 0.1
GRACE = 30.0
"""Seconds between cancelling a run and killing its ranks: enough to write a checkpoint."""


class World(StrEnum):
    """Where ranks run."""

    mpi = "mpi"
    virtual = "virtual"


def run(  # noqa: PLR0913 - one parameter per option of the command
    spec: Annotated[
        Path,
        typer.Argument(
            metavar="SPEC.yaml", exists=True, dir_okay=False, help="A run or an experiment, YAML or JSON."
        ),
    ],
    *,
    workers: Annotated[int | None, typer.Option(help="Number of workers (P).")] = None,
    world: Annotated[World | None, typer.Option(help="Real MPI processes, or virtual time.")] = None,
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate", help="Virtual time: measure the time of a gradient on this machine and use it."
        ),
    ] = False,
    cores: Annotated[
        int | None,
        typer.Option(min=1, help="Virtual time: gradients computed at once; by default as many as cores."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of data order and initial weights.")] = None,
    variant: Annotated[str | None, typer.Option(help="Variant of an experiment to run.")] = None,
    cluster: Annotated[str | None, typer.Option(help="Cluster of an experiment to run on.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")] = False,
    run_dir: Annotated[Path | None, typer.Option(help="Folder of journals, logs and checkpoints; kept.")] = None,
    save: Annotated[Path | None, typer.Option(help="Write final center and weights to this .npz.")] = None,
    trace: Annotated[
        Path | None,
        typer.Option(help="Write every rank's timeline to this .json (or .json.gz), for ui.perfetto.dev."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume from the checkpoint in --run-dir.")] = False,
    replay: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            file_okay=False,
            help="Replay the run in this folder, in virtual time and in its logged order of exchanges, and "
            "compare the results bit by bit.",
        ),
    ] = None,
) -> None:
    """Run one experiment cell on this machine and print its result.

    The status is 0 if the run succeeded, 1 if it failed, 2 if the specification is wrong, 130 if it was cancelled.
    Ctrl-C cancels: all ranks end together and write a checkpoint; a second one kills them. SIGUSR1 requests a
    checkpoint; the run continues.
    """
    from hooke.catalogue.warnings import warnings
    from hooke.cli.document import load_run, read
    from hooke.cli.outputs import check_writable
    from hooke.errors import HookeError, SpecError

    if calibrate and (resume or replay is not None):
        raise typer.BadParameter("--calibrate changes the run: it cannot be combined with --resume or --replay")
    if resume and run_dir is None:
        raise typer.BadParameter("--resume needs --run-dir, the folder that holds the checkpoint")
    check_writable(save, "--save")
    check_writable(trace, "--trace")
    try:
        resolved = load_run(read(spec), variant, cluster, workers, world, seed)
        if resume and run_dir is not None:
            resolved = _as_begun(resolved, run_dir)
        if replay is not None:
            resolved = _as_replay(resolved, replay)
        resolved = _calibrated(resolved) if calibrate else resolved
    except SpecError as error:
        for problem in error.faults:
            print(f"{problem.pointer or '/'}: {problem.message}", file=sys.stderr)
        raise typer.Exit(BAD_SPEC) from None
    except HookeError as error:
        print(error, file=sys.stderr)
        raise typer.Exit(BAD_SPEC) from None
    for warning in warnings(resolved):
        print(f"warning: {warning.pointer or '/'}: {warning.message}", file=sys.stderr)
    folder = run_dir or Path(tempfile.mkdtemp(prefix="hooke-run-"))
    report, found = execute(resolved, folder, resume, save, replay, trace, cores)
    _print(report, found, as_json)
    succeeded = report.state == "succeeded"
    equal = replay is None or not succeeded or _says_equal(resolved, folder, replay)
    if run_dir is None and succeeded and (trace is None or found["trace"] is not None):
        shutil.rmtree(folder)
    elif not succeeded:
        print(f"journals, logs and checkpoints: {folder}", file=sys.stderr)
    if not succeeded:
        raise typer.Exit(CANCELLED if report.state == "cancelled" else FAILED)
    if not equal:
        raise typer.Exit(FAILED)


def _calibrated(spec: RunSpec) -> RunSpec:
    from hooke.catalogue.warnings import said_of_devices
    from hooke.objective.calibrate import calibrated

    if spec.virtual is None:
        raise typer.BadParameter("--calibrate needs a virtual run (--world virtual)")
    if said_of_devices(spec.virtual):
        why = "--calibrate measures this machine, and the compute time of virtual devices is that of a cpu-28"
        raise typer.BadParameter(f"{why}: give `compute_seconds_per_sample`")
    return calibrated(spec)


def _as_begun(spec: RunSpec, folder: Path) -> RunSpec:
    """Return the run that resumes the one in `folder`, if there is one."""
    from hooke.loop import replay

    return replay.with_collective(spec, folder) if (folder / "spec.json").exists() else spec


def _as_replay(spec: RunSpec, recorded: Path) -> RunSpec:
    """Return the run that replays the one in `recorded`. Raises HookeError if it cannot be replayed."""
    from hooke.errors import Fault, SpecError
    from hooke.loop import replay

    replay.read_order(recorded)
    spec = replay.with_collective(spec, recorded)
    if not replay.same_run(spec, replay.recorded(recorded)):
        raise SpecError([Fault("", f"this is not the run recorded in {recorded}, so it cannot be a replay")])
    return replay.twin(spec)


def _says_equal(spec: RunSpec, folder: Path, recorded: Path) -> bool:
    from hooke.loop.replay import compare

    found = compare(spec, folder, recorded)
    for difference in found:
        print(f"not equal to {recorded}: {difference}", file=sys.stderr)
    if not found:
        print(f"center and all weights equal those in {recorded}, bit for bit", file=sys.stderr)
    return not found


def execute(
    spec: RunSpec,
    folder: Path,
    resume: bool = False,
    save_to: Path | None = None,
    replay: Path | None = None,
    trace: Path | None = None,
    cores: int | None = None,
) -> tuple[StateReport, dict[str, Any]]:
    """Run `spec` in `folder` to its end, showing progress on stderr; return how it ended and its numbers.

    `cores`: gradients that a virtual run computes at once; None: as many as cores.
    """
    from hooke.catalogue.algorithm import ranks_of
    from hooke.cli import outcome
    from hooke.cluster import local_run
    from hooke.cluster.launchers.base import TRAIN
    from hooke.hardware.description import ranks_at_once
    from hooke.spec.invariants import faults

    if resume:
        print(local_run.resumes_from(folder, spec), file=sys.stderr)
    local_run.prepare(folder, spec, resume)
    program = TRAIN if trace is None else (*TRAIN, "--trace")
    if spec.world == "virtual":
        program = (*program, "--cores", str(cores or ranks_at_once(spec.compute.threads)))
    started = local_run.start(folder, spec, resume, program=program, replay=replay)
    evaluations, report = _follow(started)
    found = outcome.result(spec, report, started.witness.started, started.witness.done, evaluations)
    found |= {**started.energy(), "folder": str(folder)}
    found["clock_faults"] = faults(folder) if any(folder.glob("journal.*.jsonl")) else []  # else it never began
    if save_to is not None and report.state == "succeeded":
        outcome.save(save_to, spec, folder)
    if trace is not None:
        found["trace"] = write_trace(folder, ranks_of(spec), trace)
    return report, found


def write_trace(folder: Path, ranks: int, trace: Path) -> str | None:
    """Merge the ranks' traces into one file, report it on stderr, and return its name; None on failure."""
    from hooke.errors import JournalError
    from hooke.trace.export import write

    try:
        written = write(folder, ranks, trace)
    except (JournalError, OSError) as error:
        print(f"no trace: {error}; the records of the ranks are in {folder}", file=sys.stderr)
        return None
    print(f"trace of {written.ranks} ranks: {trace}, for https://ui.perfetto.dev", file=sys.stderr)
    for remark in written.remarks:
        print(f"warning: {remark}", file=sys.stderr)
    return str(trace)


class _Signals:
    """Ctrl-C and SIGTERM during a run: the first one cancels it, the next one kills it."""

    def __init__(self) -> None:
        self._arrived = 0
        self._checkpoint = False
        self._asked_at: float | None = None

    def note(self, number: int, frame: FrameType | None) -> None:
        """Count a signal; the loop acts on it, because a handler may interrupt anything."""
        del frame
        if number == signal.SIGUSR1:
            self._checkpoint = True
        else:
            self._arrived += 1

    def act(self, started: LocalRun) -> None:
        """Act on the signals received so far."""
        if self._checkpoint:
            self._checkpoint = False
            started.checkpoint()
        if self._arrived and self._asked_at is None:
            self._asked_at = time.monotonic()
            print(
                "cancelling: all ranks end together, with a checkpoint; press Ctrl-C again to kill them",
                file=sys.stderr,
            )
            started.cancel()
        elif self._arrived > 1 or (self._asked_at and time.monotonic() - self._asked_at > GRACE):
            started.kill()


def _follow(started: LocalRun) -> tuple[list[Evaluation], StateReport]:
    from hooke.cli.display import display
    from hooke.cli.progress import Follower

    signals = _Signals()
    before = {n: signal.signal(n, signals.note) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)}
    try:
        follower = Follower(started)
        with display(started) as shown:
            running = True
            while running:
                running = started.poll()
                shown.show(follower, follower.look())
                signals.act(started)
                if running:
                    time.sleep(POLL_SECONDS)
        report = started.finish()
        follower.look()
        return follower.evaluations, report
    except BaseException:  # also Ctrl-C: end all ranks before passing it on
        started.kill()
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _print(report: StateReport, found: dict[str, Any], as_json: bool) -> None:
    from hooke.cli import outcome

    if as_json:
        print(outcome.as_json(found))
    else:
        print(outcome.table(found))
    for fault in found["clock_faults"]:
        print(f"warning: the clock of this run cannot be trusted: {fault}", file=sys.stderr)
    if report.state not in ("succeeded", "cancelled"):
        print(f"{report.state}: {report.why}", file=sys.stderr)
