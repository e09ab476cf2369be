"""Times of simulated runs by the present rule of the clock, or with another schedule, without their gradients.

What a synchronous method learns depends on no clock, and trees and halving give the same bits. So a run that was
carried out has the same evaluations; when they would have been, a run with gradients of no cost and the same
messages says (`benchmarks.regimes.runs`).

Methods whose workers exchange with a server, each when it is due, have no all-reduce. With another schedule their
runs are the same, to the last bit and second: they are taken over as they are. Of methods without locks they are
not: the clocks of their workers meet for evaluations, which rounds them otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from hooke.catalogue.algorithm import algorithm
from hooke.catalogue.validation import validate_run
from hooke.cli.outcome import fraction
from hooke.loop.train import run_spec_virtual
from hooke.tuning.search import Known, TrialKey

from benchmarks.evidence.store import commit
from benchmarks.regimes.runs import free
from benchmarks.tuned.conditions import AT, TASKS, Task
from benchmarks.tuned.entries import entry_of
from benchmarks.tuned.records import Record
from benchmarks.tuned.rounds import Rounds, outcome
from benchmarks.tuned.rules import RULE


def can_be_retimed(record: Record) -> bool:
    """Return whether a record is of a simulated run whose evaluations depend on no clock."""
    simulated = AT[record["place"]].world == "virtual"
    return simulated and algorithm(entry_of(record["entry"]).method).coordination == "synchronous"


def has_no_all_reduce(record: Record) -> bool:
    """Return whether a record is of a simulated run that no schedule of all-reduces concerns."""
    simulated = AT[record["place"]].world == "virtual"
    return simulated and algorithm(entry_of(record["entry"]).method).coordination == "parameter-server"


def differ_in_schedule(source: Task, task: Task) -> bool:
    """Return whether two tasks differ in the schedule of all-reduces alone."""
    schedules = source.collective, task.collective
    as_source = replace(task, name=source.name, title=source.title, collective=source.collective)
    return as_source == source and schedules[0] != schedules[1]


def retimed(record: Record, task: Task) -> Record:
    """Return the record of a run as it would be by the present rule, with the schedule of `task`.

    A run that diverged stays as it is. Of a trial that missed the target nothing else counts: it gets no times.
    """
    met = record["time_to_target"] is not None
    found = record | {"task": task.name, "rule": RULE, "retimed": True}
    if record["diverged"] or not (met or record["rung"] is None):
        return found | {"train_seconds": None, "communication_fraction": None}
    entry, place = entry_of(record["entry"]).on(task), AT[record["place"]]
    document: dict[str, Any] = entry.document(task, place, record["parameters"], record["samples"], record["seed"])
    spec = validate_run(document | {"target": None})
    outcomes = run_spec_virtual(spec, None, lambda: free(spec.workload.name))
    clocks = [each.clock for each in outcomes[0].evaluations]
    workers = [each.done for each in outcomes if each.rank < spec.workers]
    return found | {
        "time_to_target": clocks[-1] if met else None,
        "before": clocks[-2] if met else clocks[-1],
        "train_seconds": clocks[-1],
        "communication_fraction": fmean(map(fraction, workers)),
        "wire_bytes": sum(each.done.wire for each in outcomes),
        "commit": commit(),
        "unix": time.time(),
    }


def chosen(records: Iterable[Record], task: Task) -> int | None:
    """Return the trial of one entry at one place that its search would have chosen by these times."""
    tried = [record for record in records if record["rung"] is not None]
    entry, place = entry_of(tried[0]["entry"]), AT[tried[0]["place"]]
    known: Known = {TrialKey(each["trial"], each["rung"], each["seed"]): outcome(each) for each in tried}
    return Rounds(task, place, entry, task.trials).search.chosen(known)


def retime(records: Sequence[Record], task: Task) -> list[Record] | str:
    """Return the records of one entry at one place with their times, or why they are of no use."""
    source = TASKS.get(records[0].get("task", ""))
    if source and differ_in_schedule(source, task) and all(map(has_no_all_reduce, records)):
        return [record | {"task": task.name, "taken": source.name} for record in records]
    if not all(map(can_be_retimed, records)):
        return "what it learns depends on the clock"
    found = [retimed(record, task) for record in records]
    reported = {record["trial"] for record in records if record["rung"] is None}
    if {best := chosen(found, task)} != reported:
        return f"trial {best} would have been chosen, and {sorted(reported)} was measured"
    return found
