"""Live progress of a comparison: one line that is rewritten where possible, a line per run elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from hooke.catalogue.expand import PlannedRun
from hooke.cli.text import percent, seconds
from hooke.errors import ArgumentError, JournalError
from hooke.notebook.running import ComparedRun
from hooke.spec.events import Evaluation, Steps
from hooke.spec.journal import parse, read_new, unpack
from hooke.spec.states import RunState

REDRAW_SECONDS = 0.5


@dataclass(frozen=True)
class Progress:
    """What a comparison is doing, for a callback."""

    ended: int
    """Runs that have ended."""
    planned: int
    """Runs planned so far; trials first, the reported runs when their settings are known."""
    variant: str
    seed: int
    trial: int | None
    """The trial of a tuning; None of a reported run."""
    samples: int
    """Of the present run, of its budget."""
    budget: int
    accuracy: float | None
    """Latest validation accuracy of the present run, fraction."""
    result: ComparedRun | None = None
    """The run, when it has ended."""

    def __str__(self) -> str:
        what = f"trial {self.trial} of {self.variant}" if self.trial else f"{self.variant}, seed {self.seed}"
        scored = "" if self.accuracy is None else f", validation accuracy {percent(self.accuracy)}"
        return f"[{self.ended}/{self.planned}] {what}{_ended(self.result) or self._so_far()}{scored}"

    def _so_far(self) -> str:
        return f": {self.samples:,} of {self.budget:,} samples"


def _ended(run: ComparedRun | None) -> str:
    if run is None:
        return ""
    if run.figures.diverged:
        return ": diverged"
    if run.figures.state not in (RunState.SUCCEEDED, RunState.TIMED_OUT):
        return f": {run.figures.state}"
    simulated = " simulated" if run.figures.simulated else ""
    if run.figures.time_to_target is not None:
        return f": target after {seconds(run.figures.time_to_target)}{simulated}"
    return f": {seconds(run.figures.clock)}{simulated}"


Callback = Callable[[Progress], None]


class Meter:
    """Follows the runs of a comparison and shows them."""

    def __init__(self, shown: bool | Callback) -> None:
        if not (callable(shown) or isinstance(shown, bool | None)):
            raise ArgumentError(f"`progress` is True, False or a function of a Progress, not {shown!r}")
        self._show: Callback = shown if callable(shown) else (_Line(sys.stderr) if shown else _nothing)
        self._ended = self._planned = 0
        self._run: PlannedRun | None = None
        self._offsets: dict[Path, int] = {}
        self._at = 0.0
        self._samples, self._accuracy = 0, None

    _accuracy: float | None

    def planned(self, count: int) -> None:
        """Count further runs."""
        self._planned += count

    def begin(self, run: PlannedRun) -> None:
        """Follow another run."""
        self._run, self._samples, self._accuracy, self._at = run, 0, None, 0.0
        self._offsets.clear()

    def look(self, folder: Path) -> None:
        """Read what the run has written, and show it, at most every REDRAW_SECONDS."""
        if time.monotonic() - self._at < REDRAW_SECONDS:
            return
        self._at = time.monotonic()
        for path in folder.glob("journal.*.jsonl"):
            lines, self._offsets[path] = read_new(path, self._offsets.get(path, 0))
            for line in lines:
                self._take(line)
        self._show(self._state(None))

    def end(self, run: ComparedRun) -> None:
        """Show how the run has ended."""
        self._ended += 1
        self._accuracy = run.figures.accuracy
        self._show(self._state(run))

    def close(self) -> None:
        """End the line."""
        if isinstance(self._show, _Line):
            self._show.close()

    def _take(self, line: str) -> None:
        try:
            record = parse(line)
        except JournalError:
            return
        if isinstance(record, Evaluation):
            self._accuracy = record.accuracy
        if isinstance(record, Steps):
            self._samples = max(self._samples, int(unpack("samples", record.columns["samples"])[-1]))

    def _state(self, result: ComparedRun | None) -> Progress:
        run = self._run
        assert run is not None  # noqa: S101 - for the type checker: a run has begun
        named = (run.variant, run.spec.seed, run.trial if run.rung is not None else None)
        budget = run.spec.budget.samples
        return Progress(self._ended, self._planned, *named, self._samples, budget, self._accuracy, result)


def _nothing(progress: Progress) -> None:
    del progress


class _Line:
    """One line that is rewritten, where the output can do that; otherwise a line for every run that has ended."""

    def __init__(self, out: TextIO) -> None:
        self._out, self._width = out, 0
        self._rewrites = out.isatty() or "ipykernel" in sys.modules

    def __call__(self, progress: Progress) -> None:
        if self._rewrites:
            text = str(progress)
            self._out.write("\r" + text.ljust(self._width))
            self._width = len(text)
        elif progress.result is not None:
            self._out.write(f"{progress}\n")
        self._out.flush()

    def close(self) -> None:
        """Leave the line."""
        if self._rewrites and self._width:
            self._out.write("\n")
            self._out.flush()
