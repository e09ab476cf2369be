"""Reads the traces of attempts, and keeps those that were read last."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from hooke.errors import JournalError
from hooke.spec.files import SYSTEM
from hooke.trace.reading import RankTrace, parse
from sqlalchemy.orm import Session

from hooke_api.base.caches import MIB, Budget, Cache
from hooke_api.storage import files
from hooke_api.timeline.columns import Trace, columns
from hooke_api.timeline.messages import Meetings, Messages, meetings_of, messages_of
from hooke_api.timeline.straggler import Straggler, straggler_of

Key = tuple[str, int, int]
"""Run, attempt, bytes that have arrived."""


@dataclass(frozen=True)
class Timeline:
    """A trace, and what follows from all of it."""

    trace: Trace
    messages: Messages
    meetings: Meetings | None
    straggler: Straggler | None
    complete: bool
    """Whether every rank's trace has arrived and has its end; of a rank that died it never has."""

    @property
    def nbytes(self) -> int:
        """Return the size in memory, bytes. A trace of 8 MiB has about 200,000 records, which take 15 MB."""
        parts = [each for each in (self.messages, self.meetings) if each is not None]
        arrays = [value for part in parts for value in vars(part).values() if isinstance(value, np.ndarray)]
        return self.trace.nbytes + sum(int(array.nbytes) for array in arrays)


class TimelineStore:
    """The cache of a process; thread-safe. Traces are read one at a time: 5 us per record."""

    def __init__(self, budget: Budget | None = None) -> None:
        """`budget`: of all caches of the process; None: one of its own."""
        self._kept: Cache[Key, Timeline] = Cache(budget or Budget(48 * MIB), lambda timeline: timeline.nbytes)
        self._reading = threading.Lock()

    def read(self, session: Session, run_id: str, attempt: int, ranks: int) -> tuple[Timeline | None, int]:
        """Return the timeline of an attempt as far as it has arrived, and its bytes; None if there is none."""
        sizes = files.sizes_of(session, run_id, attempt)
        sizes.pop(SYSTEM, None)
        received = sum(sizes.values())
        if not received:
            return None, 0
        key = (run_id, attempt, received)
        with self._reading:
            found = self._kept.get(key)
            if found is None:
                found = _load(session, run_id, attempt, ranks, list(sizes))
                if found is not None:
                    self._kept.drop(lambda kept: kept[:2] == key[:2])  # of when less had arrived
                    self._kept.put(key, found)
        return found, received

    def traces(self, session: Session, run_id: str, attempt: int, ranks: int) -> list[RankTrace]:
        """Return what can be read of the traces of an attempt, by rank; nothing of it is kept."""
        sizes = files.sizes_of(session, run_id, attempt)
        sizes.pop(SYSTEM, None)
        with self._reading:
            found = readable(session, run_id, attempt, ranks, sizes)[0]
        return sorted(found, key=lambda trace: trace.header["rank"])


def readable(
    session: Session, run_id: str, attempt: int, ranks: int, names: Iterable[str]
) -> tuple[list[RankTrace], Trace | None, dict[str, str]]:
    """Return the traces in some files that can be read, the same as columns, and what is wrong with others."""
    traces: list[RankTrace] = []
    damaged: dict[str, str] = {}
    for name in names:
        try:
            traces.append(_read(files.read(session, run_id, attempt, name), name, ranks))
        except JournalError as error:  # its header has not arrived, or it is of another version
            damaged[name] = str(error)
    if not traces:
        return [], None, damaged
    trace = columns(traces, ranks)
    if wrong := {rank.rank for rank in trace.ranks if not rank.finite}:
        damaged |= {f"trace.{rank}": f"trace.{rank} is damaged: a time in it is not a number" for rank in wrong}
        traces = [each for each in traces if each.header["rank"] not in wrong]
        return traces, columns(traces, ranks) if traces else None, damaged
    return traces, trace, damaged


def _load(session: Session, run_id: str, attempt: int, ranks: int, names: list[str]) -> Timeline | None:
    traces, trace, damaged = readable(session, run_id, attempt, ranks, names)
    if trace is None:
        return None
    trace = replace(trace, remarks=_remarks(trace, damaged))
    meetings = meetings_of(trace)
    complete = len(traces) == ranks and all(each.footer is not None for each in traces)
    return Timeline(trace, messages_of(trace), meetings, straggler_of(trace, meetings), complete)


def _remarks(trace: Trace, damaged: Mapping[str, str]) -> tuple[str, ...]:
    """Return the remarks on a trace; of a rank whose file is damaged, what is wrong, not that it is missing."""
    missing = tuple(f"rank {name.removeprefix('trace.')} has no trace:" for name in damaged)
    return (*(each for each in trace.remarks if not each.startswith(missing)), *damaged.values())


def _read(content: bytes, name: str, ranks: int) -> RankTrace:
    """Return the trace in a file `trace.<rank>`. Raises JournalError for one of another rank."""
    found = parse(content, name)
    if name != f"trace.{found.header['rank']}" or not 0 <= found.header["rank"] < ranks:
        raise JournalError(f"{name} is the trace of rank {found.header['rank']}, in a run of {ranks} ranks")
    return found
