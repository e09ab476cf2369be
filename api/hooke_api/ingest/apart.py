"""Takes requests apart, to find the record that the database refuses."""

from __future__ import annotations

from dataclasses import replace

from hooke.errors import Fault

from hooke_api.ingest.received import Received
from hooke_api.ingest.records import Item, Refused, RefusedLine

_FAULT = Fault("", "the database refuses it: a number is too large, or a text contains a forbidden character")


def size(received: Received) -> int:
    """Return the number of records and log lines."""
    return sum(len(items) for _, items in received.ranks) + len(received.logs)


def halves(received: Received) -> tuple[Received, Received]:
    """Return the first and the second half of the records and lines, in order, both with all reports."""
    middle = size(received) // 2
    first: list[tuple[int, list[Item]]] = []
    second: list[tuple[int, list[Item]]] = []
    for rank, items in received.ranks:
        cut = min(middle, len(items))
        middle -= cut
        first.append((rank, items[:cut]))
        second.append((rank, items[cut:]))
    lines = received.logs
    return (
        replace(received, ranks=first, logs=lines[:middle]),
        replace(received, ranks=second, logs=lines[middle:]),
    )


def refused(received: Received) -> Received:
    """Return the request with every record and line set aside."""
    ranks: list[tuple[int, list[Item]]] = [
        (rank, [Refused(item.seq, _FAULT) for item in items]) for rank, items in received.ranks
    ]
    return replace(received, ranks=ranks, logs=[RefusedLine(line.seq, _FAULT) for line in received.logs])
