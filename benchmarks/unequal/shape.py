"""The shape of the papers' findings on Hogbatch, in the boxes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from hooke.comparison.verdict import Verdict, compare, holm

from benchmarks.common.records import Record
from benchmarks.evidence.wording import table
from benchmarks.unequal import claims
from benchmarks.unequal.conditions import CONDITIONS
from benchmarks.unequal.entries import ADAPTIVE, STATIC
from benchmarks.unequal.findings import Cell, by_worker, found_in, worked
from benchmarks.unequal.runs import Run


class Shape(NamedTuple):
    """The paper's findings on Hogbatch, counted over the boxes."""

    cells: int
    most: int
    """In how many the CPU makes most of the updates with static sizes, 51% or more."""
    known: int
    """Of how many boxes that is known."""
    faster: int
    """In how many adaptive sizes are told apart as faster than static ones."""
    slower: int


def _sizes_compared(records: Mapping[Run, Record], cells: Sequence[Cell]) -> dict[Cell, Verdict]:
    """Return the verdicts on adaptive sizes over static ones, corrected for their number."""
    times = {entry: {cell: claims.times(records, cell, entry) for cell in cells} for entry in (STATIC, ADAPTIVE)}
    return holm({cell: compare(times[STATIC][cell], times[ADAPTIVE][cell]) for cell in cells})


def _shares_of_cpu(records: Mapping[Run, Record], cell: Cell) -> list[float | None]:
    """Return the CPU's share of the updates, with static and with adaptive sizes; None if all diverged."""
    found = [worked(records, cell, entry) for entry in (STATIC, ADAPTIVE)]
    counts = [by_worker(each, "updates") if each else None for each in found]
    return [None if each is None else each[-1] / max(1.0, sum(each)) for each in counts]


def counted(records: Mapping[Run, Record]) -> Shape:
    """Return what the paper's findings come to in the boxes."""
    cells, noisy = found_in(records, "box"), claims.noise(records)
    shares = [share for cell in cells if (share := _shares_of_cpu(records, cell)[0]) is not None]
    ways = [claims.apart(each, noisy) for each in _sizes_compared(records, cells).values()]
    return Shape(
        len(cells), sum(round(share, 2) > 0.5 for share in shares), len(shares), ways.count(1), ways.count(-1)
    )


def shapes(records: Mapping[Run, Record]) -> Iterator[str]:
    """Yield the paper's findings on Hogbatch, and the boxes here."""
    cells, noisy, found = found_in(records, "box"), claims.noise(records), counted(records)
    said, rows = _sizes_compared(records, cells), []
    for cell in cells:
        told = [f"{share:.0%}" if share is not None else "-" for share in _shares_of_cpu(records, cell)]
        rows.append((cell.task, CONDITIONS[cell.condition].title, *told, claims.marked(said[cell], noisy)))
    yield f"Here the CPU makes most of the updates with static sizes in {found.most} of {found.known} cells."
    yield f"Adaptive sizes are told apart from static ones as faster in {found.faster} of {found.cells} cells, as"
    open_ = not (found.faster or found.slower)
    yield f"slower in {found.slower}{': whether data decide it is not shown here' * open_}."
    yield ""
    header = ("task", "box", "CPU's updates, static", "CPU's updates, adaptive", f"{ADAPTIVE}: speed over static")
    yield from table(header, rows)
