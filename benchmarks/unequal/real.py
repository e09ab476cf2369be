"""The runs on real processes of this machine: all of a round under one mpirun, one after the other.

A worker with speed s sleeps after its gradients (`hooke.loop.governor`). A method with a server has one process
more than there are workers. Leave the machine alone meanwhile.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from hooke.catalogue.algorithm import ranks_of
from hooke.catalogue.validation import validate_run
from hooke.cluster.launchers.base import Launch
from hooke.cluster.launchers.local import LocalLauncher
from hooke.cluster.runner import RankRunner
from hooke.cluster.tail import last_lines
from hooke.spec.specification import RunSpec, canonical

from benchmarks import speed
from benchmarks.common.records import Record
from benchmarks.evidence import machine
from benchmarks.unequal import journals
from benchmarks.unequal.entries import entries
from benchmarks.unequal.runs import Run, missing

GRACE = 120.0
"""Seconds after the end of the time for the run that is under way; then all processes are ended."""


class Failed(Exception):
    """A run ended for another reason than its method."""


def run_all(
    records: dict[Run, Record],
    todo: Sequence[tuple[str, str]],
    keep: Callable[[Run, dict[str, Any]], None],
    minutes: float,
) -> None:
    """Carry out what is missing, in each condition first all trials, then the results, for at most `minutes`.

    Raises Failed with the end of a rank's output, if the first of the remaining runs failed without NaN or Inf.
    """
    until = time.monotonic() + 60 * minutes
    for task, condition in todo:
        while runs := [each for name in entries(condition) for each in missing(records, task, condition, name)]:
            if time.monotonic() >= until:
                return
            with tempfile.TemporaryDirectory() as folder:
                for run, figures in _together(runs, Path(folder), until):
                    records[run] = record = run.record(figures)
                    keep(run, record)


def _together(runs: Sequence[Run], place: Path, until: float) -> Iterator[tuple[Run, dict[str, Any]]]:
    """Yield the runs that ended, and their figures; those after one that diverged were not begun."""
    specs = [validate_run(run.document) for run in runs]
    folders = [place / str(number) for number in range(len(runs))]
    for folder, spec in zip(folders, specs, strict=True):
        folder.mkdir()
        (folder / "spec.json").write_text(canonical(spec))
    about = {"machine": machine.title_of(machine.hardware()), "machine_ms": round(speed.probe(), 2)}
    launch(folders, max(map(ranks_of, specs)), place / "launcher.log", until)
    ended = 0
    for run, folder, spec in zip(runs, folders, specs, strict=True):
        if (found := _ended(folder, spec)) is not None:
            ended += 1
            yield run, found | about
    if not ended and time.monotonic() < until:
        logs = [*(line for log in sorted(folders[0].glob("rank.*.log")) for line in last_lines(log, 20))]
        logs += last_lines(place / "launcher.log", 20)
        raise Failed(f"{runs[0]} did not end:\n" + "\n".join(map(str, logs)))


def launch(folders: Sequence[Path], ranks: int, log: Path, until: float) -> None:
    """Run all folders, which have specifications; after `until` those that have not begun are left out."""
    ids = tuple(f"unequal-{uuid.uuid4().hex[:12]}.1" for _ in folders)
    runner = RankRunner(Launch("mpi", ranks, tuple(folders), ids), LocalLauncher(), log)
    try:
        try:
            runner.process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            for folder in folders:
                (folder / "cancel").touch()
            runner.process.wait(GRACE)
    except BaseException:
        runner.process.terminate()
        raise
    finally:
        runner.finish()


def _ended(folder: Path, spec: RunSpec) -> dict[str, Any] | None:
    """Return the figures of a run; None if it has not ended, or not by itself."""
    from hooke.comparison.journals import read

    ranks = read(folder, ranks_of(spec))
    if all(rank.done is not None for rank in ranks):
        return journals.figures(folder, spec.workers, curve=True)
    output = "".join(log.read_text(errors="replace") for log in folder.glob("rank.*.log"))
    return dict(journals.DIVERGED) if "NumericalError" in output else None
