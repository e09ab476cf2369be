"""The cells of the matrix, and in which order they are run: the most important claims get their data first."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from benchmarks.evidence.conditions import (
    BATCH,
    EVERY,
    FIRST_RATE,
    MAX_SECONDS,
    METHODS,
    NETWORK,
    PACES,
    PLACES,
    SCALING,
    Matrix,
    Method,
    Place,
)

ORDER = ("here", *SCALING)
Kind = Literal["target", "pace"]
Key = TypeVar("Key", float, str)


@dataclass(frozen=True)
class Cell:
    """One run: `rate` as the grid says it, before the method's scale; `document` is what is started."""

    kind: Kind
    place: Place
    label: str
    method: Method
    rate: float
    seed: int
    document: dict[str, Any]

    @property
    def key(self) -> str:
        """Return a fingerprint of what is run where: a result belongs to exactly one."""
        place = {"world": self.place.world, "hosts": self.place.hosts, "rate": self.place.rate}
        text = json.dumps({"place": place, "document": self.document}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def title(self) -> str:
        """Return what tells this cell from the others."""
        return f"{self.label}, {self.place.name}, rate {self.rate:g}, seed {self.seed}"


@dataclass(frozen=True)
class Score:
    """How a run towards the target went, as far as the choice of a rate needs it."""

    seconds: float | None
    accuracy: float


def target_cell(matrix: Matrix, place: Place, method: Method, rate: float, seed: int) -> Cell:
    """Return one run of a method to the target, or to the end of its budget."""
    document = _document(method, matrix.precision, place, rate, seed)
    document = _within(document, matrix.samples, EVERY, matrix.target)
    return Cell("target", place, method.label, method, rate, seed, document)


def pace_cells(matrix: Matrix) -> Iterator[Cell]:
    """Yield the runs of a fixed number of steps, so that what is compared is run one after the other."""
    found = []
    for number, label in enumerate(matrix.paces):
        pace = PACES[label]
        steps = matrix.steps or pace.steps
        for name in pace.places:
            for repeat in range(matrix.repeats or pace.repeats) if name in matrix.pace_places else ():
                place = PLACES[name]
                document = _document(pace.method, matrix.precision, place, pace.rate, repeat)
                samples = steps * BATCH * place.hosts
                document = _within(document, samples, samples, None)
                cell = Cell("pace", place, label, pace.method, pace.rate, repeat, document)
                found.append(((repeat, ORDER.index(name), number), cell))
    yield from (cell for _, cell in sorted(found, key=lambda pair: pair[0]))


def _document(method: Method, precision: str, place: Place, rate: float, seed: int) -> dict[str, Any]:
    """Return what the product (`hooke.run/1`) or a peer (`hooke.peer/1`) is asked to do, without its ends."""
    workers, precision = place.hosts, method.precision or precision
    lr = float(f"{rate * method.scale(workers):.6g}")
    if method.peer:
        settings = {"method": method.name, "workers": workers, "seed": seed, "lr": lr, "batch": BATCH}
        settings |= {"momentum": method.momentum} if method.momentum else {}
        return {"schema": "hooke.peer/1", "settings": {**settings, "precision": precision}}
    return {
        "schema": "hooke.run/1",
        "workload": {"name": "mnist-lenet"},
        "algorithm": {"name": method.name, "parameters": {**method.parameters, "lr": lr}},
        "communication": dict(method.communication),
        "batch": BATCH,
        "workers": workers,
        "seed": seed,
        "world": "virtual" if place.world == "virtual" else "mpi",
        "virtual": NETWORK if place.world == "virtual" else None,
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
        "target": {"metric": "test_accuracy", "value": target} if target is not None else None,
        "evaluation": {"every": every},
    }


def best_of(scores: Mapping[Key, Score]) -> Key | None:
    """Return the rate, or method, that met the target soonest; where none did, that of the highest accuracy."""
    if not scores:
        return None
    met = {rate: score.seconds for rate, score in scores.items() if score.seconds is not None}
    if met:
        return min(met, key=lambda one: met[one])
    return max(scores, key=lambda one: scores[one].accuracy)


def first_rate(matrix: Matrix) -> float:
    """Return the rate that is tried first: the middle of the grid."""
    return FIRST_RATE if FIRST_RATE in matrix.rates else matrix.rates[len(matrix.rates) // 2]


def count(matrix: Matrix) -> int:
    """Return how many runs the whole matrix has; further seeds only at each method's best rate."""
    each = len(matrix.rates) + matrix.seeds - 1
    methods = sum(len(matrix.at(place)) for place in matrix.places)
    return methods * each + sum(1 for _ in pace_cells(matrix))


def chosen(matrix: Matrix, place: str, method: Method, scores: Mapping[str, Score]) -> float | None:
    """Return the best rate of a method's grid as far as its first seeds have been run (`scores`: by key)."""
    grid = {
        rate: scores[key]
        for rate in matrix.rates
        if (key := target_cell(matrix, PLACES[place], method, rate, 0).key) in scores
    }
    return best_of(grid)


def cells(matrix: Matrix, scores: Mapping[str, Score]) -> Iterator[Cell]:
    """Yield the cells that can be named now, first things first.

    Further seeds are run at a method's best rate, which is known when its grid is: ask again after each run.
    Order: the headline methods at the first place at the middle rate; paces; the others at the middle rate, place
    by place; then, headline methods first, grids and further seeds.
    """
    head = [METHODS[label] for label in matrix.methods if METHODS[label].headline]
    rest = [METHODS[label] for label in matrix.methods if not METHODS[label].headline]
    places, paces = matrix.places, list(pace_cells(matrix))
    yield from _firsts(matrix, places[:1], head)
    yield from (cell for cell in paces if cell.seed == 0 or cell.place.world == "here")
    yield from _firsts(matrix, places[:1], rest)
    yield from _firsts(matrix, places[1:], head)
    for methods in (head, rest):
        if methods is rest:
            yield from (cell for cell in paces if not (cell.seed == 0 or cell.place.world == "here"))
            yield from _firsts(matrix, places[1:], rest)
        for place in places:
            yield from _grids(matrix, place, methods)
            yield from _further(matrix, place, methods, scores)


def _firsts(matrix: Matrix, places: Iterable[str], methods: Iterable[Method]) -> Iterator[Cell]:
    for place in places:
        for method in _at(matrix, place, methods):
            yield target_cell(matrix, PLACES[place], method, first_rate(matrix), 0)


def _at(matrix: Matrix, place: str, methods: Iterable[Method]) -> list[Method]:
    return [method for method in methods if method.label in matrix.at(place)]


def _grids(matrix: Matrix, place: str, methods: Iterable[Method]) -> Iterator[Cell]:
    for method in _at(matrix, place, methods):
        for rate in matrix.rates:
            if rate != first_rate(matrix):
                yield target_cell(matrix, PLACES[place], method, rate, 0)


def _further(matrix: Matrix, place: str, methods: list[Method], scores: Mapping[str, Score]) -> Iterator[Cell]:
    for seed in range(1, matrix.seeds):
        for method in _at(matrix, place, methods):
            grid = [target_cell(matrix, PLACES[place], method, rate, 0).key for rate in matrix.rates]
            if all(key in scores for key in grid):
                rate = chosen(matrix, place, method, scores)
                if rate is not None:
                    yield target_cell(matrix, PLACES[place], method, rate, seed)
