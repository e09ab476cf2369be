"""Reads the journals of an attempt as they grow and collects what a verdict needs."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from pydantic import ValidationError

from hooke.cluster.places import AttemptFolder
from hooke.errors import JournalError
from hooke.spec.events import Done, Dropped, Evaluation, RankExit, Start
from hooke.spec.journal import BULK, LONGEST_LINE, PORTION, open_plain, parse, read_new, unpack

_LONGEST_EXIT = 1 << 16


class Witnessed(Protocol):
    """What a runner reads of its ranks: `Witness` for a run; a calibration has no journals."""

    @property
    def done(self) -> Collection[int]:
        """Return the ranks that have nothing left to do."""

    @property
    def dropped(self) -> Collection[int]:
        """Return the workers without which the run goes on."""

    def exits(self) -> dict[int, RankExit]:
        """Return the exit records of the guards."""

    def look(self) -> None:
        """Read what is new."""


def lost(done: Mapping[int, Done]) -> set[int]:
    """Return the workers that have not ended by themselves, and that the run has dropped."""
    return {worker for each in done.values() for worker in each.dropped} - set(done)


def completed(ranks: int, exits: Mapping[int, RankExit], done: Mapping[int, Done]) -> bool:
    """Return whether each of so many ranks was done, as nobody asked it to be, and then ended with status 0.

    Workers that the run has dropped do not count. What its launcher does afterwards does not change the run.
    """
    if any(each.reason == "cancelled" for each in done.values()):
        return False
    return all(r in done and r in exits and exits[r].code == 0 for r in set(range(ranks)) - lost(done))


class JournalReader:
    """Reads the complete lines of one journal in chunks, from the current offset."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offset = 0

    def lines(self, chunk: int = PORTION) -> list[str]:
        """Return the next complete lines: about `chunk` bytes at most, more only for a longer line.

        In place of a line of more than LONGEST_LINE bytes there is one that is no record.
        """
        while True:
            lines, offset = read_new(self.path, self.offset, chunk)
            if lines or offset != self.offset or not self._more_than(chunk):
                self.offset = offset
                return lines
            if chunk >= LONGEST_LINE:
                return [f"a line of more than {LONGEST_LINE:,} bytes"]
            chunk *= 2

    def _more_than(self, chunk: int) -> bool:
        try:
            return self.path.stat().st_size - self.offset > chunk
        except OSError:  # missing, or a link to what users' code cannot read
            return False


class Witness:
    """The state of one attempt, as read from its files so far."""

    def __init__(self, folder: AttemptFolder, ranks: int) -> None:
        self.ranks = ranks
        self.started: dict[int, Start] = {}
        self.done: dict[int, Done] = {}
        self.dropped: set[int] = set()
        """Workers without which the run goes on."""
        self.damaged: dict[int, str] = {}
        """Rank -> damage of its journal; records after the damage are ignored."""
        self.signs = 0
        """Number of records so far, including blocks of steps; it grows while the ranks make progress."""
        self.stepped = False
        """Whether any rank has written a step."""
        self._newest: float | None = None
        """Time of the newest checkpoint file at the last look at them."""
        self._changed_at = 0.0
        """When that changed, by the clock that never jumps."""
        self._last_evaluation: Evaluation | None = None
        self._blocks: dict[int, str] = {}
        """Rank -> its latest block of steps."""
        self._folder = folder
        self._readers = {rank: JournalReader(folder.journal(rank)) for rank in range(ranks)}

    def look(self) -> None:
        """Read new records."""
        for rank, reader in self._readers.items():
            while rank not in self.damaged and (lines := reader.lines()):
                self._take(rank, lines)

    def _take(self, rank: int, lines: list[str]) -> None:
        self.signs += len(lines)
        for line in lines:
            if line.startswith(BULK):
                self.stepped = True
                self._blocks[rank] = line
                continue
            try:
                record = parse(line)
            except JournalError as error:
                self.damaged[rank] = f"{self._folder.journal(rank).name}: {error}"
                return
            if isinstance(record, Start):
                self.started[rank] = record
            elif isinstance(record, Done):
                self.done[rank] = record
            elif isinstance(record, Dropped):
                self.dropped.add(record.worker)
            elif isinstance(record, Evaluation):
                self._last_evaluation = record

    @property
    def evaluated(self) -> bool:
        """Whether there was an evaluation in this attempt."""
        return self._last_evaluation is not None

    @property
    def all_started(self) -> bool:
        """Every rank has entered its loop."""
        return len(self.started) == self.ranks

    @property
    def all_done(self) -> bool:
        """Every rank has written its `done` record."""
        return len(self.done) + len(lost(self.done)) == self.ranks

    def ending(self, samples: int) -> bool:
        """Return whether the run has met its target or used up its budget of samples."""
        last = self._last_evaluation
        return last is not None and (last.reached or last.samples >= samples)

    def writes_a_checkpoint(self, within: float) -> bool:
        """Return whether a checkpoint file has changed in the last `within` seconds.

        From the second call on that is seen; the first compares with the clock, which may have been set back.
        """
        newest = 0.0
        with suppress(OSError):  # removed in the meantime
            files = self._folder.ranks.glob("checkpoints/*/*")
            newest = max((path.stat().st_mtime for path in files), default=0.0)
        if newest != self._newest:
            age = max(0.0, time.time() - newest) if self._newest is None else 0.0
            self._newest, self._changed_at = newest, time.monotonic() - age
        return time.monotonic() - self._changed_at < within

    def reached(self) -> dict[int, int]:
        """Return rank -> last step written, for the ranks that write steps."""
        found = {}
        for rank, line in self._blocks.items():
            with suppress(JournalError, KeyError, IndexError):  # reported by the reader of the points
                found[rank] = int(unpack("step", parse(line).columns["step"])[-1])
        return found

    def exits(self) -> dict[int, RankExit]:
        """Return the exit records of the guards."""
        found = {}
        for rank in range(self.ranks):
            with (
                suppress(OSError, ValidationError),  # missing, or truncated by a crash of the machine
                open_plain(self._folder.exit(rank)) as file,
            ):
                record = RankExit.model_validate_json(file.read(_LONGEST_EXIT))
                if record.rank == rank:
                    found[rank] = record
        return found
