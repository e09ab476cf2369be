"""What a reader wants to know first: which method for which workers, and whether a slower worker pays."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

from benchmarks.common.records import Record
from benchmarks.evidence.wording import table
from benchmarks.unequal import answered, claims
from benchmarks.unequal.conditions import CONDITIONS, SEEDS, TRIALS, Kind
from benchmarks.unequal.entries import ENTRIES, FASTEST, SPLIT, SYNC, entries
from benchmarks.unequal.findings import Cell, found_in, gain
from benchmarks.unequal.runs import Run

KINDS: tuple[Kind, ...] = ("cpus", "spread", "changing", "box", "devices", "real")
GROUPS: tuple[tuple[str, tuple[Kind, ...]], ...] = (
    ("two CPUs (simulated)", ("cpus",)),
    ("a device and a CPU (simulated)", ("box",)),
    ("several devices (simulated)", ("devices",)),
    ("two processes (real)", ("real",)),
)
"""Conditions in which the fastest worker was also run alone."""
NONE = "none"
RULE = f"""\
Two entries are *told apart* on this page if [the rule of verdict](../decisions/0020-one-rule-of-verdict.md) tells
their chosen settings apart, at 95%, paired by the {len(SEEDS)} seeds, corrected for the entries that are compared
in a cell (a task in a condition), and if the ratio is also larger than what the draw of {TRIALS} trials alone
makes of *one* method ([decision 118](../decisions/0118-what-a-claim-names.md)). What is not told apart may differ:
{len(SEEDS)} seeds show little."""


def first(records: Mapping[Run, Record], with_cpu: Mapping[Run, Record]) -> Iterator[str]:
    """Yield the beginning of the page: answers, the rule, methods by condition, what slower workers add.

    `with_cpu`: the records of `beside`.
    """
    noisy = claims.noise(records)
    yield from answered.first(records, noisy, with_cpu)
    yield from ("## How to read it", "", RULE, null(records), "")
    yield from ("## Which method for which workers", "", *_for_which(records, noisy), "")
    yield from ("## Does a slower worker beside a faster one pay?", "")
    yield from ("All methods on all workers, each against the fastest worker alone, by task and condition:", "")
    for title, kinds in GROUPS:
        if found := found_in(records, *kinds):
            yield f"- {title}: {paying(records, found, noisy)}."
    yield ""
    yield from _several(records)


def null(records: Mapping[Run, Record]) -> str:
    """Return how far apart entries are that compute the same."""
    pairs = claims.identical(records)
    if not pairs:
        return "No condition with equally fast workers is complete, so that this is not known, and taken as 1."
    known = [max(each.ratio, 1 / each.ratio) for each in pairs.values() if each.ratio]
    said = sum(each.claim in claims.WAYS for each in pairs.values())
    return (
        f"Where all workers are equally fast, {SPLIT} *is* {SYNC}; in these {len(pairs)} cells the two differ by "
        f"up to {max(known):.2f}x, and the rule alone tells them apart in {said}. So a ratio within a factor of "
        f"**{claims.noise(records):.2f}**, where 95% of such ratios are expected, is not read as a difference of "
        "methods. Both have the same draws in all of these cells, so that this factor is itself rough."
    )


def ahead(records: Mapping[Run, Record], cells: Sequence[Cell], noisy: float) -> str:
    """Return in how many cells one entry is told apart from all others, after correction for all pairs."""
    found = {cell: name for cell in cells if (name := claims.ahead_of_all(records, cell, noisy))}
    where = "".join(f" {name} ({cell.title})." for cell, name in found.items())
    return f"In {len(found)} of {len(cells)} cells one entry is told apart from all others.{where}"


def _for_which(records: Mapping[Run, Record], noisy: float) -> Iterator[str]:
    """Yield what is told apart in which cell; cells in which nothing is are named together."""
    cells = found_in(records, *KINDS)
    yield ahead(records, cells, noisy)
    ordered = [cell for kind in KINDS for cell in found_in(records, kind)]
    found = [(cell, [_told(records, cell, each, noisy) for each in (SYNC, FASTEST)]) for cell in ordered]
    if nothing := [cell for cell, told in found if all(each in ("", NONE) for each in told)]:
        yield f"Nothing is told apart from {SYNC}, or from the fastest worker alone, in {len(nothing)}:"
        yield f"{'; '.join(_titled(cell) for cell in nothing)}."
    yield "*x*: as fast, with 95% intervals, below 1 slower. Cells in which something is told apart:"
    yield ""
    header = ("workers", "task", f"from {SYNC}", f"from {FASTEST}")
    shown = [(*_place(cell), *told) for cell, told in found if cell not in nothing]
    yield from table(header, shown)


def _place(cell: Cell) -> tuple[str, str]:
    real = " (real)" if CONDITIONS[cell.condition].kind == "real" else ""
    return CONDITIONS[cell.condition].title + real, cell.task


def _titled(cell: Cell) -> str:
    workers, task = _place(cell)
    return f"{task}, {workers}"


def _told(records: Mapping[Run, Record], cell: Cell, baseline: str, noisy: float) -> str:
    """Return the entries that are told apart from this one, the fastest first."""
    if baseline not in entries(cell.condition):
        return ""
    said = claims.over(records, cell, baseline)
    shown = {name: each for name, each in said.items() if claims.apart(each, noisy)}
    order = sorted(shown, key=lambda name: -(shown[name].low or shown[name].high or 0.0))
    listed = "; ".join(f"{name} {claims.told(shown[name])}" for name in order)
    return listed or NONE


def _together(condition: str) -> list[str]:
    return [each for each in entries(condition) if not ENTRIES[each].alone]


def paying(records: Mapping[Run, Record], cells: Sequence[Cell], noisy: float) -> str:
    """Return in how many cells a method on all workers is told apart from the fastest alone, and how."""
    faster, slower = [], []
    for cell in cells:
        said = claims.over(records, cell, FASTEST, _together(cell.condition))
        ways = [claims.apart(each, noisy) for each in said.values()]
        faster.append(1 in ways)
        slower.append(bool(ways) and max(ways) < 0)
    most = statistics.geometric_mean(gain(records, cell).limit for cell in cells)
    return (
        f"a method is faster in {sum(faster)} of {len(cells)}, all are slower in {sum(slower)}, open in the rest; "
        f"the slower workers add throughput to {most:.2f}x on geometric average"
    )


def _several(records: Mapping[Run, Record]) -> Iterator[str]:
    """Yield every method over the fastest worker alone, pooled over the cells of a group."""
    groups = [(title, cells) for title, kinds in GROUPS if (cells := found_in(records, *kinds))]
    if not groups:
        return
    yield f"Over {FASTEST}, above 1 faster: pooled over the cells of a group, each of which has its own true"
    yield "ratio (random effects, [decision 35](../decisions/0035-pooling-over-machines.md)), with 95% intervals,"
    yield "each by itself; *open*, *≥*, *≤*: a target was missed; *wide*: its ends are more than a factor of"
    yield f"{claims.WIDE:g} apart. Cells of a group share tasks and, of one task, settings."
    yield ""
    names = [
        name
        for name in ENTRIES
        if not ENTRIES[name].alone and any(name in entries(cells[0].condition) for _, cells in groups)
    ]
    rows = [(name, *(_pooled(records, cells, name) for _, cells in groups)) for name in names]
    yield from table(("entry", *(f"{title}, {len(cells)} cells" for title, cells in groups)), rows)
    yield ""


def _pooled(records: Mapping[Run, Record], cells: Sequence[Cell], entry: str) -> str:
    there = [cell for cell in cells if entry in entries(cell.condition)]
    return claims.told(claims.over_several(records, there, entry, FASTEST)) if there else ""
