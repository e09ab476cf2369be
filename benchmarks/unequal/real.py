"""The runs on real processes of this machine: all of a round under one mpirun, one after the other.

A worker with speed s sleeps after its gradients (`hooke.loop.governor`). A method with a server has one process
more than there are workers. Leave the machine alone meanwhile. Beside a real device the first run of a start is
thrown away: a device loads what it needs on first use.
"""

from __future__ import annotations

import math
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from importlib.metadata import version
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
from benchmarks.unequal.conditions import CONDITIONS, TUNING_SEED
from benchmarks.unequal.entries import STATIC, document, entries, trial
from benchmarks.unequal.nvml import Watch
from benchmarks.unequal.runs import Run, missing

GRACE = 120.0
"""Seconds after the end of the time for the run that is under way; then all processes are ended."""


LOOK = 0.3
"""Seconds between two looks at what has ended, beside a real device."""
BEHIND, SHORT = 1.25, 0.3
"""A trial there is ended at so many times the wall seconds of the best one before it, and so many more."""


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

                def add(run: Run, figures: dict[str, Any]) -> None:
                    records[run] = record = run.record(figures)
                    keep(run, record)

                together(runs, Path(folder), until, add)


def together(runs: Sequence[Run], place: Path, until: float, add: Callable[[Run, dict[str, Any]], None]) -> None:
    """Tell `add` the runs that ended, and their figures; those after one that diverged are not begun.

    Beside a real device first trials come first, then second ones, which end once they are behind the best of
    their entry; results of the first seed, then of the second: when time is up there are as many of each entry.
    """
    device = CONDITIONS[runs[0].condition].rates is not None
    runs = sorted(runs, key=lambda run: (run.seed, run.trial)) if device else runs
    specs = [validate_run(run.document) for run in runs]
    folders = [place / str(number) for number in range(len(runs))]
    todo = dict(zip(runs, zip(folders, specs, strict=True), strict=True))
    about = {"machine": machine.title_of(machine.hardware()), "machine_ms": round(speed.probe(), 2)}
    if device:
        about["torch"] = version("torch").partition("+")[0]
        specs.insert(0, validate_run(warming(runs[0])))
        folders.insert(0, place / "first")
    for folder, spec in zip(folders, specs, strict=True):
        folder.mkdir()
        _write(folder, spec)
    watch = Watch()

    def harvest(over: bool) -> None:
        watch.find(folders)
        for run, (folder, spec) in list(todo.items()):
            if not over and not all((folder / f"final.{rank}.npz").exists() for rank in range(ranks_of(spec))):
                return  # they run in this order
            if (found := _ended(folder, spec, device)) is not None:
                del todo[run]
                add(run, found | about | (dict(watch.of(folder)) if device else {}))
                if device and run.seed == TUNING_SEED and found["seconds"] is not None:
                    _shorten(todo, run.entry, BEHIND * found["wall"] + SHORT)

    try:
        launch(folders, max(map(ranks_of, specs)), place / "launcher.log", until, harvest if device else None)
    finally:
        watch.close()
    harvest(True)
    if len(todo) == len(runs) and time.monotonic() < until:
        logs = [*(line for log in sorted(folders[0].glob("rank.*.log")) for line in last_lines(log, 20))]
        logs += last_lines(place / "launcher.log", 20)
        raise Failed(f"{runs[0]} did not end:\n" + "\n".join(map(str, logs)))


def _write(folder: Path, spec: RunSpec) -> None:
    (folder / "spec.new").write_text(canonical(spec))
    (folder / "spec.new").replace(folder / "spec.json")  # at once: ranks may read it meanwhile


def _shorten(todo: dict[Run, tuple[Path, RunSpec]], entry: str, seconds: float) -> None:
    """End the trials of an entry that have not begun after so many wall seconds."""
    for run, (folder, spec) in todo.items():
        if run.entry == entry and run.seed == TUNING_SEED and seconds < (spec.budget.max_seconds or math.inf):
            budget = spec.budget.model_copy(update={"max_seconds": round(seconds, 3)})
            todo[run] = folder, spec.model_copy(update={"budget": budget})
            _write(*todo[run])


def warming(run: Run) -> dict[str, Any]:
    """Return a short run with all processes beside a real device, by which each loads what it needs."""
    settings = trial(STATIC, run.condition, 0)
    found = document(run.task, run.condition, STATIC, settings, TUNING_SEED) | {"target": None}
    samples = 4 * settings["batch"] * (1 + settings["largest"])
    return found | {"budget": {"samples": samples}, "evaluation": {"every": samples}}


def launch(
    folders: Sequence[Path], ranks: int, log: Path, until: float, look: Callable[[bool], None] | None = None
) -> None:
    """Run all folders, which have specifications; after `until` those that have not begun are left out.

    `look(False)` is called from time to time meanwhile.
    """
    ids = tuple(f"unequal-{uuid.uuid4().hex[:12]}.1" for _ in folders)
    runner = RankRunner(Launch("mpi", ranks, tuple(folders), ids), LocalLauncher(), log)
    try:
        while True:
            left = until - time.monotonic()
            try:
                runner.process.wait(max(0.0, left if look is None else min(left, LOOK)))
                break
            except subprocess.TimeoutExpired:
                if look is not None:
                    look(False)
            if time.monotonic() >= until:
                for folder in folders:
                    (folder / "cancel").touch()
                runner.process.wait(GRACE)
                break
    except BaseException:
        runner.process.terminate()
        raise
    finally:
        runner.finish()


def _ended(folder: Path, spec: RunSpec, detail: bool = False) -> dict[str, Any] | None:
    """Return the figures of a run; None if it has not ended, or not by itself."""
    from hooke.comparison.journals import read

    ranks = read(folder, ranks_of(spec))
    if all(rank.done is not None for rank in ranks):
        return journals.figures(folder, spec.workers, curve=True, detail=detail)
    output = "".join(log.read_text(errors="replace") for log in folder.glob("rank.*.log"))
    return dict(journals.DIVERGED) if "NumericalError" in output else None
