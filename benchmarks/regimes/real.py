"""The map's model beside real hosts: published runs, and what their settings take in closed form."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hooke.comparison.verdict import compare
from hooke.comparison.wording import short

from benchmarks.evidence.machine import title_of
from benchmarks.regimes.clocks import clocks
from benchmarks.regimes.learnt import Learnt, Source, timed
from benchmarks.regimes.networks import LAN, LINKS, document, elements
from benchmarks.tuned.conditions import AT
from benchmarks.tuned.conditions import TASKS as TUNED
from benchmarks.tuned.entries import elastic
from benchmarks.tuned.records import Record
from benchmarks.tuned.rows import rows

TASKS = ("fashion", "fashion-halving", "fashion-batch", "mnist-batch")
"""Of the map, measured on hosts."""


@dataclass(frozen=True)
class Point:
    """A table of hosts: its fastest elastic entry and its fastest other one, measured and in closed form."""

    where: str
    elastic: str
    other: str
    measured: str
    """The verdict on the elastic entry in words, not corrected."""
    seconds: list[float]
    """Measured, of elastic and other: geometric means over the seeds that met the target with both."""
    expected: list[float]
    """In closed form, on the same seeds."""
    paces: list[float]
    """Milliseconds per sample of a worker that is not waiting."""

    @property
    def ratio(self) -> float:
        """Return the measured ratio: above 1, the elastic entry is ahead."""
        return self.seconds[1] / self.seconds[0]

    @property
    def of_model(self) -> float:
        """Return the ratio in closed form."""
        return self.expected[1] / self.expected[0]


def points(tuned: Sequence[Record]) -> Iterator[Point]:
    """Yield the tables of hosts whose workload is in the map, and those of settings repeated by halving."""
    found: dict[tuple[str, ...], list[Record]] = defaultdict(list)
    for record in tuned:
        if record["task"] in TASKS and AT[record["place"]].world != "virtual" and timed(record["entry"]):
            again = (record.get("repeats") or {}).get("collective") or TUNED[record["task"]].collective
            effort = "" if record.get("repeats") else record["effort"]
            found[title_of(record["hardware"]), record["task"], record["place"], effort, again].append(record)
    for (machine, task, place, _, collective), own in sorted(found.items()):
        if point := _point(machine, Source(task, AT[place].hosts, place), own, collective):
            yield point


def _point(machine: str, source: Source, records: Sequence[Record], collective: str) -> Point | None:
    table = rows(records)
    mine = next((name for name in table if elastic(name)), None)
    other = next((name for name in table if not elastic(name)), None)
    if mine is None or other is None:
        return None
    sides = {name: _met(table[name].runs) for name in (mine, other)}
    seeds = sorted(sides[mine].keys() & sides[other].keys())
    if not seeds:
        return None
    pace = _pace(records, source)
    paces = [1000 * _pace([table[name].runs[seed] for seed in seeds], source) for name in sides]
    expected = [_mean(_expected(source, sides[name][seed], collective, pace) for seed in seeds) for name in sides]
    seconds = [_mean(sides[name][seed]["time_to_target"] for seed in seeds) for name in sides]
    where = f"{source.of.title} to {source.of.target:.1%}; {AT[source.place].title}; {machine}; {collective}"
    said = compare(table[other].crossings, table[mine].crossings)
    return Point(where, mine, other, f"{said.claim}: {short(mine, said)}", seconds, expected, paces)


def _met(runs: Mapping[int, Record]) -> dict[int, Record]:
    return {seed: run for seed, run in runs.items() if run["time_to_target"] is not None}


def _mean(values: Iterable[float]) -> float:
    return statistics.geometric_mean(values)


def _pace(records: Sequence[Record], source: Source) -> float:
    """Return the seconds per sample of a worker that is not waiting: the median over the reported runs."""
    own = [each for each in records if each["rung"] is None and each["time_to_target"] is not None]
    busy = [
        each["train_seconds"] * (1 - each["communication_fraction"]) * source.workers / each["samples"]
        for each in own
    ]
    return float(statistics.median(busy))


def _expected(source: Source, record: Record, collective: str, pace: float) -> float:
    about = record["entry"], record["trial"], record["seed"], record["parameters"]
    made = document(source, Learnt(*about, record["samples_to_target"], True, False), collective)
    by, _ = clocks(made, elements(source), [LINKS[LAN]], [{"compute_seconds_per_sample": pace}])
    return float(by[0, 0])
