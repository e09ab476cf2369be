"""The section of the page on rates by the number of threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.evidence.machine import title_of
from benchmarks.slide.conditions import FULL, SLIDE

Record = Mapping[str, Any]
SPIN = "GOMP_SPINCOUNT"
"""Variable of the environment: how long waiting threads of PyTorch compute before they sleep (decision 131)."""
KEPT = 0.75
"""Of the best rate: with less of it at the most threads, the page says so."""
PAPER = 44
"""Cores of the paper's claim."""


def table(found: Sequence[Record]) -> str:
    """Return the section, with a table for each number of labels and batch."""
    first = found[0]
    lines = [
        "## By the number of threads",
        "",
        f"{title_of(first['hardware'])}; torch {first['versions']['torch']}; commit "
        f"{', '.join(sorted({r['commit'] for r in found}))}. Samples/s of layers of the map of rates, row-wise "
        "Adagrad, one measurement each, with one network for all numbers of threads, without the "
        f"loop of `hooke run`. The paper's claim over the same cores is about {PAPER} of them.",
    ]
    for labels, batch, spin in dict.fromkeys(map(_conditions, found)):
        own = [record for record in found if _conditions(record) == (labels, batch, spin)]
        waiting = "" if spin is None else f", `{SPIN}={spin}` (how long waiting threads of PyTorch compute)"
        lines += ["", *_of_size(f"{labels:,} labels, batch {batch:,}{waiting}:", own)]
    return "\n".join(lines)


def _conditions(record: Record) -> tuple[int, int, str | None]:
    """Return labels and batch, and how long waiting threads of PyTorch compute; None: as long as usual."""
    return record["labels"], record["batch"], record.get(SPIN)


def _of_size(title: str, own: Sequence[Record]) -> Iterator[str]:
    numbers = sorted({record["threads"] for record in own})
    yield title
    yield ""
    heads = [*(f"{n} threads" if n > 1 else "1 thread" for n in numbers), f"{numbers[-1]} over {numbers[0]}"]
    yield f"| layer | {' | '.join(heads)} |"
    yield f"|---|{'---|' * len(numbers)}---|"
    of = {
        layer: {record["threads"]: record["samples_per_second"] for record in own if record["layer"] == layer}
        for layer in dict.fromkeys(record["layer"] for record in own)
    }
    for layer, rates in of.items():
        cells = [f"{rates[n]:,.0f}" if n in rates else "-" for n in numbers]
        gain = f"{rates[max(rates)] / rates[1]:.2g}x" if 1 in rates and max(rates) > 1 else "-"
        yield f"| {layer} | {' | '.join(cells)} | {gain} |"
    if FULL in of:
        yield ""
        yield _over_full(of)
    if said := _falling(of):
        yield ""
        yield said


def _falling(of: Mapping[str, Mapping[int, float]]) -> str:
    """Return which layers lose much of their rate with the most threads; empty without any."""
    told = []
    for layer, rates in of.items():
        best, most = max(rates, key=lambda count: rates[count]), max(rates)
        if rates[most] < KEPT * rates[best]:
            told.append(f"`{layer}` from {best} to {most} threads ({1 - rates[most] / rates[best]:.0%} less)")
    return (
        f"Lost with more threads: {'; '.join(told)}. Why was not measured; a likely cause: "
        "[decision 131](../decisions/0131-rebuilding-as-a-phase.md)."
        if told
        else ""
    )


def _over_full(of: Mapping[str, Mapping[int, float]]) -> str:
    """Return how many times as fast as the full layer hashing is, by threads."""
    told = []
    for count in sorted(of[FULL]):
        hashed = [rates[count] for layer, rates in of.items() if layer.startswith(SLIDE) and count in rates]
        if hashed:
            told.append(f"{max(hashed) / of[FULL][count]:.3g}x with {count}")
    return (
        f"The fastest kind of hashing over the full layer with as many threads: {', '.join(told)}." if told else ""
    )
