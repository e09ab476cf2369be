"""Starts all runs of an audit: virtual ones in parallel, MPI ones one at a time, because of their clocks.

Most run in turn in the same processes. Where one fails, those behind it are started by themselves. Each is
compared with its equations as soon as it is there, and with the others at the end.
"""

from __future__ import annotations

import math
import os
import shutil
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from audit import judge, report
from audit.cases import Case
from audit.judge import Row
from audit.product import Failed, Run, noted, run, run_in_turn

Say = Callable[[str], None]
RANKS = 3
"""MPI processes: the cases under MPI have at most two workers and a server."""
IN_TURN = 12
"""Runs in the same processes, where the time is limited."""


@dataclass(frozen=True)
class How:
    """How an audit is done. `at_once`: runs at the same time; None: one per core, under MPI one."""

    say: Say
    at_once: int | None = None
    until: float = math.inf
    """From this time on, by `time.monotonic`, no run is begun."""

    def abreast(self, world: str) -> int:
        """Return how many runs of a world are started at the same time."""
        return self.at_once or ((os.cpu_count() or 1) if world == "virtual" else 1)

    def late(self) -> bool:
        """Return whether the time is over."""
        return time.monotonic() >= self.until

    def parts(self, world: str, runs: int) -> int:
        """Return in how many parts runs in turn are started; short ones, where the time is limited."""
        return max(self.abreast(world), 0 if self.until == math.inf else math.ceil(runs / IN_TURN))


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


def all_of(cases: Iterable[Case], place: Path, how: How) -> list[Audited]:
    """Run and judge every case in folders below `place`."""
    rows = ((case, {world: Row(case, world) for world in case.worlds}) for case in cases)
    audited = [Audited(case, place / case.key, each) for case, each in rows]
    cores = how.abreast("virtual")
    for world in ("virtual", "mpi") if how.until == math.inf else ("mpi", "virtual"):  # what counts most, first
        todo = [each for each in audited if world in each.case.worlds]
        how.say(f"{len(todo)} runs, {world}")
        shared, abreast = [each for each in todo if not each.case.alone], how.abreast(world)
        _abreast(abreast, partial(_in_turn, world, how), _parts(shared, how.parts(world, len(shared))))
        begun = [each for each in todo if not each.rows[world].late]
        rest = [each for each in begun if each.case.alone or _not_begun(each, world)]
        _abreast(abreast, partial(_alone, world, how), rest)
    resumed = [each for each in audited if each.case.asks == "bits" and "virtual" in each.runs]
    replayed = [each for each in audited if each.case.asks == "replay" and "mpi" in each.runs]
    how.say(f"{len(resumed)} runs resumed, {len(replayed)} replayed")
    _abreast(cores, partial(_resume, how), _parts(resumed, how.parts("virtual", len(resumed))))
    _abreast(cores, partial(_replay, how), replayed)
    for each in audited:
        if each.case.asks == "bits" and {"mpi", "virtual"} <= set(each.runs):
            judge.bits(each.runs["mpi"], each.runs["virtual"], "virtual", each.rows["mpi"])
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


def _in_turn(world: str, how: How, part: list[Audited]) -> None:
    """Run cases in turn; only the first without a result has a fault, as those behind it could not begin."""
    if how.late():
        for each in part:
            each.rows[world].late = True
        return
    jobs = [(each.spec(world), each.home / world) for each in part]
    blamed = False
    for each, found in zip(part, _results(jobs, world), strict=True):
        if isinstance(found, Run):
            _judged(each, world, found, how)
        elif not blamed or not _not_begun(each, world):
            each.rows[world].faults.append(f"no result in shared processes: {found}")
            blamed = True


def _alone(world: str, how: How, each: Audited) -> None:
    if how.late():
        each.rows[world].late = True
        return
    shutil.rmtree(each.home / world, ignore_errors=True)
    try:
        _judged(each, world, run(each.spec(world), each.home / world), how)
    except (Failed, OSError, ValueError) as error:
        each.rows[world].faults.append(f"no result: {error}")


def _resume(how: How, part: list[Audited]) -> None:
    """Resume from the checkpoints of virtual runs; compare the results bit by bit."""
    if how.late():
        return
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


def _replay(how: How, each: Audited) -> None:
    """Replay the MPI run in virtual time; compare the results bit by bit."""
    if how.late():
        return
    row = each.rows["mpi"]
    try:
        second = run(each.spec("mpi"), each.home / "replayed", "--replay", str(each.home / "mpi"), again=True)
        judge.bits(each.runs["mpi"], second, "replay", row)
    except (Failed, OSError, ValueError) as error:
        row.faults.append(f"replay: no result: {error}")


def _judged(each: Audited, world: str, found: Run, how: How) -> None:
    """Compare a run with its equations, check its clocks, and tell it."""
    case, row = each.case, each.rows[world]
    each.runs[world] = found
    try:
        if case.asks != "target":
            judge.equations(case, found, row)
        judge.time(case, found, row)
    except (KeyError, ValueError) as error:
        row.faults.append(f"what it left cannot be read as a run's: {error!r}")
    if how.at_once is not None:
        how.say(report.line(row))
