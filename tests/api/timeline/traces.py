"""Traces made by hand, byte by byte as `hooke.trace.records` says, so that every time in them is known."""

import json
from typing import Any

from hooke.trace.reading import RankTrace, parse
from hooke.trace.records import CHANGE, IS_CHANGE, IS_END, IS_OPERATION, NOBODY, OPERATION, OPERATIONS, SCHEMA

PHASES = ("data", "compute", "rebuild", "communicate", "update", "evaluate", "idle")


class Made:
    """One rank's trace: phases and operations one after the other, from time `began` on its clock."""

    def __init__(self, rank: int, ranks: int = 2, role: str = "worker", world: str = "mpi", began: float = 100.0):
        self.header = {
            "schema": SCHEMA,
            "rank": rank,
            "ranks": ranks,
            "role": role,
            "world": world,
            "host": "node1",
            "clock": "one",
            "began": began,
            "restored": {},
            "operations": list(OPERATIONS),
            "phases": list(PHASES),
        }
        self.now = began
        self.records = b""
        self.phase = "update"

    def spend(self, phase: str, seconds: float) -> "Made":
        """Be in a phase for some seconds."""
        self.now += seconds
        self.records += CHANGE.pack(IS_CHANGE, PHASES.index(phase), self.now)
        self.phase = phase
        return self

    def call(self, what: str, seconds: float, peer: int = NOBODY, size: int = 8, part: int = 0) -> "Made":
        """Be blocked in an operation, charged to communicate."""
        began, self.now = self.now, self.now + seconds
        before, phase = PHASES.index("update"), PHASES.index("communicate")
        self.records += OPERATION.pack(
            IS_OPERATION, before, phase, OPERATIONS.index(what), part, peer, began, self.now, size, size, size, 1
        )
        return self

    def file(self, end: bool = True) -> bytes:
        """Return the content of the file; without its end: of a rank that died."""
        head = json.dumps(self.header).encode() + b"\n"
        totals: dict[str, Any] = {"at": self.now, "phase": "idle", "phases": dict.fromkeys(PHASES, 0.0)}
        footer = {"end": totals | {"hidden": 0.0}, "stopped": None, "why": ""}
        return head + self.records + (bytes([IS_END]) + json.dumps(footer).encode() + b"\n" if end else b"")

    def trace(self, end: bool = True) -> RankTrace:
        return parse(self.file(end), f"trace.{self.header['rank']}")


def lockstep(*compute: list[float], message: float = 0.01) -> list[Made]:
    """Return ranks that take steps together: each all-reduce ends `message` after the last has entered it."""
    made = [Made(rank, len(compute)) for rank in range(len(compute))]
    for seconds in zip(*compute, strict=True):
        for rank, each in zip(made, seconds, strict=True):
            rank.spend("compute", each)
        until = max(rank.now for rank in made) + message
        for rank in made:
            rank.call("all-reduce", until - rank.now)
    return made
