"""The output of ranks as numbered lines, limited in size, with stable numbers across restarts.

A LogBook is the supervisor's append-only file of numbered lines, each with the position reached in its source. A
supervisor that takes over therefore neither repeats nor renumbers a line.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from hooke.cluster.accounts import own
from hooke.cluster.places import append_line
from hooke.spec.events import LogLine
from hooke.spec.journal import open_plain

LONGEST = 8192
"""Maximum length of a line in characters; the rest is cut off."""
PER_LOOK = 256 * 1024
"""Bytes read from one source at a time, so that a rank with much output cannot overload the supervisor."""
BACKLOG = 4 * 1024 * 1024
"""A source with more unread bytes than this is skipped to its last part; the file itself is complete."""

LONGEST_ENTRY = 1 << 20
"""Bytes of a line of a file of the agent: more is damage."""

Stream = Literal["stdout", "stderr", "supervisor"]


def read_own(path: Path, take: Callable[[str], object]) -> None:
    """Give `take` each line of a file of this agent, up to the first that it refuses; cut the file there.

    A machine without power leaves a part of a line, or zeros. What is appended to that could not be read either,
    and whoever takes over would fail at it each time. A line at a time: the file may be larger than the memory.
    """
    end = 0
    try:
        with own(), open_plain(path) as file:
            for line in iter(partial(file.readline, LONGEST_ENTRY), b""):
                if not line.endswith(b"\n"):
                    break
                try:
                    take(line[:-1].decode())
                except (ValueError, LookupError, TypeError):
                    break
                end += len(line)
            size = os.fstat(file.fileno()).st_size
    except (FileNotFoundError, PermissionError):  # what cannot be read is not cut
        return
    if size > end:
        with suppress(OSError), own(), path.open("ab") as file:  # it can only be read: nothing is appended either
            file.truncate(end)


@dataclass
class OutputSource:
    """A growing file: the output of a rank, or of mpirun (rank -1)."""

    path: Path
    rank: int
    stream: Stream
    offset: int = 0

    @property
    def name(self) -> str:
        """Return the source's name in a log book: <run>/<attempt>/<file>."""
        return "/".join(self.path.parts[-3:])

    def read(self, last: bool = False) -> Iterator[tuple[str, int]]:
        """Yield new lines, each with the offset after it; `last` also yields a final line without newline."""
        try:
            size = self.path.stat().st_size
        except OSError:  # missing, or a link to what users' code cannot read
            return
        if size - self.offset > (PER_LOOK if last else BACKLOG):  # the last lines matter most
            skipped = size - self.offset - PER_LOOK
            self.offset += skipped
            yield f"[{skipped} bytes of output not shipped: read {self.path}]", self.offset
        try:
            with open_plain(self.path) as file:
                file.seek(self.offset)
                data = file.read(PER_LOOK)
        except OSError:  # replaced by users' code
            return
        end = data.rfind(b"\n") + 1
        if last or (end == 0 and len(data) == PER_LOOK):
            end = len(data)
        for raw in data[:end].splitlines(keepends=True):
            self.offset += len(raw)
            yield (
                raw.decode(errors="replace").rstrip("\r\n").replace("\0", "\N{REPLACEMENT CHARACTER}"),
                self.offset,
            )


class LogBook:
    """The numbered lines of one attempt."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.next_seq = 0
        self.offsets: dict[str, int] = {}
        read_own(path, self._entry)  # what follows a damaged line is read again

    def _entry(self, line: str) -> None:
        """Note the next line of the file, and the offset in its source. Raises ValueError or LookupError."""
        entry = json.loads(line)
        source, offset, seq = entry["source"], entry["offset"], entry["line"]["seq"]
        if seq != self.next_seq or not isinstance(offset, int):
            raise ValueError("this is not the next line")
        self.offsets[source] = max(self.offsets.get(source, 0), offset)
        self.next_seq += 1

    def add(self, source: OutputSource, text: str, offset: int) -> None:
        """Number one line of a source and record that the source has been read up to `offset`."""
        self._write(source.name, offset, source.rank, source.stream, text)

    def say(self, text: str) -> None:
        """Number a line of the supervisor's own."""
        self._write("", 0, -1, "supervisor", text)

    def _write(self, name: str, offset: int, rank: int, stream: Stream, text: str) -> None:
        line = LogLine(seq=self.next_seq, rank=rank, stream=stream, unix=time.time(), text=text[:LONGEST])
        entry = {"source": name, "offset": offset, "line": line.model_dump(mode="json")}
        try:
            append_line(self.path, json.dumps(entry))
        except OSError:
            return  # a full disk: the output of ranks is worth less than the rest, which must go on
        self.next_seq += 1


def logged(line: str) -> LogLine:
    """Parse one line of a log book."""
    return LogLine.model_validate(json.loads(line)["line"])


def last_lines(path: Path, count: int, window: int = 65536) -> list[str]:
    """Return up to `count` last lines of a file, from at most its last `window` bytes."""
    try:
        with open_plain(path) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - window))
            return file.read().decode(errors="replace").splitlines()[-count:]
    except OSError:
        return []


def last_words(path: Path, count: int = 30) -> list[str]:
    """Return the last lines of a launcher's output that say something: no empty ones, no rulers."""
    return [line.rstrip() for line in last_lines(path, 200) if line.strip(" -=*\t\r")][-count:]


def own_words(trace: list[str]) -> list[str]:
    """Return the lines behind a traceback's head; of an error that Hooke raises on purpose what it says alone."""
    ours = [i for i, line in enumerate(trace) if line.startswith("hooke.errors.")]
    return trace[ours[-1] :] if ours else trace
