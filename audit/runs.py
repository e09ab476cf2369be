"""Starts all runs of an audit: virtual ones in parallel, MPI ones one at a time, because of their clocks.

Most run in turn in the same processes. Where one fails, those behind it are started by themselves.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from audit import judge
from audit.cases import Case
from audit.judge import Row
from audit.product import Failed, Run, noted, run, run_in_turn

Say = Callable[[str], None]
RANKS = 3
"""MPI processes: the cases under MPI have at most two workers and a server."""


@dataclass
class Audited:
    """One case: its rows in the order of worlds, and its completed runs, in folders below `home`."""

    case: Case
    home: Path
    rows: dict[str, Row] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)

    def spec(self, world: str) -> dict[str, Any]:
        """Return the specification of its run; where no steps are taken, without notes."""
        spec = self.case.spec(world)
        return spec if self.case.asks == "target" else noted(spec, self.home / f"{world}.notes")


def all_of(cases: Iterable[Case], place: Path, say: Say) -> list[Audited]:
    """Run and judge every case in folders below `place`."""
    rows = ((case, {world: Row(case, world) for world in case.worlds}) for case in cases)
    audited = [Audited(case, place / case.key, each) for case, each in rows]
    cores = os.cpu_count() or 1
    for world, abreast in (("virtual", cores), ("mpi", 1)):
        todo = [each for each in audited if world in each.case.worlds]
        say(f"{len(todo)} runs, {world}")
        shared = [each for each in todo if not each.case.alone]
        _abreast(abreast, partial(_in_turn, world), _parts(shared, abreast))
        rest = [each for each in todo if each.case.alone or _not_begun(each, world)]
        _abreast(abreast, partial(_alone, world), rest)
    resumed = [each for each in audited if each.case.asks == "bits" and "virtual" in each.runs]
    replayed = [each for each in audited if each.case.asks == "replay" and "mpi" in each.runs]
    say(f"{len(resumed)} runs resumed, {len(replayed)} replayed")
    _abreast(cores, _resume, _parts(resumed, cores))
    _abreast(cores, _replay, replayed)
    for each in audited:
        for world, found in each.runs.items():
            _judged(each, world, found)
    return audited


def _parts(todo: list[Audited], count: int) -> list[list[Audited]]:
    return [part for first in range(count) if (part := todo[first::count])]


def _abreast(abreast: int, do: Callable[[Any], None], todo: Iterable[Any]) -> None:
    with ThreadPoolExecutor(abreast) as pool:
        list(pool.map(do, todo))


def _not_begun(each: Audited, world: str) -> bool:
    """Return whether an earlier run in the same processes failed, so that this one was not begun."""
    return world not in each.runs and not any((each.home / world).glob("journal.*"))


def _results(jobs: list[tuple[dict[str, Any], Path]], world: str) -> list[Run | Failed]:
    """Return the results of runs in turn; a single one under MPI needs exactly its own number of ranks."""
    if world != "mpi" or len(jobs) > 1:
        return run_in_turn(jobs, RANKS if world == "mpi" else 0)
    try:
        return [run(*jobs[0])]
    except Failed as failed:
        return [failed]


def _in_turn(world: str, part: list[Audited]) -> None:
    """Run cases in turn; only the first without a result has a fault, as those behind it could not begin."""
    jobs = [(each.spec(world), each.home / world) for each in part]
    blamed = False
    for each, found in zip(part, _results(jobs, world), strict=True):
        if isinstance(found, Run):
            each.runs[world] = found
        elif not blamed or not _not_begun(each, world):
            each.rows[world].faults.append(f"no result in shared processes: {found}")
            blamed = True


def _alone(world: str, each: Audited) -> None:
    shutil.rmtree(each.home / world, ignore_errors=True)
    try:
        each.runs[world] = run(each.spec(world), each.home / world)
    except (Failed, OSError, ValueError) as error:
        each.rows[world].faults.append(f"no result: {error}")


def _resume(part: list[Audited]) -> None:
    """Resume from the checkpoints of virtual runs; compare the results bit by bit."""
    for each in part:
        shutil.copytree(each.home / "virtual" / "checkpoints", each.home / "resumed" / "checkpoints")
    jobs = [(each.spec("virtual"), each.home / "resumed") for each in part]
    for each, second in zip(part, run_in_turn(jobs, resume=True), strict=True):
        row = each.rows["virtual"]
        if isinstance(second, Failed):
            row.faults.append(f"resumed: no result: {second}")
            continue
        if not second.journals[0].start.get("restored_step"):
            row.faults.append("resumed: it began anew, no checkpoint was restored")
        judge.bits(each.runs["virtual"], second, "resumed", row)


def _replay(each: Audited) -> None:
    """Replay the MPI run in virtual time; compare the results bit by bit."""
    row = each.rows["mpi"]
    try:
        second = run(each.spec("mpi"), each.home / "replayed", "--replay", str(each.home / "mpi"), again=True)
        judge.bits(each.runs["mpi"], second, "replay", row)
    except (Failed, OSError, ValueError) as error:
        row.faults.append(f"replay: no result: {error}")


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
