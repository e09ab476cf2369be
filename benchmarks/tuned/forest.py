"""The figure of the index: ratios of times with their intervals, a row for each table on hosts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from hooke.comparison.pooling import Pooled
from hooke.comparison.verdict import Verdict

from benchmarks.evidence.drawing import INK, PALETTE
from benchmarks.evidence.forest import Mark, forest, key
from benchmarks.evidence.forest import Row as Line
from benchmarks.tuned.across import OVER, Tables, over_machines
from benchmarks.tuned.conditions import AT, TASKS
from benchmarks.tuned.field import entered
from benchmarks.tuned.rows import Row, elastic_verdict, verdicts

NAME = "equal-tuning.svg"
COLORS = dict(zip(OVER, (PALETTE[1], PALETTE[3]), strict=True))
ELASTIC = PALETTE[2]
SHOWN, NOT_SHOWN = "o", "d"
TITLE = "Equal tuning: the fastest method entered, over peers and over other entries"
AXIS = "ratio of times to the target, 95%; above 1: the method needs less time"


def draw(tables: Tables, path: Path) -> bool:
    """Draw the figure; return whether there is anything to draw."""
    real = [(at, found) for at, found in tables if AT[at[2]].world != "virtual"]
    lines = [line for at, found in real if (line := _line(at, found)) and line.marks]
    lines += list(_pooled(real))
    if lines:
        legend = [key(SHOWN, color, f"over {peer}") for peer, color in COLORS.items()]
        legend += [key(SHOWN, ELASTIC, "elastic, over all others"), key(NOT_SHOWN, INK, "not shown")]
        forest(path, (TITLE, "95% intervals, paired by seed; an arrow: a bound"), AXIS, lines, legend)
    return bool(lines)


def _line(at: tuple[str, str, str, str], found: Mapping[str, Row]) -> Line | None:
    names = entered(found)
    if not names:
        return None
    said = [(verdicts(found, peer).get(names[0]), color) for peer, color in COLORS.items()]
    if of_elastic := elastic_verdict(found):
        said.append((of_elastic[2], ELASTIC))
    machine, task, place, _ = at
    on = f"{AT[place].hosts} hosts on {machine.rpartition(', ')[2]}"
    remark = f"{on}; {machine.partition(' (')[0]}; {names[0]}, of {len(names)} entered"
    return Line(TASKS[task].title, remark, [mark for each, color in said if each for mark in _marks(each, color)])


def _pooled(tables: Tables) -> Iterator[Line]:
    """Yield a row for every method of the catalogue that is pooled over several kinds of machines."""
    for (task, place), found in over_machines(tables).items():
        for name in entered(dict.fromkeys(name for name, _ in found)):
            marks = [m for peer in OVER if (name, peer) in found for m in _marks(found[name, peer], COLORS[peer])]
            if marks:
                yield Line(TASKS[task].title, f"{AT[place].hosts} hosts; {name}, over kinds of machines", marks)


def _marks(said: Verdict | Pooled, color: str) -> Iterator[Mark]:
    """Yield the mark of a ratio with an interval or a bound."""
    if said.low is None and said.high is None:
        return
    value = said.ratio or said.low or said.high or 1.0
    shape = NOT_SHOWN if said.claim in ("not shown", "no claim") else SHOWN
    yield Mark(value, said.low, said.high, color, shape)
