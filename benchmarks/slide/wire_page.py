"""The section of the page on what hosts send until a precision is met."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from hooke.comparison.intervals import interval

from benchmarks.slide.conditions import ACTIVE, BATCH, PROBLEMS
from benchmarks.slide.wire import (
    EVERY,
    FIXED,
    GOAL,
    HOSTS,
    KINDS,
    METHODS,
    RATES,
    TOUCHED,
    TUNING,
    WHOLE,
    Kind,
    Record,
    Task,
    kind_of,
    of_task,
    per_step,
    task_of,
    to_target,
)


def factors(touched: Sequence[Record], whole: Sequence[Record]) -> list[float]:
    """Return by seed how many times as many bytes whole vectors take to the target; seeds that both have met."""
    fewer = {record["seed"]: to_target(record) for record in touched}
    pairs = [(to_target(record), fewer.get(record["seed"])) for record in whole]
    return [all_of / some for all_of, some in pairs if all_of and some]


def interval_of(known: Sequence[float]) -> tuple[float, float]:
    """Return the ends of the 95% t interval of the geometric mean of factors; of one, the factor itself."""
    found = interval([math.log(factor) for factor in known])
    if found.low is None or found.high is None:
        return known[0], known[0]
    return math.exp(found.low), math.exp(found.high)


def table(found: Sequence[Record]) -> str:
    """Return the section of the page, with a table for each task."""
    tasks = dict.fromkeys(map(task_of, found))
    introduction = (
        "`slide` with default tables, row-wise Adagrad, on simulated hosts with links of 1 Gb/s. A "
        f"batch of {BATCH} and {ACTIVE} active labels in all are divided among the hosts, so that a step is as "
        "large for any number of them. The bytes are those of the messages of all hosts, ids of rows included, as "
        "real hosts would send them."
    )
    if any(task.target for task in tasks):
        introduction += (
            f" Sync EASGD3 with beta = {METHODS['sync-easgd3']['beta']} exchanges at every step. A run ends when "
            f"the target is met on the validation part, scored every {EVERY:,} samples; the seconds follow from "
            f"assumed constants. Either way has the best of {len(RATES)} learning rates on {max(HOSTS)} hosts, by "
            "the samples to the target on a seed that is in no result, with the same trials for both; fewer hosts "
            "have the same rate. For Sync SGD both ways have the same bits, and so the same trials. Sync EASGD3 "
            "pulls touched rows by another rule, and may need more samples."
        )
    return "\n\n".join(
        ["## Bytes on the wire", introduction, *(_part(task, of_task(task, found)) for task in tasks)]
    )


def _part(task: Task, found: Sequence[Record]) -> str:
    of: dict[Kind, list[Record]] = {}
    for record in sorted(found, key=lambda each: each["seed"]):
        if record["seed"] != TUNING:
            of.setdefault(kind_of(record), []).append(record)
    lines = [
        f"### {PROBLEMS[task.problem].title}, {task.hidden} hidden units, {_goal(task)}",
        "",
        f"{_finding(of) if task.target else _per_step(of)} "
        f"Commit {', '.join(sorted({r['commit'] for r in found}))}.",
        "",
    ]
    return "\n".join(lines + (_to_target(of) if task.target else _steps(of)))


def _steps(of: Mapping[Kind, Sequence[Record]]) -> list[str]:
    """Return the table of runs of a fixed number of steps."""
    lines = ["| method | hosts | rows sent | MB per step | whole over touched |", "|---|---|---|---|---|"]
    for method, hosts, rows in KINDS:
        if own := of.get((method, hosts, rows)):
            more = _factor(of, method, hosts, each=True) if rows == TOUCHED else ""
            megabytes = statistics.fmean(map(per_step, own)) / 1e6
            lines.append(f"| {method} | {hosts} | {rows} | {megabytes:,.2f} | {more} |")
    return lines


def _to_target(of: Mapping[Kind, Sequence[Record]]) -> list[str]:
    lines = [
        "| method | hosts | rows sent | learning rate | samples to the target, by seed | MB per step "
        "| GB to the target | whole over touched | simulated seconds to the target |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for method, hosts, rows in KINDS:
        if own := of.get((method, hosts, rows)):
            samples, step, in_all, seconds = _cells(own)
            more = _factor(of, method, hosts) if rows == TOUCHED else ""
            rate = ", ".join(dict.fromkeys(f"{record['rate']:g}" for record in own))
            told = (method, str(hosts), rows, rate, samples, step, in_all, more, seconds)
            lines.append(f"| {' | '.join(told)} |")
    return lines


def _cells(own: Sequence[Record]) -> tuple[str, str, str, str]:
    """Return samples to the target, MB per step, GB and simulated seconds to the target of one kind of runs."""
    met = [record for record in own if to_target(record) is not None]
    samples = ", ".join(_met(record) for record in own)
    ended = [record for record in own if not record["result"].get("diverged")]
    bytes_, seconds = ([r["result"][name] for r in met] for name in ("wire_bytes", "time_to_target"))
    return (
        samples,
        f"{statistics.fmean(map(per_step, ended)) / 1e6:,.2f}" if ended else "-",
        f"{statistics.fmean(bytes_) / 1e9:,.3g}" if met else "-",
        f"{statistics.fmean(seconds):,.1f}" if met else "-",
    )


def _goal(task: Task) -> str:
    return f"{FIXED:,} samples" if task.target is None else f"P@1 {task.target:.1%}"


def _met(record: Record) -> str:
    if record["result"].get("diverged"):
        return "diverged"
    return f"{n:,}" if (n := record["result"]["samples_to_target"]) else "missed"


def _factor(of: Mapping[Kind, Sequence[Record]], method: str, hosts: int, each: bool = False) -> str:
    """Return a factor between bytes to the target, or, with `each`, of a step."""
    touched, whole = (of.get((method, hosts, rows), ()) for rows in (TOUCHED, WHOLE))
    if each:
        return f"{_of_steps(touched, whole):.3g}x" if touched and whole else "-"
    known = factors(touched, whole)
    if not known:
        return "-"
    low, high = interval_of(known)
    ends = "" if len(known) == 1 else f"{low:.3g} to {high:.3g}, "
    return f"{statistics.geometric_mean(known):.3g}x ({ends}n={len(known)})"


def _of_steps(touched: Sequence[Record], whole: Sequence[Record]) -> float:
    some, every = (statistics.fmean(map(per_step, records)) for records in (touched, whole))
    return every / some


def _per_step(of: Mapping[Kind, Sequence[Record]]) -> str:
    """Return what the bytes of the first steps say where the results both ways have the same bits."""
    told = [
        f"{_factor(of, 'sync-sgd', hosts, each=True)} on {hosts} hosts"
        for hosts in HOSTS
        if all(("sync-sgd", hosts, rows) in of for rows in (TOUCHED, WHOLE))
    ]
    reached = max((r["result"].get("validation_accuracy") or 0.0 for own in of.values() for r in own), default=0.0)
    return (
        "Sync SGD takes the same steps either way, bit for bit, and so as many of them to any P@1. Measured are "
        f"the bytes of the first {FIXED // BATCH} steps: whole vectors take "
        f"{', '.join(told) or 'a number not measured yet'} of those of touched rows. After these steps P@1 is at "
        f"most {reached:.1%}; the bytes of later steps, which may touch more rows or fewer, were not measured."
    )


def _finding(of: Mapping[Kind, Sequence[Record]]) -> str:
    most = max(HOSTS)
    told = []
    for method in METHODS:
        known = factors(of.get((method, most, TOUCHED), ()), of.get((method, most, WHOLE), ()))
        if known:
            low, high = interval_of(known)
            reached = "reached" if low >= GOAL else "missed" if high < GOAL else "not shown"
            told.append(f"{method} {_factor(of, method, most)}, goal of {GOAL:.0f}x {reached}")
    if not told:
        return f"On {most} hosts no pair of runs has met the target."
    return (
        f"To the same P@1 whole vectors take more bytes than touched rows on {most} hosts: {'; '.join(told)}. "
        "In brackets, with several seeds, the 95% t interval of the mean ratio, paired by seed."
    )
