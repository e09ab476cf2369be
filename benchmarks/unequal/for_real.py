"""The part of the page on a real device and the CPU beside it, and its answer; empty without results."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

from hooke.comparison.verdict import Verdict

from benchmarks.common.records import Record
from benchmarks.evidence.wording import table
from benchmarks.unequal import claims, few
from benchmarks.unequal.conditions import (
    BETWEEN,
    CONDITIONS,
    DEEP_RANGE,
    FEW,
    REAL_TRIALS,
    SEEDS,
    TASKS,
    WALL,
    of_kind,
)
from benchmarks.unequal.entries import ENTRIES, FASTEST, SLOWEST, entries
from benchmarks.unequal.findings import Gain
from benchmarks.unequal.panels import figures
from benchmarks.unequal.rates import WHO, Rates
from benchmarks.unequal.runs import Run, best, complete, median, results

DEVICE, CPU = 0, 1
"""Workers, and places in what is kept of each."""
HEADER = (
    "entry", "chosen setting", "seconds (least to largest)", "missed", "over the device alone", "thousand samples",
    "gradients, by worker", "CPU's samples", "CPU's updates", "batch of an update", "staleness",
)  # fmt: skip
HOW = f"""\
Every entry has {REAL_TRIALS} trials, with rates from {DEEP_RANGE[0]:g} to {DEEP_RANGE[1]:g}, and then
{len(SEEDS)} seeds. A run is ended after {WALL:g} s of wall time, evaluations included, and evaluated about every
{BETWEEN:g} s of its clock: a time is known to so much. *Gradients*: shares of the worker's time; the rest are
exchanges, updates and waits. *Staleness*: updates by others between a worker's read of the center and its write.
The device computes the batches of an update in one pass. The center is in main memory, at a process of its own; a
method that runs on one worker alone has none. No process is pinned.
"""


def answer(records: Mapping[Run, Record], task: str, condition: str) -> Gain:
    """Return the gain of a task: of all methods on both, the one that meets the target first.

    `limit`: throughput of both over that of the device, each at the batch that it chose alone.
    """
    medians = {each: median(results(records, task, condition, each) or ()) for each in entries(condition)}
    met = {each: s for each, s in medians.items() if s is not None and not ENTRIES[each].alone}
    method = min(met, key=lambda each: met[each], default="")
    limit = 1 + _rate(records, task, condition, SLOWEST) / _rate(records, task, condition, FASTEST)
    return Gain(medians[FASTEST], method, met.get(method), limit)


def _rate(records: Mapping[Run, Record], task: str, condition: str, entry: str) -> float:
    """Return the samples per second of a worker alone: median over the seeds."""
    found = [each for each in results(records, task, condition, entry) or () if not each["diverged"]]
    return float(statistics.median(each["all_samples"] / each["clock"] for each in found if each["clock"]))


def section(records: Mapping[Run, Record]) -> Iterator[str]:
    """Yield the part of the page."""
    (condition,) = of_kind("gpu")
    rates, tasks = CONDITIONS[condition].rates, [task for task in TASKS if complete(records, task, condition)]
    if rates is None or rates.tasks is None:
        return
    about = rates.about or {}
    yield from (f"## For real: {CONDITIONS[condition].title}", "")
    yield f"{about.get('device', '')}. {about.get('machine', '')}. PyTorch {about.get('torch', '')}. The process"
    yield f"that feeds the device, and the server, have {rates.beside} thread{'s' * (rates.beside > 1)} each."
    yield ""
    if not tasks:
        yield "**No comparison of the methods has been made on a GPU**: what follows are rates alone."
        yield ""
    else:
        yield "**Does the CPU beside the device pay?**"
        yield ""
        for task in tasks:
            found = answer(records, task, condition)
            both = [each for each in entries(condition) if not ENTRIES[each].alone]
            said = claims.over(records, (task, condition), FASTEST, both).get(found.method)
            yield f"- {TASKS[task].title}: {told(found, said, claims.noise(records))}"
        yield ""
    yield from ("### Samples per second, by batch", "")
    yield "Forward and backward alone, without exchanges. *Threads without locks*: as many sub-batches, each of"
    yield "which updates the shared weights, with the account of what is lost."
    yield ""
    for task in rates.tasks:
        yield from (f"{TASKS[task].title}:", "", *by_batch(rates, task), "")
    for note in about.get("notes", ()):
        yield from (note, "")
    yield from few.section(few.read(FEW))
    if tasks:
        yield from ("### How the methods ran", "", HOW)
    for task in tasks:
        yield from (f"### {TASKS[task].title}, to {TASKS[task].target}, for real", "")
        for name, shown in figures(records, task).items():
            if condition in shown:
                yield from (f"![Loss against time, seed {SEEDS[0]}](heterogeneous/{name})", "")
        yield from rows(records, task, condition)
        yield ""


def told(found: Gain, said: Verdict | None, noisy: float) -> str:
    """Return the answer in words; `said`: on the method over the device alone, corrected for all on both."""
    limit = f"the CPU adds throughput to {found.limit:.2f}x"
    if found.ratio is None or said is None:
        return f"the device alone or all methods on both missed the target; {limit}."
    way = {1: "faster", -1: "slower", 0: "not told apart"}[claims.apart(said, noisy)]
    reached = "the whole interval is" if said.low is not None and said.low >= found.limit else "not shown to be"
    return (
        f"the device alone takes {found.alone:.3g} s, {found.method} on both, which has the least median, "
        f"{found.together:.3g} s: {way}, {claims.told(said)}; {limit}: {reached} above that."
    )


def by_batch(rates: Rates, task: str) -> Iterator[str]:
    """Yield the table of samples per second."""
    known = (rates.tasks or {})[task]
    batches = sorted({int(batch) for who in WHO for batch in known[who]})
    rows = []
    for batch in batches:
        found = [known[who].get(str(batch)) for who in WHO]
        most = max((each for each in found[1:] if each), default=None)
        ratio = f"{found[0] / most:.1f}" if found[0] and most else "-"
        rows.append((f"{batch:,}", *(f"{each:,.0f}" if each else "-" for each in found), ratio))
    cpu = (f"{rates.threads} threads without locks", f"a process with {rates.threads} threads")
    yield from table(("batch", "device", *cpu, "device over the faster of both"), rows)


def rows(records: Mapping[Run, Record], task: str, condition: str) -> Iterator[str]:
    """Yield the table of a task."""
    said, noisy = claims.over(records, (task, condition), FASTEST), claims.noise(records)
    ratios = {name: claims.marked(each, noisy) for name, each in said.items()}
    rows = [_row(records, task, condition, entry, ratios.get(entry, "")) for entry in entries(condition)]
    yield from table(HEADER, rows)


def _row(records: Mapping[Run, Record], task: str, condition: str, entry: str, ratio: str) -> tuple[str, ...]:
    found, number = results(records, task, condition, entry) or [], best(records, task, condition, entry)
    settings = Run(task, condition, entry, number or 0, SEEDS[0]).settings
    met = [each["seconds"] for each in found if each["seconds"] is not None]
    middle, worked = median(found), [each for each in found if not each["diverged"]]
    samples = [each["samples"] for each in found if each["samples"] is not None]
    shown = f"{middle:.3g}" if middle else "-"
    both = not ENTRIES[entry].alone
    return (
        entry,
        ", ".join(f"{name} {'/'.join(map(str, v)) if isinstance(v, list) else v}" for name, v in settings.items()),
        f"{shown} ({min(met):.3g} to {max(met):.3g})" if met else shown,
        str(len(found) - len(met) or ""),
        ratio,
        f"{statistics.median(samples) / 1000:.0f}" if samples else "-",
        _each([each["computing"] for each in worked], "{:.0%}"),
        _share([_items(each, entry) for each in worked]) if both else "",
        _share([each["updates"] for each in worked]) if both else "",
        _each([_batches(each, entry) for each in worked], "{:.0f}"),
        _each([each["staleness"] for each in worked if "staleness" in each], "{:.1f}") if both else "",
    )


def _items(record: Record, entry: str) -> list[float]:
    """Return the samples of each worker; a step of a split has its sizes."""
    split = ENTRIES[entry].algorithm == "weighted-sync-sgd"
    parts = record["settings"]["sizes"] if split else [1] * len(record["steps"])
    return [record["settings"]["batch"] * n * part for n, part in zip(record["steps"], parts, strict=True)]


def _batches(record: Record, entry: str) -> list[float]:
    """Return the mean samples of an update, by worker."""
    return [n / max(1, u) for n, u in zip(_items(record, entry), record["updates"], strict=True)]


def _each(found: Sequence[Sequence[float | None]], form: str) -> str:
    """Return the means over the runs, by worker."""
    columns = [[value for value in column if value is not None] for column in zip(*found, strict=True)]
    return ", ".join(form.format(statistics.mean(column)) if column else "-" for column in columns) or "-"


def _share(found: Sequence[Sequence[float]]) -> str:
    """Return the CPU's share, the mean over the runs."""
    shares = [each[CPU] / max(1, sum(each)) for each in found]
    return f"{statistics.mean(shares):.1%}" if shares else "-"
