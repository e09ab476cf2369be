"""The cells of the matrix in the order of execution; the most important claims get their data first."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal

from benchmarks.evidence.conditions import (
    BATCH,
    CLOCK,
    EVERY,
    HOLDING_SEEDS,
    MAX_SECONDS,
    METRIC,
    PLACES,
    TUNING_SEED,
    Place,
)
from benchmarks.evidence.matrix import Matrix, Stage
from benchmarks.evidence.methods import METHODS, Method
from benchmarks.evidence.paces import CHIP_DATA, PACES, Pace
from benchmarks.evidence.search import LADDER, Search, Trial, rate_of, search_that_holds

Kind = Literal["tuning", "target", "pace"]
PAPERS_COLLECTIVE = "tree"
"""Of every method that names no other one: the paper's."""
DATA_OF = {"mnist-lenet": {}, "cifar-alexnet": {"form": CHIP_DATA.removeprefix("cifar10-")}}
"""Parameters of the workloads: the chip is measured on the part of CIFAR-10 that every machine here has."""


def key_of(place: Place, document: dict[str, Any]) -> str:
    """Return the fingerprint of document, place and clock rule, which identifies a result."""
    there = {"world": place.world, "hosts": place.hosts, "rate": place.rate}
    text = json.dumps({"clock": CLOCK, "place": there, "document": _without_tree(document)}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _without_tree(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document as it was while a tree was the product's default, so that results keep their keys.

    Every run of the catalogue names its collective.
    """
    sent = document.get("communication")
    if sent is None or sent["collective"] != "tree":
        return document
    return document | {"communication": {name: value for name, value in sent.items() if name != "collective"}}


@dataclass(frozen=True)
class Cell:
    """One run: `rate` is that of the ladder, before the method's scale; `document` is the specification.

    `tuning` runs select a rate and are in no result; `target` runs are results.
    """

    kind: Kind
    place: Place
    label: str
    method: Method
    rate: float
    seed: int
    document: dict[str, Any]

    @cached_property
    def key(self) -> str:
        """Return what identifies a result."""
        return key_of(self.place, self.document)

    @property
    def title(self) -> str:
        """Return a title that identifies the cell."""
        what = "to choose a rate" if self.kind == "tuning" else f"seed {self.seed}"
        return f"{self.label}, {self.place.name}, rate {self.rate:g}, {what}"


def target_cell(matrix: Matrix, place: Place, method: Method, rate: float, seed: int) -> Cell:
    """Return one run of a method to the target, or to the end of its budget."""
    document = _document(method, matrix.precision, place, rate, seed)
    document = _within(document, matrix.samples, EVERY, matrix.target)
    kind: Kind = "tuning" if seed in (TUNING_SEED, *HOLDING_SEEDS) else "target"
    return Cell(kind, place, method.label, method, rate, seed, document)


@cache
def cell_of(matrix: Matrix, place: str, label: str, k: int, seed: int) -> Cell:
    """Return one run of a method of the tables at the rate `k` of the ladder."""
    return target_cell(matrix, PLACES[place], METHODS[label], rate_of(k), seed)


@cache
def pace_cell(matrix: Matrix, place: str, label: str, repeat: int) -> Cell:
    """Return one run of a fixed number of steps."""
    return _pace_cell(matrix, PLACES[place], PACES[label], repeat)


def _pace_cell(matrix: Matrix, place: Place, pace: Pace, repeat: int) -> Cell:
    document = _document(pace.method, matrix.precision, place, pace.rate, repeat, pace.workload)
    samples = min(pace.steps, matrix.steps or pace.steps) * BATCH * place.hosts
    document = _within(document, samples, samples, None)
    return Cell("pace", place, pace.label, pace.method, pace.rate, repeat, document)


def _document(
    method: Method, precision: str, place: Place, rate: float, seed: int, workload: str = "mnist-lenet"
) -> dict[str, Any]:
    """Return the document for the product (`hooke.run/1`) or a peer (`hooke.peer/1`), without limits."""
    workers, precision = place.hosts, method.precision or precision
    lr = float(f"{rate * method.scale(workers):.6g}")
    if method.peer:
        settings = {"method": method.name, "workers": workers, "seed": seed, "lr": lr, "batch": BATCH}
        settings |= {"momentum": method.momentum} if method.momentum else {}
        return {"schema": "hooke.peer/1", "settings": {**settings, **method.parameters, "precision": precision}}
    return {
        "schema": "hooke.run/1",
        "workload": {"name": workload, "parameters": DATA_OF[workload]},
        "algorithm": {"name": method.name, "parameters": {**method.parameters, "lr": lr}},
        "communication": {"collective": PAPERS_COLLECTIVE, **method.communication},
        "batch": BATCH,
        "workers": workers,
        "seed": seed,
        "world": "virtual" if place.world == "virtual" else "mpi",
        "virtual": place.constants if place.world == "virtual" else None,
        "compute": {"precision": precision},
        "checkpoint": "never",
    }


def _within(document: dict[str, Any], samples: int, every: int, target: float | None) -> dict[str, Any]:
    if "settings" in document:
        ends = {"samples": samples, "every": every, "target": target}
        return document | {"settings": document["settings"] | ends}
    real = document["world"] == "mpi"
    return document | {
        "budget": {"samples": samples, "max_seconds": MAX_SECONDS if real else None},
        "target": {"metric": METRIC, "value": target} if target is not None else None,
        "evaluation": {"every": every},
    }


def searched(matrix: Matrix, place: str, label: str, trials: Mapping[str, Trial]) -> Search:
    """Return the state of the search for a method's rate (`trials`: by key)."""
    own = METHODS[label].tuned_as or label
    by_seed = dict[int, dict[int, Trial]]()
    for seed in (TUNING_SEED, *HOLDING_SEEDS):
        keys = {k: cell_of(matrix, place, own, k, seed).key for k in LADDER}
        by_seed[seed] = {k: trials[key] for k, key in keys.items() if key in trials}
    return search_that_holds(by_seed, matrix.fixed_rate)


def cells(matrix: Matrix, trials: Mapping[str, Trial]) -> Iterator[Cell]:
    """Yield the cells that are known now, most important first; call it again after each run.

    For a search in progress this is the next rate; the reported seeds of a method follow after its search.
    """
    named = set[str]()
    for stage in matrix.stages:
        found = [_paces(matrix, stage)] if stage.paces else []
        found += [_towards(matrix, place, stage, trials) for place in stage.places if stage.methods]
        for cell in (cell for some in found for cell in some):
            if cell.key not in named:
                named.add(cell.key)
                yield cell


def _towards(matrix: Matrix, place: str, stage: Stage, trials: Mapping[str, Trial]) -> Iterator[Cell]:
    found = {label: searched(matrix, place, label, trials) for label in stage.methods}
    for label, state in found.items():
        own = METHODS[label].tuned_as or label
        for k in state.tried:
            for seed in (TUNING_SEED, *HOLDING_SEEDS):
                if (cell := cell_of(matrix, place, own, k, seed)).key in trials:
                    yield cell
        if state.following is not None:
            yield cell_of(matrix, place, own, state.following, state.seed)
    for seed in stage.seeds:
        for label, state in found.items():
            if state.over and state.best is not None:
                yield cell_of(matrix, place, label, state.best, seed)


def _paces(matrix: Matrix, stage: Stage) -> Iterator[Cell]:
    for repeat in stage.repeats:
        for place in stage.places:
            for label in stage.paces:
                if repeat in matrix.repeats(place, label):
                    yield pace_cell(matrix, place, label, repeat)
