"""Which send belongs to which receive, and which collective operation of a rank to which of the others.

A trace has no numbers of messages. Messages between two ranks arrive in the order in which they were sent, so the
n-th send of a rank to another one is the n-th receive of that one from it. Collective operations are entered by
all ranks in the same order. Operations of subgroups (`part`) are left out: a trace does not say who is in them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hooke_api.timeline.columns import Calls, Floats, Indices, RankColumns, Trace

MEETINGS = frozenset({"all-reduce", "all-gather", "barrier"})
"""Operations that no rank leaves before every rank has entered."""


@dataclass(frozen=True)
class Messages:
    """Messages between two ranks, in the order in which they were sent; arrays of equal length."""

    sender: Indices
    receiver: Indices
    sent: Floats
    """When the sender began to send."""
    received: Floats
    """When the receiver had received."""
    bytes: Indices

    def __len__(self) -> int:
        return len(self.sent)


@dataclass(frozen=True)
class Meetings:
    """Collective operations of the same ranks: arrays of shape (operations, ranks)."""

    ranks: Indices
    entered: Floats
    """When each rank entered, or posted it in the background."""
    waited_from: Floats
    waited_until: Floats

    def __len__(self) -> int:
        return len(self.entered)

    @property
    def last(self) -> Indices:
        """Return the position, in `ranks`, of the rank that entered last; the lowest of several."""
        found: Indices = np.argmax(self.entered, axis=1)
        return found

    @property
    def waits(self) -> Floats:
        """Return the seconds that each rank was blocked until the last one entered."""
        last = self.entered.max(axis=1, keepdims=True)
        found: Floats = np.maximum(0.0, np.minimum(last, self.waited_until) - self.waited_from)
        return found


def messages_of(trace: Trace) -> Messages:
    """Return the messages whose send and receive are both recorded."""
    sends, receives = _by_pair(trace, "send"), _by_pair(trace, "receive")
    rows = []
    for (sender, receiver), sent in sends.items():
        for (began, _, size), (_, ended, _) in zip(sent, receives.get((receiver, sender), []), strict=False):
            if ended >= began:  # clocks of two machines may differ
                rows.append((began, ended, sender, receiver, size))
    rows.sort()
    table = np.array(rows, dtype=np.float64).reshape(-1, 5)
    sender, receiver, size = table[:, 2:].astype(np.int64).T
    return Messages(sender, receiver, table[:, 0].copy(), table[:, 1].copy(), size)  # views would keep all of it


def _by_pair(trace: Trace, what: str) -> dict[tuple[int, int], list[tuple[float, float, int]]]:
    """Return {(rank, peer): [(began, ended, bytes), ...]} of one kind of operation, in order."""
    found: dict[tuple[int, int], list[tuple[float, float, int]]] = {}
    for rank in trace.ranks:
        for calls in (rank.operations, rank.transfers):
            mine = _named(trace, calls, {what}) & (calls.part == 0) & (calls.peer >= 0)
            columns = (calls.peer, calls.began, calls.ended, calls.bytes)
            for peer, began, ended, size in zip(*(column[mine].tolist() for column in columns), strict=True):
                found.setdefault((rank.rank, peer), []).append((began, ended, size))
    for calls_of_pair in found.values():
        calls_of_pair.sort()
    return found


def meetings_of(trace: Trace) -> Meetings | None:
    """Return the collective operations that all ranks which have any have in common; None if there are none."""
    found = [(rank, _collective(trace, rank)) for rank in trace.ranks]
    taking_part = [(rank.rank, rows) for rank, rows in found if rows]
    if len(taking_part) < 2:  # noqa: PLR2004 - nobody to wait for
        return None
    n = 0
    for together in zip(*(rows for _, rows in taking_part), strict=False):
        if len({row[0] for row in together}) > 1:
            break
        n += 1
    if n == 0:
        return None
    times = np.array([[row[1:] for row in rows[:n]] for _, rows in taking_part])  # ranks, operations, times
    entered, waited_from, waited_until = times.transpose(2, 1, 0)
    return Meetings(np.array([rank for rank, _ in taking_part]), entered, waited_from, waited_until)


def _collective(trace: Trace, rank: RankColumns) -> list[tuple[int, float, float, float]]:
    rows: list[tuple[int, float, float, float]] = []
    for calls in (rank.operations, rank.transfers):
        mine = _named(trace, calls, MEETINGS) & (calls.part == 0)
        columns = (calls.name, calls.began, calls.waited_from, calls.waited_until)
        rows += zip(*(column[mine].tolist() for column in columns), strict=True)
    return sorted(rows, key=lambda row: row[1])


def _named(trace: Trace, calls: Calls, names: frozenset[str] | set[str]) -> NDArray[np.bool_]:
    wanted = [i for i, name in enumerate(trace.names) if name in names]
    return np.isin(calls.name, wanted)
