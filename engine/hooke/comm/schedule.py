"""Data types of a collective's schedule: rounds, and the parts of a vector sent in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """Elements `start` to `stop` of the vector."""

    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True)
class Round:
    """A concurrent send to `peer` and receive from `sender` (default: `peer`).

    A direction without data is None. `add`: received elements are added to the rank's own, otherwise they
    overwrite them. Both ranks of a pair list their common rounds in the same order, and a rank finishes one round
    before it begins the next.
    """

    peer: int
    send: Part | None
    receive: Part | None
    add: bool = False
    sender: int | None = None

    @property
    def source(self) -> int:
        """Return the rank from which `receive` comes."""
        return self.peer if self.sender is None else self.sender


Schedule = tuple[tuple[Round, ...], ...]
"""The rounds of every rank."""


def sent(rounds: Sequence[Round]) -> tuple[int, int]:
    """Return (elements, messages) that a rank with these rounds sends."""
    parts = [r.send for r in rounds if r.send]
    return sum(len(part) for part in parts), len(parts)


def without_empty(rounds: list[Round]) -> tuple[Round, ...]:
    """Drop empty directions and rounds (both partners drop the same ones, because their parts are equal)."""
    kept = []
    for r in rounds:
        send = r.send if r.send else None
        receive = r.receive if r.receive else None
        if send or receive:
            kept.append(Round(r.peer, send, receive, r.add, r.sender))
    return tuple(kept)
