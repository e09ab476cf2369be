"""The first sentences of the page: which method for nodes that differ in speed, as two generations of them do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from hooke.comparison.wording import listed

from benchmarks.common.records import Record
from benchmarks.unequal import claims
from benchmarks.unequal.conditions import CONDITIONS, MANY, Kind
from benchmarks.unequal.entries import ENTRIES, FASTEST, SYNC, entries
from benchmarks.unequal.findings import Cell, found_in
from benchmarks.unequal.runs import Run


def choice(records: Mapping[Run, Record], noisy: float) -> str:
    """Return what to take on many nodes, and on two; empty without such results."""
    many, two = _unequal(records, "spread"), _unequal(records, "cpus", "real")
    found = [_of_many(records, many, noisy)] if many else []
    return " ".join([*found, _of_two(records, two, noisy)] if two else found)


def _unequal(records: Mapping[Run, Record], *kinds: Kind) -> list[Cell]:
    """Return the cells whose workers differ in speed all the time."""
    return [cell for cell in found_in(records, *kinds) if len(set(CONDITIONS[cell.condition].speeds)) > 1]


def _of_many(records: Mapping[Run, Record], cells: Sequence[Cell], noisy: float) -> str:
    said = [claims.over(records, cell, SYNC) for cell in cells]
    names = [name for name in said[0] if all(claims.apart(each[name], noisy) > 0 for each in said)]
    titles = listed([f"*{CONDITIONS[cell.condition].title}*" for cell in cells])
    where = f"On {MANY} nodes of unequal speed ({titles}; simulated, {listed(_tasks(cells))})"
    if not names:
        return f"{where} no method is told apart from {SYNC} as faster in each of them."
    ratios = [f"{name} {listed([claims.told(each[name]) for each in said])}" for name in names]
    pairs = [(claims.of_pairs(records, cell), a, b) for cell in cells for a, b in combinations(names, 2)]
    apart = sum(claims.apart(found[a, b], noisy) != 0 for found, a, b in pairs)
    first = f"; in {apart} of {len(pairs)} pairs one of these is told apart from the other" if pairs else ""
    return (
        f"{where} these are told apart from {SYNC} as faster, with factors and 95% intervals: {'; '.join(ratios)}"
        f"{first if apart or not pairs else '; which of these is the fastest is not shown'}."
    )


def _of_two(records: Mapping[Run, Record], cells: Sequence[Cell], noisy: float) -> str:
    ratios = [max(CONDITIONS[cell.condition].speeds) for cell in cells]
    real = sum(CONDITIONS[cell.condition].kind == "real" for cell in cells)
    faster = slower = 0
    for cell in cells:
        together = [each for each in entries(cell.condition) if not ENTRIES[each].alone]
        ways = [claims.apart(each, noisy) for each in claims.over(records, cell, FASTEST, together).values()]
        faster, slower = faster + (1 in ways), slower + (-1 in ways)
    use = "" if faster else ": that adding the slow node pays is not shown"
    return (
        f"On two nodes, one {min(ratios):g} to {max(ratios):g} times as fast as the other "
        f"({listed(_tasks(cells))}; simulated in {len(cells) - real} cells, real in {real}), a method on both "
        f"is told apart as faster than the fast node alone in {faster} of {len(cells)}, and one or more as slower "
        f"in {slower}{use}."
    )


def _tasks(cells: Sequence[Cell]) -> list[str]:
    return list(dict.fromkeys(cell.task for cell in cells))
