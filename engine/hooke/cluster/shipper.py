"""Selects the data of the next request, from append-only files and the acknowledgements of the API.

A Track is one file of numbered records: a rank's journal, or the log book. It buffers a bounded amount, offers a
prefix, and drops records when they are acknowledged. A failed request loses nothing, and a repeated one duplicates
nothing, because the API ignores numbers that it has stored.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hooke.cluster.file_track import FileTracks
from hooke.cluster.tail import logged
from hooke.cluster.witness import JournalReader
from hooke.errors import JournalError
from hooke.spec.events import Ingest, IngestAnswer, RankRecords, StateReport
from hooke.spec.journal import parse

MOST_BYTES = 1 << 20
"""Limit on journal and log lines per request, before compression; a longer line is sent alone."""
MOST_RECORDS = 5000
_LEAST_BYTES = 64 * 1024
_UNKNOWN = -2


class Track:
    """One file of numbered records, and how far the API has acknowledged it."""

    def __init__(self, path: Path, decode: Callable[[str], Any], acknowledged: int) -> None:
        self._decode = decode
        self._reader = JournalReader(path)
        self._ahead: deque[tuple[Any, int]] = deque()
        self._bytes = 0
        self.acknowledged = acknowledged
        """Highest number stored without gap; -1: none; -2: unknown, so ask before sending anything."""
        self.damaged = False

    @property
    def unknown(self) -> bool:
        """Return whether the API must first report what it has stored."""
        return self.acknowledged == _UNKNOWN

    def fill(self) -> None:
        """Read until a full request is buffered or the end of the file is reached."""
        while self._bytes < MOST_BYTES and not self.damaged and (lines := self._reader.lines()):
            for line in lines:
                try:
                    record = self._decode(line)
                except (JournalError, ValueError):
                    self.damaged = True  # reported in the verdict; the records before it are valid
                    return
                if record.seq > self.acknowledged:
                    self._ahead.append((record, len(line)))
                    self._bytes += len(line)

    def next(self, taken: int) -> tuple[Any, int] | None:
        """Return the record after the first `taken` offered ones, with its size."""
        return self._ahead[taken] if taken < len(self._ahead) else None

    def confirm(self, acknowledged: int) -> None:
        """Drop acknowledged records.

        Read again from the start if the API has fewer than it acknowledged before.
        """
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
    """The remaining size of a request."""

    bytes: int
    records: int

    def take(self, size: int) -> bool:
        if self.records <= 0 or size > self.bytes:
            return False
        self.bytes -= size
        self.records -= 1
        return True


class Shipper:
    """All tracks and reports of one attempt: builds requests and applies responses."""

    def __init__(
        self,
        run: str,
        attempt: int,
        journals: dict[int, Path],
        log: Path,
        files: dict[str, Path] | None = None,
        *,
        takes_over: bool = False,
    ) -> None:
        """`takes_over`: a predecessor may have delivered data, so first ask the API what it has stored.

        `files`: name -> path of the other files to be delivered (`hooke.spec.files`).
        """
        known = _UNKNOWN if takes_over else -1
        self._run, self._attempt = run, attempt
        self._ranks = {rank: Track(path, parse, known) for rank, path in journals.items()}
        self._log = Track(log, logged, known)
        self._files = FileTracks(files or {}, asks=takes_over)
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
            files=self._files.parts(ended=not renew, most=self._most_bytes // 4),
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
                alone = found is not None and not any(taken)  # a line longer than a request is sent alone
                if found is None or not (allowance.take(found[1]) or alone):
                    open_.discard(i)
                    continue
                taken[i] += 1
                if alone and found[1] > self._most_bytes:
                    return taken
        return taken

    def apply(self, answer: IngestAnswer) -> None:
        """Apply the acknowledgements of a response."""
        for rank, acknowledged in answer.acknowledged.items():
            if rank in self._ranks:
                self._ranks[rank].confirm(acknowledged)
        self._log.confirm(answer.logs)
        self._files.apply(answer.files)
        self._reports = answer.reports

    def too_large(self) -> None:
        """Halve the size of requests, because the API rejected the last one as too large."""
        self._most_bytes = max(self._most_bytes // 2, _LEAST_BYTES)

    def behind(self) -> bool:
        """Return whether more records and lines are buffered than the last request could hold.

        Parts of files wait for the next one.
        """
        return any(not track.drained for track in self._tracks())

    def complete(self, reports: list[StateReport]) -> bool:
        """Return whether the API has acknowledged all present records, lines and reports."""
        for track in self._tracks():
            track.fill()
        recorded = self._reports >= len(reports) and all(track.drained for track in self._tracks())
        return recorded and self._files.drained


def _first(track: Track, n: int) -> list[Any]:
    found = (track.next(i) for i in range(n))
    return [pair[0] for pair in found if pair is not None]
