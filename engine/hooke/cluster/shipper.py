"""What to send next: pure bookkeeping of what the API has acknowledged, over files that only grow.

A Track is one numbered file: a rank's journal, or the log book. It reads ahead a bounded amount, offers a
prefix, and forgets what was acknowledged. Nothing is lost when a request fails, because nothing is forgotten
before; nothing is doubled, because the API ignores numbers that it has.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hooke.cluster.tail import logged
from hooke.cluster.witness import JournalReader
from hooke.errors import JournalError
from hooke.spec.events import Ingest, IngestAnswer, RankRecords, StateReport
from hooke.spec.journal import parse

MOST_BYTES = 1 << 20
"""Of journal and log lines in one request, before compression; a single longer line still goes, alone."""
MOST_RECORDS = 5000
_LEAST_BYTES = 64 * 1024
_UNKNOWN = -2


class Track:
    """One numbered file and how much of it the API has."""

    def __init__(self, path: Path, decode: Callable[[str], Any], acknowledged: int) -> None:
        self._decode = decode
        self._reader = JournalReader(path)
        self._ahead: deque[tuple[Any, int]] = deque()
        self._bytes = 0
        self.acknowledged = acknowledged
        """Highest number stored without gap; -1: none; -2: not known, so ask before sending anything."""
        self.damaged = False

    @property
    def unknown(self) -> bool:
        """Return whether the API must first say what it has."""
        return self.acknowledged == _UNKNOWN

    def fill(self) -> None:
        """Read ahead until a full request is at hand, or the file has no more."""
        while self._bytes < MOST_BYTES and not self.damaged and (lines := self._reader.lines()):
            for line in lines:
                try:
                    record = self._decode(line)
                except (JournalError, ValueError):
                    self.damaged = True  # the witness says so in the verdict; what precedes still counts
                    return
                if record.seq > self.acknowledged:
                    self._ahead.append((record, len(line)))
                    self._bytes += len(line)

    def next(self, taken: int) -> tuple[Any, int] | None:
        """Return the record after the first `taken` offered ones, with its size."""
        return self._ahead[taken] if taken < len(self._ahead) else None

    def confirm(self, acknowledged: int) -> None:
        """Forget what the API has; read again from the start where it has less than it once said."""
        if acknowledged < self.acknowledged:
            self._reader.offset = 0
            self._ahead.clear()
            self._bytes = 0
            self.damaged = False
        self.acknowledged = acknowledged
        while self._ahead and self._ahead[0][0].seq <= acknowledged:
            self._bytes -= self._ahead.popleft()[1]

    @property
    def drained(self) -> bool:
        """Return whether everything read is acknowledged (call after `fill`)."""
        return not self.unknown and not self._ahead


@dataclass
class _Allowance:
    """What still fits into a request."""

    bytes: int
    records: int

    def take(self, size: int) -> bool:
        if self.records <= 0 or size > self.bytes:
            return False
        self.bytes -= size
        self.records -= 1
        return True


class Shipper:
    """All tracks of one attempt, and the reports: what the next request holds, and what an answer means."""

    def __init__(
        self, run: str, attempt: int, journals: dict[int, Path], log: Path, *, takes_over: bool = False
    ) -> None:
        """`takes_over`: a predecessor may have shipped some of it, so first ask the API what it has."""
        known = _UNKNOWN if takes_over else -1
        self._run, self._attempt = run, attempt
        self._ranks = {rank: Track(path, parse, known) for rank, path in journals.items()}
        self._log = Track(log, logged, known)
        self._reports = 0
        self._most_bytes = MOST_BYTES

    def request(self, reports: list[StateReport], *, renew: bool) -> Ingest:
        """Return the next request: one record of each track in turn, until the limits are reached."""
        asking = self._log.unknown or any(track.unknown for track in self._ranks.values())
        if not asking:
            for track in self._tracks():
                track.fill()
        taken = [0] * (len(self._ranks) + 1) if asking else self._share()
        ranks = [
            RankRecords(rank=rank, records=_first(track, n))
            for (rank, track), n in zip(self._ranks.items(), taken, strict=False)
            if n or asking
        ]
        return Ingest(
            run=self._run,
            attempt=self._attempt,
            reports=reports,
            ranks=ranks,
            logs=_first(self._log, taken[-1]),
            renew=renew,
        )

    def _tracks(self) -> list[Track]:
        return [*self._ranks.values(), self._log]

    def _share(self) -> list[int]:
        tracks = self._tracks()
        taken, allowance = [0] * len(tracks), _Allowance(self._most_bytes, MOST_RECORDS)
        open_ = set(range(len(tracks)))
        while open_:
            for i in sorted(open_):
                found = tracks[i].next(taken[i])
                alone = found is not None and not any(taken)  # a line longer than any request must go somehow
                if found is None or not (allowance.take(found[1]) or alone):
                    open_.discard(i)
                    continue
                taken[i] += 1
                if alone and found[1] > self._most_bytes:
                    return taken
        return taken

    def apply(self, answer: IngestAnswer) -> None:
        """Note what the API has."""
        for rank, acknowledged in answer.acknowledged.items():
            if rank in self._ranks:
                self._ranks[rank].confirm(acknowledged)
        self._log.confirm(answer.logs)
        self._reports = answer.reports

    def too_large(self) -> None:
        """The API refused the size of the last request: offer half as much from now on."""
        self._most_bytes = max(self._most_bytes // 2, _LEAST_BYTES)

    def behind(self) -> bool:
        """Return whether more lies ready than the last request could hold."""
        return any(not track.drained for track in self._tracks())

    def complete(self, reports: list[StateReport]) -> bool:
        """Return whether the API has every record, every line and every report there is now."""
        for track in self._tracks():
            track.fill()
        return self._reports >= len(reports) and all(track.drained for track in self._tracks())


def _first(track: Track, n: int) -> list[Any]:
    found = (track.next(i) for i in range(n))
    return [pair[0] for pair in found if pair is not None]
