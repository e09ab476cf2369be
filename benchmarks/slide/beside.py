"""The section of the page that puts problems beside each other: which layers are faster on each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from benchmarks.slide.conditions import PROBLEMS
from benchmarks.slide.page import Record, hashing, rows, unit_of, verdict_of, verdicts
from benchmarks.slide.spaces import spaces_of


def tables(sections: Mapping[tuple[str, str, str], Sequence[Record]]) -> list[str]:
    """Return a table of the problems beside each other, for each size, machine and spaces that have several."""
    of: dict[tuple[str, str, int], dict[str, Sequence[Record]]] = defaultdict(dict)
    for (problem, size, machine), own in sorted(sections.items()):
        of[size, machine, spaces_of(own[0])][problem] = own
    return [_compared(*at[:2], found) for at, found in sorted(of.items()) if len(found) > 1]


def _compared(size: str, machine: str, found: Mapping[str, Sequence[Record]]) -> str:
    columns = {}
    for problem, own in found.items():
        layers = rows(own, unit_of(own))
        said = verdicts(layers, unit_of(own), hashing(layers))
        columns[problem] = {
            name: f"{place}. {verdict_of(name, said)}" for place, name in enumerate(layers, 1)
        }  # in the order of the first to meet the target
    first = next(iter(columns.values()))
    layers_of_all = list(dict.fromkeys([*first, *(name for column in columns.values() for name in column)]))
    titles = (
        f"{PROBLEMS[name].title}, {unit_of(own)} to P@1 {own[0]['target']:.1%}" for name, own in found.items()
    )
    lines = [
        "## The problems beside each other",
        "",
        f"{machine}, size `{size}`: each layer's place and its verdict over the best kind of hashing on each "
        "problem. Trials, budgets and spaces are the same on all; targets differ, so that ratios are compared and "
        "not times.",
        "",
        f"| layer | {' | '.join(titles)} |",
        f"|---|{'---|' * len(columns)}",
    ]
    for name in layers_of_all:
        lines.append(f"| {name} | {' | '.join(column.get(name, '-') for column in columns.values())} |")
    return "\n".join(lines)
