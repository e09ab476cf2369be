"""Invariants of the train clock of every run, checked in the journals of its ranks.

1. The train clock is at least the time that any worker has spent on data, gradients and updates.
2. Wall seconds minus the clock are the seconds for which evaluations and checkpoints report that the clock stood.
3. No worker takes a step while the clock stands.
4. An evaluation before the first step has clock 0; clocks are monotonic; phases sum to wall time.

SLACK allows for messages between ranks and for waking a process. It never hides workers that continue during an
evaluation of more than a few milliseconds. In a run resumed from a checkpoint only
phases and the order of clocks are checked, because its journals lack the earlier stops.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from pathlib import Path

from hooke.errors import JournalError
from hooke.spec.events import Checkpointed, Done, Evaluation, Start, Steps
from hooke.spec.journal import BULK, lines, parse, unpack

SLACK = 0.005
"""Seconds, once per run."""
LEAST_PER_STOP, SHARE_PER_STOP, SLACK_PER_STOP = 0.002, 0.25, 0.02
"""For every evaluation and checkpoint: seconds, the share of its own seconds that is added, and the maximum."""
ROUNDING = 1e-5
"""Relative rounding error: seconds of phases are stored as float32."""
WORK = ("data", "compute", "rebuild", "update")


def _numbers(values: Iterable[float] = ()) -> array[float]:
    """Return numbers in 8 bytes each: ten million floats in a list take 320 MB."""
    return array("d", values)


@dataclass
class _Rank:
    """Data of one rank's journal."""

    role: str = ""
    evaluations: list[Evaluation] = field(default_factory=list)
    stops: list[float] = field(default_factory=list)
    """Seconds of each of its checkpoints."""
    restored: bool = False
    done: Done | None = None
    walls: array[float] = field(default_factory=_numbers)
    clocks: array[float] = field(default_factory=_numbers)
    work: array[float] = field(default_factory=_numbers)
    """Seconds of the phases of WORK in each step."""


def faults(folder: Path, ranks_of_run: int | None = None) -> list[str]:
    """Return messages about the invariants violated by the run with journals in `folder`; empty if there are none.

    `ranks_of_run`: other journals are left out, as users' code may write any; None: all numbered ones count.
    Ranks without a `done` record are checked up to their last record.
    """
    names = {path.name.split(".")[1]: path for path in sorted(folder.glob("journal.*.jsonl"))}
    numbered = {int(name): path for name, path in names.items() if name.isdecimal() and str(int(name)) == name}
    chosen = {n: path for n, path in numbered.items() if ranks_of_run is None or n < ranks_of_run}
    try:
        return _found(chosen) if chosen else [f"{folder} holds no journal"]
    except JournalError as error:
        return [str(error)]
    except (OSError, KeyError, ValueError) as error:  # no journal of Hooke's: users' code may write there, too
        return [f"a journal in {folder} cannot be read: {type(error).__name__}: {error}"]


def _found(paths: Mapping[int, Path]) -> list[str]:
    """Return what is violated by ranks; the steps of one at a time are in memory."""
    ranks = {number: _read(path, steps=False) for number, path in paths.items()}
    deciding = next((r for r in ranks.values() if r.role == "server"), ranks[min(ranks)])
    evaluating = [rank for rank in ranks.values() if rank.evaluations]
    evaluations = (evaluating[0] if evaluating else deciding).evaluations
    found = list(_of_evaluations(evaluations))
    for number, path in paths.items():
        rank = _read(path)
        found += [f"rank {number}: {text}" for text in _of_rank(rank, evaluations)]
        if rank.role == "worker" and not rank.restored:
            found += [f"rank {number}: {text}" for text in _of_clock(rank, evaluations, deciding.done)]
    return found


def _read(path: Path, *, steps: bool = True) -> _Rank:
    rank = _Rank()
    for line in lines(path):
        if not steps and line.startswith(BULK):
            continue
        match record := parse(line):
            case Start():
                rank.role = record.role
                rank.restored = rank.restored or record.restored_step is not None
            case Evaluation():
                rank.evaluations.append(record)
            case Checkpointed():
                rank.stops.append(record.seconds)
            case Done():
                rank.done = record
            case Steps():
                rank.walls.extend(unpack("wall", record.columns["wall"]))
                rank.clocks.extend(unpack("clock", record.columns["clock"]))
                columns = [unpack(name, record.columns[name]) for name in WORK if name in record.columns]
                rank.work.extend(sum(row) for row in zip(*columns, strict=True))
    return rank


def _slack(stops: Iterable[float]) -> float:
    """Return the slack at a time before which the clock has stood for the given seconds each."""
    return SLACK + sum(min(SLACK_PER_STOP, LEAST_PER_STOP + SHARE_PER_STOP * stood) for stood in stops)


def _of_evaluations(evaluations: Sequence[Evaluation]) -> Iterator[str]:
    for before, after in zip(evaluations, evaluations[1:], strict=False):
        if after.clock < before.clock or after.wall < before.wall:
            yield f"the clock runs backwards between {before.samples} and {after.samples} samples"
    for evaluation in evaluations:
        if evaluation.step == 0 and evaluation.samples == 0 and evaluation.clock != 0:
            yield f"the initial weights were scored at clock {evaluation.clock:.3g} s instead of 0"


def _of_clock(rank: _Rank, evaluations: Sequence[Evaluation], deciding: Done | None) -> Iterator[str]:
    """Compare the clock with a worker's work until every evaluation, and at the end."""
    sums = _numbers(accumulate(rank.work))
    seconds = [evaluation.seconds for evaluation in evaluations]
    moments = [
        (evaluation.clock, sums[at - 1], [*seconds[:n], *rank.stops])
        for n, evaluation in enumerate(evaluations)
        if (at := bisect_right(rank.walls, evaluation.wall))
    ]
    if deciding and rank.done:
        work = sum(rank.done.phases.get(phase, 0.0) for phase in WORK)
        moments.append((deciding.clock, work, [*seconds, *rank.stops]))
    for clock, work, stops in moments:
        if clock < work * (1 - ROUNDING) - _slack(stops):
            on = f"{', '.join(WORK[:-1])} and {WORK[-1]}"
            yield f"it spent {work:.3f} s on {on} when the clock of the run was {clock:.3f} s"
            return


def _of_rank(rank: _Rank, evaluations: Sequence[Evaluation]) -> Iterator[str]:
    stops = [*(evaluation.seconds for evaluation in evaluations), *rank.stops]
    for name, values in (("clock", rank.clocks), ("wall", rank.walls)):
        if any(after < before for before, after in pairwise(values)):
            yield f"its {name} runs backwards"
    if not rank.restored:
        yield from _steps_while_the_clock_stood(rank, evaluations)
    if (done := rank.done) is None:
        return
    if abs(sum(done.phases.values()) - done.wall) > ROUNDING * done.wall + SLACK:
        yield f"its phases sum to {sum(done.phases.values()):.3f} s of {done.wall:.3f} s"
    stood = sum(evaluation.seconds for evaluation in evaluations) + sum(rank.stops) + done.test_seconds
    off = done.wall - done.clock
    if off > stood + _slack(stops) and not rank.restored:
        yield (
            f"{off:.3f} s of its {done.wall:.3f} s are off the clock, and evaluations and checkpoints took "
            f"{stood:.3f} s"
        )


def _steps_while_the_clock_stood(rank: _Rank, evaluations: Iterable[Evaluation]) -> Iterator[str]:
    """Check that steps which span an evaluation worked only before or after it."""
    if rank.role != "worker":
        return
    for evaluation in evaluations:
        if evaluation.samples == 0:
            continue  # before the clock started
        begin, end = evaluation.wall, evaluation.wall + evaluation.seconds
        for at in range(bisect_left(rank.walls, begin), len(rank.walls)):
            began = rank.walls[at - 1] if at else 0.0
            if began >= end:
                break
            inside = min(rank.walls[at], end) - max(began, begin)
            possible = rank.walls[at] - began - inside
            if rank.work[at] > possible * (1 + ROUNDING) + SLACK + SLACK_PER_STOP:
                yield (
                    f"its step that ended at {rank.walls[at]:.3f} s worked for {rank.work[at]:.3f} s, although "
                    f"the clock stood from {begin:.3f} s to {end:.3f} s"
                )
