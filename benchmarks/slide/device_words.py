"""What was measured beside a GPU, in words: hashing on the cores against the full layer."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.slide import curve_page
from benchmarks.slide.conditions import BATCH, FULL, PROBLEMS, REAL, SLIDE
from benchmarks.slide.plan import FIRST

Record = Mapping[str, Any]
Size = tuple[int, int]
GPU, CORES = "gpu", "cores"
TRIAL = 1000
"""Seed of trials with other batches."""
OF_PAPER = {
    "3.5 times as fast as TensorFlow on a V100": (GPU, "the full layer on the GPU"),
    "over 10 times as fast as TensorFlow on the same cores": (CORES, "the full layer on the same cores"),
}
"""Claims of the abstract of arXiv 1903.03129, on 44 cores -> the place of the full layer that answers to each."""


def finding(found: Sequence[Record]) -> str:
    """Return in words what hashing on cores is beside the full layer on the GPU; empty without both."""
    told = [*_rate_words(found)]
    if known := times(found, (CORES, SLIDE), (GPU, FULL)):
        told.append(f"to P@1 {target(found):.1%} on the real records it {_against(known)}")
    if late := curve_page.finding(found):
        told.append(late)
    return f"{'; '.join(told)}." if told else ""


def abstract(found: Sequence[Record]) -> str:
    """Return in words what the abstract's factors become here, and that there was no V100."""
    claims = f"The abstract of arXiv 1903.03129 says, of hashing on 44 cores: {'; '.join(OF_PAPER)}."
    told = []
    for place, what in OF_PAPER.values():
        rate, known = factors(found, place) if found else (None, None)
        said = [f"{rate:.2g} times as many samples/s ({FIRST:,} labels, batch {BATCH})"] if rate else []
        said += [f"{known:.2g} times as fast to P@1 {target(found):.1%} (real records)"] if known else []
        if said:
            told.append(f"over {what} {' and '.join(said)}")
    if not told:
        return f"{claims} Neither has been measured here."
    there = f"On {cores(found)} cores and {card(found)} it is here, one measurement each, {'; '.join(told)}."
    return f"{claims} {there}{'' if 'V100' in card(found) else ' **No V100 has been measured.**'}"


def factors(found: Sequence[Record], place: str) -> tuple[float | None, float | None]:
    """Return how many times the full layer at a place hashing on the cores is: in rate, in time to the target."""
    rates = {(r["place"], r["layer"]): r["samples_per_second"] for r in of_size(found, (FIRST, BATCH))}
    hashed = max((rate for (at, layer), rate in rates.items() if hashes(at, layer)), default=None)
    full = rates.get((place, FULL))
    known = times(found, (CORES, SLIDE), (place, FULL))
    return hashed / full if hashed and full else None, known[1] / known[0] if known else None


def _rate_words(found: Sequence[Record]) -> Iterator[str]:
    factors = {size: hashed / full for size, hashed, full in pairs(found, GPU)}
    if not factors:
        return
    where = f"On {cores(found)} cores beside a GPU ({card(found)}), hashing computes"
    ((labels, batch), factor), *more = factors.items()
    if more:
        ahead, values = sum(factor > 1 for factor in factors.values()), factors.values()
        yield (
            f"{where} faster than the full layer on the GPU in {ahead} of {len(factors)} cells "
            f"({min(values):.2g} to {max(values):.2g} times)"
        )
    else:
        yield (
            f"{where} {factor:.2g} times as many samples per second as the full layer on the GPU, at "
            f"{labels:,} labels and a batch of {batch}"
        )


def _against(known: tuple[float, float, int]) -> str:
    """Return two times to the target in words: those of one, of another, and how many pairs there are."""
    one, other, runs = known
    factor = f"takes {one / other:.2g} times as long" if one > other else f"is {other / one:.2g} times as fast"
    return f"{factor} ({one:.1f} s to {other:.1f} s, {'one run' if runs == 1 else f'{runs} runs'} each)"


def pairs(found: Sequence[Record], place: str) -> Iterator[tuple[Size, float, float]]:
    """Yield size, best rate of hashing on the cores, and rate of the full layer at a place."""
    rates = [record for record in found if mapped(record)]
    for size in sorted({(record["labels"], record["batch"]) for record in rates}):
        own = of_size(found, size)
        hashed = [r["samples_per_second"] for r in own if hashes(r["place"], r["layer"])]
        full = [r["samples_per_second"] for r in own if (r["place"], r["layer"]) == (place, FULL)]
        if hashed and full:
            yield size, max(hashed), full[0]


def of_size(found: Sequence[Record], size: Size) -> list[Record]:
    """Return the rates of one size in float32."""
    return [
        record
        for record in found
        if mapped(record)
        and (record["labels"], record["batch"]) == size
        and (record["precision"], record["weights"]) == ("fp32", "fp32")
    ]


def mapped(record: Record) -> bool:
    """Return whether it is a rate on a planted problem."""
    return bool(record["kind"] == "rate" and not record.get("real"))


def hashes(place: str, layer: str) -> bool:
    return place == CORES and layer.startswith(SLIDE)


def times(
    found: Sequence[Record], one: tuple[str, str], other: tuple[str, str]
) -> tuple[float, float, int] | None:
    """Return the times to the target of two, geometric means over seeds that both met, and how many these are."""
    times: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for record in found:
        if record["kind"] == "train" and record["precision"] == "fp32" and record["time_to_target"]:
            own = times[
                record["place"], record["layer"]
            ]  # of several tables the quicker ones count, for each seed
            own[record["seed"]] = min(record["time_to_target"], own.get(record["seed"], record["time_to_target"]))
    common = [seed for seed in times[one] if seed in times[other] and seed < TRIAL]
    if not common:
        return None
    mean, against = (statistics.geometric_mean(times[each][seed] for seed in common) for each in (one, other))
    return mean, against, len(common)


def target(found: Sequence[Record]) -> float:
    return next((float(record["target"]) for record in found if record["kind"] == "train"), PROBLEMS[REAL].target)


def card(found: Sequence[Record]) -> str:
    return str(found[0]["card"] or "no GPU (a trial)")


def cores(found: Sequence[Record]) -> int:
    return int(found[0]["threads_of_cores"])
