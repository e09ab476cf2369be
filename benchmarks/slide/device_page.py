"""The section of the page on output layers on a GPU beside the cores of its machine."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.evidence.machine import title_of
from benchmarks.slide import curve_page
from benchmarks.slide.conditions import BATCH, PROBLEMS, REAL
from benchmarks.slide.device_words import CORES, GPU, OF_PAPER, TRIAL, card, cores, factors, mapped, target
from benchmarks.slide.plan import FIRST

Record = Mapping[str, Any]


def table(found: Sequence[Record]) -> str:
    """Return the section: factors of the abstract, rates, times to the target, threads."""
    first = found[0]
    versions = ", ".join(f"{name} {said}" for name, said in sorted(first["versions"].items()))
    lines = [
        "## Beside a GPU",
        "",
        f"{card(found)} and {first['threads_of_cores']} threads on {title_of(first['hardware'])}; {versions}; "
        f"commit {', '.join(sorted({r['commit'] for r in found}))}. The same network, optimizer and code at both "
        "places, in one process, one measurement at a time; float32 products without TF32, unless bf16 is said, "
        "which casts weights and outputs in every step. Hash tables are in main memory for both: with `slide` on "
        "the GPU the cores ask and build them. What `hooke run` does beside a step (journal, checks) is left out. "
        "Every rate is one measurement, every time to the target one run for each seed that is shown.",
        "",
        *_abstract(found),
        *_rates(found),
        *_runs(found),
        *curve_page.tables(found),
        *_trials(found),
        *_threads(found),
    ]
    failed = [record for record in found if record["kind"] == "failed"]
    if failed:
        lines += ["", f"Not measured because of an error: {', '.join(sorted(map(_name, failed)))}."]
    return "\n".join(lines)


def _abstract(found: Sequence[Record]) -> Iterator[str]:
    """Yield what the abstract's factors become here."""
    sizes = f"samples/s, {FIRST:,} labels, batch {BATCH} | to P@1 {target(found):.1%}, real records"
    yield f"| claim of the abstract, for 44 cores | hashing on these cores here, {sizes} |"
    yield "|---|---|---|"
    for claim, (place, what) in OF_PAPER.items():
        rate, known = factors(found, place)
        told = f"{rate:.2g} times {what}" if rate else "-"
        yield f"| {claim} | {told} | {f'{known:.2g} times as fast' if known else '-'} |"
    yield ""
    yield (
        "Rates are those of the fastest kind of hash tables, times those of the quickest, which may be others. "
        "The abstract's factors are times to a precision on other data and machines, over TensorFlow: these, "
        f"of {cores(found)} cores and {card(found)} over PyTorch, neither confirm nor refute them."
    )
    yield ""


def _rates(found: Sequence[Record]) -> Iterator[str]:
    """Yield a table of rates for each place."""
    for place, title in ((GPU, card(found)), (CORES, f"{cores(found)} cores")):
        own = [record for record in found if mapped(record) and record["place"] == place]
        columns = list(dict.fromkeys(map(_layer, own)))
        if not own:
            continue
        cells = {(r["labels"], r["batch"], _layer(r)): r["samples_per_second"] for r in own}
        yield f"Samples/s on the {title}, planted problems as in the map of rates, medians of blocks of steps:"
        yield ""
        yield f"| labels | batch | {' | '.join(columns)} |"
        yield f"|---|---|{'---|' * len(columns)}"
        for labels, batch in sorted({(r["labels"], r["batch"]) for r in own}):
            values = [cells.get((labels, batch, column)) for column in columns]
            yield f"| {labels:,} | {batch:,} | {' | '.join(f'{v:,.0f}' if v else '-' for v in values)} |"
        yield ""


def _runs(found: Sequence[Record]) -> Iterator[str]:
    """Yield the table of runs to the target."""
    of: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in found:
        if record["kind"] == "train" and record["seed"] < TRIAL:
            of[record["place"], _layer(record)].append(record)
    if not of:
        return
    yield (
        f"{PROBLEMS[REAL].title}: to P@1 {target(found):.1%}, batches of {BATCH}, each layer with the setting "
        "that the comparison had chosen when this was measured, and `slide` also with tables for which it had no "
        "space. Settings were chosen on two cores, by seconds: another machine might choose others. After a few "
        "steps of another seed, which compile and warm up; evaluation off the clock."
    )
    yield ""
    yield "| place | layer | learning rate | seconds to the target, by seed | samples to it | samples/s |"
    yield "|---|---|---|---|---|---|"
    for (place, layer), own in sorted(of.items(), key=lambda each: _order(each[1])):
        rates = [r["samples"] / r["train_seconds"] for r in own]
        yield (
            f"| {card(found) if place == GPU else f'{cores(found)} cores'} | {layer} | {own[0]['lr']:.3g} "
            f"| {', '.join(_told(r, 'time_to_target', '.2f') for r in own)} "
            f"| {', '.join(_told(r, 'samples_to_target', ',') for r in own)} | {statistics.fmean(rates):,.0f} |"
        )
    yield ""


def _trials(found: Sequence[Record]) -> Iterator[str]:
    """Yield the quickest trial with a larger batch of every place and layer."""
    best: dict[tuple[str, str], Record] = {}
    for record in found:
        if record["kind"] == "train" and record["seed"] == TRIAL and record["time_to_target"]:
            key = record["place"], _layer(record)
            if key not in best or record["time_to_target"] < best[key]["time_to_target"]:
                best[key] = record
    if best:
        told = (
            f"{layer} on the {'GPU' if place == GPU else 'cores'} {record['time_to_target']:.2f} s "
            f"(batch {record['batch']}, learning rate {record['lr']:g})"
            for (place, layer), record in sorted(best.items())
        )
        yield f"Larger batches, the best of a few trials on a seed that is in no result: {'; '.join(told)}."
        yield ""


def _threads(found: Sequence[Record]) -> Iterator[str]:
    """Yield how the kernels scale with threads."""
    own = [record for record in found if record["kind"] == "threads"]
    for labels, batch in dict.fromkeys((r["labels"], r["batch"]) for r in own):
        here = [record for record in own if (record["labels"], record["batch"]) == (labels, batch)]
        counts = sorted({record["threads"] for record in here})
        yield f"Kernels of an active set for each item, {labels:,} labels, batch {batch:,}, by threads:"
        yield ""
        yield f"| what | {' | '.join(map(str, counts))} |"
        yield f"|---|{'---|' * len(counts)}"
        for what in dict.fromkeys(record["what"] for record in here):
            values = {r["threads"]: _of_threads(r) for r in here if r["what"] == what}
            yield f"| {what} | {' | '.join(values.get(count, '-') for count in counts)} |"
        yield ""


def _of_threads(record: Record) -> str:
    return (
        f"{record['samples_per_second']:,.0f} /s"
        if "samples_per_second" in record
        else f"{record['seconds']:.2f} s"
    )


def _layer(record: Record) -> str:
    marks = ["bf16"] * (record["precision"] == "bf16")
    marks += ["weights in bf16"] * (record.get("weights") == "bf16")
    return ", ".join([curve_page.title(record), *marks])


def _name(record: Record) -> str:
    layer = record.get("layer", "threads")
    return f"{layer} ({record['place']}, {record['labels']:,} labels, batch {record['batch']})"


def _order(own: Sequence[Record]) -> tuple[int, float]:
    known = [record["time_to_target"] for record in own if record["time_to_target"]]
    return len(own) - len(known), statistics.geometric_mean(known) if known else 0.0


def _told(record: Record, name: str, form: str) -> str:
    return "missed" if record[name] is None else format(record[name], form)
