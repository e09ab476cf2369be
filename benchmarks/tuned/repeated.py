"""Published settings again, by another collective, in turn with the peers: only times may change.

A tree and halving give the same bits, so a setting has the same evaluations by either, and no other search is
needed to learn how long it takes. Every entry is run with its published setting on its published seeds; peers,
which have the all-reduce of their library, are repeated beside the methods, because seconds of two sessions cannot
be compared. Whether a run met its target after the same samples as the published one is recorded, and said.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from hooke.catalogue.algorithm import algorithm
from hooke.catalogue.validation import validate_run
from hooke.errors import SpecError

from benchmarks.evidence.machine import hardware, name_of, title_of
from benchmarks.tuned.conditions import Place, Task
from benchmarks.tuned.entries import DDP_BF16, POST_LOCAL, Entry, entry_of
from benchmarks.tuned.records import Record
from benchmarks.tuned.rounds import Play

SameBits = Literal["tree", "halving"]
"""Collectives that add in the same order."""
PEERS = (DDP_BF16.name, POST_LOCAL.name)
"""Repeated beside the methods, where they are published and nothing else is asked for."""


class CannotRepeat(Exception):
    """An entry is not published there, or its samples depend on the clock."""


class Repeated:
    """The reported runs of one published entry, with the collective of `task`: as `Rounds`, without a search."""

    def __init__(self, task: Task, place: Place, published: Sequence[Record], seeds: int | None = None) -> None:
        """`published`: the reported runs of the entry; `seeds`: the first so many, None: all."""
        self.task, self.place, self.entry = task, place, entry_of(published[0]["entry"]).on(task)
        self.runs = {record["seed"]: record for record in sorted(published, key=lambda each: each["seed"])[:seeds]}
        self.effort = effort(task.collective, published[0])

    def missing(self, results: Mapping[str, Mapping[str, Any]]) -> Iterator[Play]:
        """Yield the runs that have no result."""
        yield from (play for play in self.plays() if play.key not in results)

    def plays(self) -> Iterator[Play]:
        """Yield its runs, seed by seed."""
        for seed, record in self.runs.items():
            parameters = record["parameters"]
            document = self.entry.document(self.task, self.place, parameters, self.task.samples, seed)
            about = {"collective": self.task.collective, "samples_to_target": record["samples_to_target"]}
            about["seconds"] = record["time_to_target"]
            play = (self.task, self.place, self.entry, record["trial"], None, seed, parameters, document)
            yield Play(*play, self.effort, repeats=about)


def effort(collective: str, published: Record) -> str:
    """Return in words what a table of repeated runs is."""
    machine = (
        "" if name_of(published["hardware"]) == name_of(hardware()) else f" of {title_of(published['hardware'])}"
    )
    return f"the published settings{machine}, by {collective}; not searched again"


def repetitions(
    task: Task,
    place: Place,
    collective: SameBits,
    published: Iterable[Record],
    names: Sequence[str] = (),
    peers: Sequence[str] = (),
    seeds: int | None = None,
) -> list[Repeated]:
    """Return what is to be run: the named methods and peers, by default all synchronous methods and PEERS.

    The settings are those of this kind of machine, where it has a table, else of the one with most entries. Raises
    CannotRepeat.
    """
    found = _tables(task, place, published)
    if not found:
        raise CannotRepeat(f"nothing is published of {task.name} at {place.name}")
    there = found.get(name_of(hardware())) or max(found.values(), key=len)
    asked = [*(names or filter(_synchronous, there)), *(peers or (name for name in PEERS if name in there))]
    if lacking := [name for name in asked if name not in there]:
        raise CannotRepeat(f"{', '.join(lacking)}: not published there; there are: {', '.join(there)}")
    if by_clock := [name for name in asked if not (_peer(name) or _synchronous(name))]:
        raise CannotRepeat(f"{', '.join(by_clock)}: what it learns depends on the clock, and so on the collective")
    made = [
        Repeated(replace(task, collective=collective), place, there[name], seeds) for name in dict.fromkeys(asked)
    ]
    for each in made:
        _check(each)
    return made


def _tables(task: Task, place: Place, published: Iterable[Record]) -> dict[str, dict[str, list[Record]]]:
    """Return the reported runs by machine and entry."""
    found: dict[str, dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in published:
        own = (record["task"], record["place"]) == (task.name, place.name) and not record.get("repeats")
        if own and record["rung"] is None:
            found[name_of(record["hardware"])][record["entry"]].append(record)
    return found


def _peer(name: str) -> bool:
    return entry_of(name).peer


def _synchronous(name: str) -> bool:
    entry: Entry = entry_of(name)
    return not entry.peer and algorithm(entry.method).coordination == "synchronous"


def _check(rounds: Repeated) -> None:
    """Raise CannotRepeat if the catalogue does not take a published setting any more."""
    for play in rounds.plays():
        if "settings" in play.document:
            continue
        try:
            validate_run(play.document)
        except SpecError as error:
            raise CannotRepeat(f"{play.title}: {error}") from None


def same_samples(records: Iterable[Record]) -> str:
    """Return in words whether repeated runs met their targets after the samples of the published ones."""
    own = list(records)
    equal = [record["samples_to_target"] == record["repeats"]["samples_to_target"] for record in own]
    if all(equal):
        return f"Each of the {len(own)} runs met the target after the samples of the published one, or missed it."
    others = Counter(record["entry"] for record, same in zip(own, equal, strict=True) if not same)
    told = ", ".join(f"{name} ({number})" for name, number in sorted(others.items()))
    return f"{equal.count(False)} of {len(own)} runs needed other samples than the published ones: {told}."
