"""Follows the journals of a run, and shows its progress as plain lines."""

from __future__ import annotations

import math
import sys
from typing import Protocol

from hooke.cli.outcome import decides
from hooke.cli.text import percent, seconds
from hooke.cluster.local_run import LocalRun
from hooke.cluster.witness import JournalReader
from hooke.errors import JournalError
from hooke.spec.events import Evaluation, Steps
from hooke.spec.journal import parse, unpack


class Follower:
    """The state of a run as read from its journals: progress and evaluations."""

    def __init__(self, run: LocalRun) -> None:
        self.samples = 0
        self.clock = 0.0
        self.loss: float | None = None
        self.evaluations: list[Evaluation] = []
        ranks = sorted({0, decides(run.spec)})
        self._readers = [JournalReader(run.folder.journal(rank)) for rank in ranks]

    def look(self) -> list[Evaluation]:
        """Read new records and return the new evaluations. Damaged journals are reported by the verdict."""
        before = len(self.evaluations)
        for reader in self._readers:
            while lines := reader.lines():
                for line in lines:
                    self._take(line)
        return self.evaluations[before:]

    def _take(self, line: str) -> None:
        try:
            record = parse(line)
        except JournalError:
            return
        if isinstance(record, Evaluation):
            self.evaluations.append(record)
        if isinstance(record, Evaluation | Steps):
            self._advance(record)

    def _advance(self, record: Evaluation | Steps) -> None:
        if isinstance(record, Evaluation):
            samples, clock = record.samples, record.clock
        else:
            samples = int(unpack("samples", record.columns["samples"])[-1])
            clock = unpack("clock", record.columns["clock"])[-1]
            loss = unpack("loss", record.columns["loss"])[-1]
            self.loss = self.loss if math.isnan(loss) else loss  # a server has none
        self.samples, self.clock = max(self.samples, samples), max(self.clock, clock)


class Display(Protocol):
    """Shows the progress of a run."""

    def show(self, follower: Follower, new: list[Evaluation]) -> None:
        """Show the state and the new evaluations."""


class PlainDisplay:
    """One line on stderr for each evaluation."""

    def __init__(self, run: LocalRun) -> None:
        self._budget = run.spec.budget.samples
        self._simulated = " simulated" if run.spec.world == "virtual" else ""

    def show(self, follower: Follower, new: list[Evaluation]) -> None:
        """Print new evaluations."""
        del follower
        for each in new:
            print(
                f"{each.samples:>12,} of {self._budget:,} samples   {seconds(each.clock)}{self._simulated}   "
                f"loss {each.loss:.4f}   accuracy {percent(each.accuracy)}",
                file=sys.stderr,
                flush=True,
            )
