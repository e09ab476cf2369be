"""The part of the page on a real device and the CPU beside it, and its answer; empty without results."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

from hooke.comparison.verdict import Verdict

from benchmarks.common.records import Record
from benchmarks.evidence.wording import table
from benchmarks.unequal import claims, few
from benchmarks.unequal.conditions import CONDITIONS, FEW, REAL_TRIALS, SEEDS, of_kind
from benchmarks.unequal.entries import CPUS, ENTRIES, FASTEST, SLOWEST, entries
from benchmarks.unequal.findings import Gain
from benchmarks.unequal.panels import figures, over_epochs
from benchmarks.unequal.rates import WHO, Rates
from benchmarks.unequal.runs import Run, best, complete, median, results
from benchmarks.unequal.tasks import TASKS

DEVICE = 0
"""The worker; others are CPUs."""
HEADER = (
    "entry", "chosen setting", "seconds (least to largest)", "missed", "over the device alone", "thousand samples",
    "thousand samples/s", "gradients, by worker", "GPU busy (NVML)", "CPU's samples", "CPU's updates",
    "batch of an update", "staleness",
)  # fmt: skip
HOW = f"""\
Every entry has {REAL_TRIALS} trials, and then {len(SEEDS)} seeds that no trial had. *Gradients*: shares of the
worker's time, of several CPU workers the mean; the rest are exchanges, updates and waits. *GPU busy*: what NVML
reports, mean over the runs; a reading is about a moment of up to a second: a short run has some of what was before
it. *Staleness*: updates by others between a worker's read of the center and its write. The device computes
the batches of an update in one pass. The center is in main memory, at a process of its own; a method that runs on
one worker alone has none.
"""


def answer(records: Mapping[Run, Record], task: str, condition: str) -> Gain:
    """Return the gain of a task: of all methods on both, the one that meets the target first.

    `limit`: throughput of both over that of the device, each at the batch that it chose alone.
    """
    medians = {each: median(results(records, task, condition, each) or ()) for each in entries(condition)}
    met = {each: s for each, s in medians.items() if s is not None and not ENTRIES[each].alone}
    method = min(met, key=lambda each: met[each], default="")
    cpus = CPUS if CPUS in entries(condition) else SLOWEST
    limit = 1 + _rate(records, task, condition, cpus) / _rate(records, task, condition, FASTEST)
    return Gain(medians[FASTEST], method, met.get(method), limit)


def _rate(records: Mapping[Run, Record], task: str, condition: str, entry: str) -> float:
    """Return the samples per second of a worker alone: median over the seeds."""
    found = [each for each in results(records, task, condition, entry) or () if not each["diverged"]]
    return float(statistics.median(each["all_samples"] / each["clock"] for each in found if each["clock"]))


def section(records: Mapping[Run, Record]) -> Iterator[str]:
    """Yield the part of the page."""
    conditions = of_kind("gpu")
    rates = CONDITIONS[conditions[0]].rates
    cells = [(task, each) for each in conditions for task in TASKS if complete(records, task, each)]
    if rates is None or rates.tasks is None:
        return
    about = rates.about or {}
    yield from (f"## For real: {CONDITIONS['gpu'].title}", "")
    yield f"{about.get('device', '')}. {about.get('machine', '')}. PyTorch {about.get('torch', '')}. The process"
    yield f"that feeds the device, and the server, have {rates.beside} thread{'s' * (rates.beside > 1)} each."
    yield ""
    if not cells:
        yield "**No comparison of the methods has been made on a GPU**: what follows are rates alone."
        yield ""
    else:
        yield "**Does the CPU beside the device pay?**"
        yield ""
        yield from (_pays(records, *cell) for cell in cells)
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
    if cells:
        yield from ("### How the methods ran", "", HOW)
    for cell in cells:
        yield from _cell(records, *cell)


def _pays(records: Mapping[Run, Record], task: str, condition: str) -> str:
    """Return the answer for a cell."""
    found = answer(records, task, condition)
    both = [each for each in entries(condition) if not ENTRIES[each].alone]
    said = claims.over(records, (task, condition), FASTEST, both).get(found.method)
    batches = CONDITIONS[condition].batches
    range_of = f"batches {min(batches)} to {max(batches):,}"
    return f"- {TASKS[task].title}, {range_of}: {told(found, said, claims.noise(records))}"


def _cell(records: Mapping[Run, Record], task: str, condition: str) -> Iterator[str]:
    """Yield figure and table of a cell."""
    timing = CONDITIONS[condition].timing
    yield from (f"### {TASKS[task].title}, to {TASKS[task].target}, for real", "")
    batches = ", ".join(f"{each:,}" for each in timing.batches)
    title = CONDITIONS[condition].title
    yield f"{title[:1].upper()}{title[1:]}. Batches {batches}; rates {timing.rates[0]:g} to {timing.rates[1]:g}. A"
    yield f"run is ended after {timing.wall:g} s of wall time, evaluations included, and evaluated about every"
    yield f"{timing.between:g} s of its clock: a time is known to so much."
    yield ""
    for name, shown in figures(records, task).items():
        if condition in shown:
            yield from (f"![Loss against time, seed {SEEDS[0]}](heterogeneous/{name})", "")
    for name, shown in over_epochs(records, task).items():
        if condition in shown:
            yield from (f"![Loss against epochs, seed {SEEDS[0]}](heterogeneous/{name})", "")
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
    shown = [who for who in WHO if who in known]
    batches = sorted({int(batch) for who in shown for batch in known[who]})
    rows = []
    for batch in batches:
        found = [known[who].get(str(batch)) for who in shown]
        most = max((each for each in found[1:] if each), default=None)
        ratio = f"{found[0] / most:.1f}" if found[0] and most else "-"
        rows.append((f"{batch:,}", *(f"{each:,.0f}" if each else "-" for each in found), ratio))
    cpu = (f"{rates.threads} threads without locks", f"a process with {rates.threads} threads", "with one thread")
    last = "device over the faster of both" if len(shown) < len(WHO) else "device over the fastest of these"
    yield from table(("batch", "device", *cpu[: len(shown) - 1], last), rows)


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
        _mean([each["all_samples"] / each["clock"] / 1000 for each in worked if each["clock"]], "{:.0f}"),
        _each([each["computing"] for each in worked], "{:.0%}"),
        _mean([each["gpu_busy"] for each in worked if "gpu_busy" in each], "{:.0%}"),
        _share([_items(each) for each in worked]) if both else "",
        _share([each["updates"] for each in worked]) if both else "",
        _each([_batches(each) for each in worked], "{:.0f}"),
        _each([each["staleness"] for each in worked if "staleness" in each], "{:.1f}") if both else "",
    )


def _items(record: Record) -> list[float]:
    """Return the samples of each worker; a step of a split has its sizes, which were measured before the run."""
    parts = record.get("batches") or [1] * len(record["steps"])
    return [record["settings"]["batch"] * n * part for n, part in zip(record["steps"], parts, strict=True)]


def _batches(record: Record) -> list[float]:
    """Return the mean samples of an update, by worker."""
    return [n / max(1, u) for n, u in zip(_items(record), record["updates"], strict=True)]


def _each(found: Sequence[Sequence[float | None]], form: str) -> str:
    """Return the means over the runs: of the device, and of all CPUs."""
    pairs = [(each[:1], each[1:]) if len(each) > 2 else [[one] for one in each] for each in found]  # noqa: PLR2004
    merged = [[[value for value in part if value is not None] for part in each] for each in pairs]
    columns = [[statistics.mean(part) for part in column if part] for column in zip(*merged, strict=True)]
    return ", ".join(form.format(statistics.mean(column)) if column else "-" for column in columns) or "-"


def _mean(found: Sequence[float], form: str) -> str:
    return form.format(statistics.mean(found)) if found else "-"


def _share(found: Sequence[Sequence[float]]) -> str:
    """Return the CPU's share, the mean over the runs."""
    shares = [sum(each[DEVICE + 1 :]) / max(1, sum(each)) for each in found]
    return f"{statistics.mean(shares):.1%}" if shares else "-"
