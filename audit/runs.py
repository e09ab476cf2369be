"""Starts all runs of an audit: virtual ones in parallel, MPI ones one at a time, because of their clocks."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from audit import judge
from audit.cases import Case
from audit.judge import Row
from audit.product import Failed, Run, run

Say = Callable[[str], None]


@dataclass
class Audited:
    """One case: its rows in the order of worlds, and its completed runs."""

    case: Case
    rows: dict[str, Row] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)


def all_of(cases: Iterable[Case], place: Path, say: Say) -> list[Audited]:
    """Run and judge every case in folders below `place`."""
    audited = [Audited(case, {world: Row(case, world) for world in case.worlds}) for case in cases]
    for world, abreast in (("virtual", os.cpu_count() or 1), ("mpi", 1)):
        todo = [each for each in audited if world in each.case.worlds]
        say(f"{len(todo)} runs, {world}")
        _abreast(abreast, partial(_first, world=world, place=place), todo)
    again = [each for each in audited if each.case.asks in ("bits", "replay")]
    say(f"{len(again)} runs again: resumed, replayed")
    _abreast(os.cpu_count() or 1, partial(_again, place=place), again)
    for each in audited:
        for world, found in each.runs.items():
            _judged(each, world, found)
    return audited


def _abreast(abreast: int, do: Callable[[Audited], None], todo: list[Audited]) -> None:
    with ThreadPoolExecutor(abreast) as pool:
        list(pool.map(do, todo))


def _first(each: Audited, *, world: str, place: Path) -> None:
    case = each.case
    try:
        notes = case.asks != "target"  # no steps are taken there
        each.runs[world] = run(case.spec(world), place / case.key / world, notes=notes)
    except (Failed, OSError, ValueError) as error:
        each.rows[world].faults.append(f"no result: {error}")


def _again(each: Audited, *, place: Path) -> None:
    """Resume from the virtual run's checkpoint, or replay the MPI run; compare the results bit by bit."""
    case, home = each.case, place / each.case.key
    world = "virtual" if case.asks == "bits" else "mpi"
    row = each.rows[world]
    if world not in each.runs:
        return
    try:
        if case.asks == "bits":
            shutil.copytree(home / "virtual", home / "resumed")
            second = run(case.spec("virtual"), home / "resumed", "--resume", notes=False)
            if not second.journals[0].start.get("restored_step"):
                row.faults.append("resumed: it began anew, no checkpoint was restored")
            judge.bits(each.runs[world], second, "resumed", row)
        else:
            second = run(case.spec("mpi"), home / "replayed", "--replay", str(home / "mpi"), notes=False)
            judge.bits(each.runs[world], second, "replay", row)
    except (Failed, OSError, ValueError) as error:
        row.faults.append(f"{'resumed' if case.asks == 'bits' else 'replay'}: no result: {error}")


def _judged(each: Audited, world: str, found: Run) -> None:
    case, row = each.case, each.rows[world]
    try:
        if case.asks != "target":
            judge.equations(case, found, row)
        judge.time(case, found, row)
    except (KeyError, ValueError) as error:
        row.faults.append(f"what it left cannot be read as a run's: {error!r}")
    if world == "mpi" and case.asks == "bits" and "virtual" in each.runs:
        judge.bits(found, each.runs["virtual"], "virtual", row)
