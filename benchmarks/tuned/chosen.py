"""Settings that trials in virtual time have chosen, on hosts: reported runs alone, on seeds that no trial had.

A file beside the proposals names the entries of a task at a place, the most important first, each with its
setting, the number of its trial, and trials that an earlier run of the task has refuted (`refuted`). Where an
entry had no trials of its own it is said whose setting it has (`unfair`): there is no verdict on it, because a
setting that was chosen for another one says little of its best. One with fewer trials than the others (`fewer`) is
not called slower.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hooke.catalogue.validation import validate_run
from hooke.errors import SpecError

from benchmarks.evidence.store import ROOT
from benchmarks.tuned.conditions import SEEDS, Place, Task
from benchmarks.tuned.entries import Entry, entry_of
from benchmarks.tuned.rounds import Play

SETTINGS = ROOT / "docs" / "results" / "tuned" / "proposals"
ABOUT = ("unfair", "fewer", "group")
PLACED = {"placement": "none"}
"""Of ranks that are pinned already (`netlab.warm`): every emulated host would count all cores as its own."""


class CannotChoose(Exception):
    """Nothing is chosen for a task and place, or the catalogue does not take a setting."""


@dataclass(frozen=True)
class Chosen:
    """The reported runs of one entry with the setting that was chosen for it: as `Rounds`, without a search."""

    task: Task
    place: Place
    entry: Entry
    trial: int
    parameters: Mapping[str, Any] = field(default_factory=dict)
    effort: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)
    """`unfair`, `fewer`, `pinned` and `group` of its runs (`rounds.Play`)."""
    seeds: int = SEEDS
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Fields of its runs' documents, where these are of the catalogue."""

    def missing(self, results: Mapping[str, Mapping[str, Any]]) -> Iterator[Play]:
        """Yield the runs that have no result."""
        yield from (play for play in self.plays() if play.key not in results)

    def plays(self) -> Iterator[Play]:
        """Yield its runs, seed by seed."""
        for seed in range(self.task.first_seed, self.task.first_seed + self.seeds):
            document = self.entry.document(self.task, self.place, self.parameters, self.task.samples, seed)
            if "settings" not in document and self.extra:
                document |= {"compute": {**document.get("compute", {}), **self.extra}}
            play = (self.task, self.place, self.entry, self.trial, None, seed, dict(self.parameters), document)
            yield Play(*play, self.effort, **self.about)


def chosen(
    task: Task,
    place: Place,
    names: list[str],
    seeds: int = SEEDS,
    *,
    pinned: bool = False,
    folder: Path = SETTINGS,
) -> list[Chosen]:
    """Return the named entries, by default all, in the order of the file. Raises CannotChoose."""
    path = folder / f"{task.name}-{place.name}-chosen.json"
    if not path.exists():
        raise CannotChoose(f"no settings are chosen for {task.name} at {place.name}: {path} does not exist")
    found = json.loads(path.read_text())
    of = {each["entry"]: each for each in found["entries"]}
    if lacking := [name for name in names if name not in of]:
        raise CannotChoose(f"{', '.join(lacking)}: not in {path.name}; there are: {', '.join(of)}")
    extra, about = (PLACED, {"pinned": True}) if pinned else ({}, {})
    made = [
        Chosen(
            task, place, entry_of(name).on(task), each["trial"], each["parameters"], found["effort"],
            {part: each[part] for part in ABOUT if part in each} | about, seeds, extra,
        )
        for name, each in of.items()
        if not names or name in names
    ]  # fmt: skip
    for each in made:
        _check(each)
    return made


def _check(one: Chosen) -> None:
    for play in one.plays():
        if "settings" not in play.document:
            try:
                validate_run(play.document)
            except SpecError as error:
                raise CannotChoose(f"{play.title}: {error}") from None
