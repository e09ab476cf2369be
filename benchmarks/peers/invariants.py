"""Invariants of the train clock in the records of a peer's ranks.

There is one train clock: all ranks stop during an evaluation. Therefore no rank can have worked for longer than
its clock, nothing but evaluations may be off the clock, and all ranks read nearly the same time when it stops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

SLACK = 0.1
"""Seconds, once: what a rank may wait for a core before it reads a clock, if ranks outnumber cores."""
WORK = ("data", "compute", "update")


def faults(folder: Path) -> list[str]:
    """Return the violations of these rules in the records of a peer's ranks in a folder."""
    from benchmarks.peers.running import left

    return list(violations(left(folder)))


def violations(outcomes: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield messages about violations of these rules in the outcomes of all ranks."""
    if not outcomes:
        yield "no rank has left a record"
        return
    for outcome in outcomes:
        yield from _of_rank(outcome)
    first, others = outcomes[0], outcomes[1:]
    for outcome in others:
        yield from _between(first, outcome)


def _of_rank(outcome: Mapping[str, Any]) -> Iterator[str]:
    rank, clock, wall, phases = (outcome[name] for name in ("rank", "clock", "wall", "phases"))
    work = sum(phases[name] for name in WORK)
    if work > clock + 1e-6:
        yield f"rank {rank} worked for {work:.3f} s while the train clock says {clock:.3f} s"
    test = outcome["test"]
    stood = sum(evaluation[4] for evaluation in outcome["evaluations"]) + (test[2] if test else 0.0)
    if wall - clock > stood + SLACK:
        yield f"rank {rank} was off the clock for {wall - clock:.3f} s, its evaluations took {stood:.3f} s"
    clocks = [evaluation[1] for evaluation in outcome["evaluations"]]
    if clocks != sorted(clocks):
        yield f"rank {rank}: the train clock went backwards between evaluations"
    if outcome["evaluations"] and outcome["evaluations"][0][0] == 0 and clocks[0] > SLACK:
        yield f"rank {rank}: the train clock says {clocks[0]:.3f} s before the first step"


def _between(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    if [samples for samples, *_ in one["evaluations"]] != [samples for samples, *_ in other["evaluations"]]:
        yield f"ranks {one['rank']} and {other['rank']} were not scored at the same samples"
        return
    for a, b in zip(one["evaluations"], other["evaluations"], strict=True):
        if abs(a[1] - b[1]) > SLACK:
            yield (
                f"at {a[0]:,} samples the clock of rank {one['rank']} says {a[1]:.3f} s, that of rank "
                f"{other['rank']} {b[1]:.3f} s"
            )
