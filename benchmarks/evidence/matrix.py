"""The stages of the measurements in the order of execution, most important first.

A stage is a few methods at one place, with runs to the target: first the search for each method's rate, then the
reported seeds, seed by seed, so that the runs of a pair follow each other. Or it is paces at some places.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from benchmarks.evidence.conditions import (
    CLAIM_SEEDS,
    COSTS,
    PARTS,
    SAMPLES,
    SCALING,
    SEEDS,
    SLOWER,
    TARGET,
    Precision,
)
from benchmarks.evidence.methods import (
    BEST,
    CO_DESIGN,
    DDP_OVERLAP,
    EASGD3,
    LADDER,
    METHODS,
    ORIGINAL,
    PAIRS,
    RIVALS,
    Method,
    seldom,
)
from benchmarks.evidence.paces import CHIP_DATA, OFF, OFF_NESTEROV, PACES, RUNGS, chip, rung
from benchmarks.evidence.search import LEAST_TRIED


@dataclass(frozen=True)
class Stage:
    """A group of runs: of `methods` at one place for `seeds`, or of `paces` at `places`."""

    places: tuple[str, ...]
    methods: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    paces: tuple[str, ...] = ()
    repeats: tuple[int, ...] = ()


@dataclass(frozen=True)
class Matrix:
    """All stages, and their common settings."""

    stages: tuple[Stage, ...]
    target: float = TARGET
    samples: int = SAMPLES
    steps: int | None = None
    """Steps of every pace, instead of its own number."""
    fixed_rate: bool = False
    """One rate for all methods, without a search: a quick look that allows no conclusions."""
    quick: bool = False
    precision: Precision = "bf16"
    """Precision of forward and backward unless a label says otherwise: the faster one here, also for baselines."""

    def __hash__(self) -> int:
        """Return a hash of a few fields: cells are cached by matrix, and hashing all stages takes long."""
        return hash((self.samples, self.target, self.quick, self.precision, len(self.stages)))

    @property
    def places(self) -> tuple[str, ...]:
        """Return the places of runs to the target."""
        return tuple(dict.fromkeys(place for stage in self.stages if stage.methods for place in stage.places))

    def at(self, place: str) -> tuple[str, ...]:
        """Return the methods with runs to the target at a place, in the order of the tables."""
        there = {label for stage in self.stages if place in stage.places for label in stage.methods}
        return tuple(label for label in METHODS if label in there)

    def seeds(self, place: str, label: str) -> tuple[int, ...]:
        """Return the reported seeds of a method at a place."""
        stages = [stage for stage in self.stages if place in stage.places and label in stage.methods]
        return tuple(sorted({seed for stage in stages for seed in stage.seeds}))

    def repeats(self, place: str, label: str) -> tuple[int, ...]:
        """Return the repeats of a pace at a place."""
        stages = [stage for stage in self.stages if place in stage.places and label in stage.paces]
        own = PACES[label].repeats if place in PACES[label].places else 0
        return tuple(sorted({n for stage in stages for n in stage.repeats if n < own}))

    @property
    def paces(self) -> tuple[str, ...]:
        """Return the paces of all places."""
        return tuple(dict.fromkeys(label for stage in self.stages for label in stage.paces))

    @property
    def least(self) -> int:
        """Return the least number of runs; a search may need more than its minimum."""
        searched = 1 if self.fixed_rate else LEAST_TRIED
        found = 0
        for place in self.places:
            found += sum(searched for label in self.at(place) if not METHODS[label].tuned_as)
            found += sum(len(self.seeds(place, label)) for label in self.at(place))
        where = {place for stage in self.stages for place in stage.places}
        return found + sum(len(self.repeats(place, label)) for place in where for label in self.paces)


def _labels(*methods: Method) -> tuple[str, ...]:
    return tuple(dict.fromkeys(method.label for method in methods))


FEW, ALL = tuple(range(SEEDS)), tuple(range(CLAIM_SEEDS))
"""Seeds. After correction for the number of comparisons on the page, three seeds would show almost nothing."""
LADDER_LABELS = _labels(*LADDER)
PAIR_LABELS = [_labels(*pair, *map(seldom, pair)) for pair in PAIRS]
RUNG_LABELS = tuple(map(rung, RUNGS))
COST_PLACES, SLOWER_PLACES = tuple(p.name for p in COSTS), tuple(p.name for p in SLOWER)
CHIPS = tuple(chip(place.hosts) for place in PARTS)
ENDS = ("2-hosts", "8-hosts")
WIRE = ("Sync EASGD3, halving", "Sync EASGD3, halving, pipelined")
TRAINED = ("Sync EASGD3", OFF, "Sync EASGD3, per layer")
ALONE = ("Hooke, bf16", "plain PyTorch, bf16", "Hooke, fp32", "plain PyTorch, fp32")
FULL = Matrix(
    (
        Stage(("8-hosts",), LADDER_LABELS, ALL),
        Stage(COST_PLACES, paces=RUNG_LABELS, repeats=FEW[:1]),
        Stage(("2-hosts",), LADDER_LABELS, ALL),
        *(Stage(("8-hosts",), labels, ALL) for labels in PAIR_LABELS),
        Stage(ENDS, paces=TRAINED, repeats=FEW),
        Stage((*SLOWER_PLACES, *COST_PLACES), paces=RUNG_LABELS, repeats=FEW),
        Stage(tuple(place.name for place in PARTS), paces=CHIPS, repeats=FEW),
        *(Stage(("2-hosts",), labels, ALL) for labels in PAIR_LABELS),
        Stage(("8-hosts",), _labels(BEST, *RIVALS), FEW),
        Stage(("8-hosts",), _labels(*CO_DESIGN), FEW),
        Stage(("2-hosts",), _labels(*CO_DESIGN), FEW),
        Stage(SCALING, paces=("Sync EASGD3", OFF, BEST.label, OFF_NESTEROV), repeats=FEW),
        Stage(ENDS, paces=WIRE, repeats=FEW),
        Stage(("here",), paces=ALONE, repeats=tuple(range(5))),
    )
)
QUICK = Matrix(
    (
        Stage(("2-hosts",), _labels(ORIGINAL, EASGD3, BEST, DDP_OVERLAP), (0,)),
        Stage(("link-1g", "copy-3-of-40g"), paces=RUNG_LABELS, repeats=(0,)),
        Stage(("2-hosts",), paces=("Sync EASGD3", OFF), repeats=(0,)),
        Stage(("here",), paces=ALONE[:2], repeats=(0,)),
    ),
    target=0.94,
    samples=32_000,
    steps=100,
    fixed_rate=True,
    quick=True,
)


def without_root(matrix: Matrix) -> Matrix:
    """Return the part of a matrix that needs no emulated hosts: virtual time, and one machine."""
    stages = list[Stage]()
    for stage in matrix.stages:
        if stage.paces:
            places = tuple(p for p in stage.places if p not in (*SCALING, *SLOWER_PLACES))
            stages += [replace(stage, places=places)] if places else []
        elif stage.places == matrix.places[:1]:
            methods = tuple(label for label in stage.methods if not METHODS[label].peer)
            stages += [replace(stage, places=("virtual",), methods=methods)]
    return replace(matrix, stages=tuple(stages))


def without_data(matrix: Matrix, folders: frozenset[str]) -> Matrix:
    """Return a matrix without the runs whose data set is in no folder of HOOKE_DATA."""
    if CHIP_DATA in folders:
        return matrix
    stages = (
        replace(stage, paces=tuple(label for label in stage.paces if label not in CHIPS))
        for stage in matrix.stages
    )
    return replace(matrix, stages=tuple(stage for stage in stages if stage.paces or stage.methods))


def without_bf16(matrix: Matrix) -> Matrix:
    """Return a matrix in fp32 without duplicates, for a processor on which bf16 is not faster."""

    in_fp32 = dict(zip(ALONE[:2], ALONE[2:], strict=True))

    def once(labels: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(in_fp32.get(label, label) for label in labels))

    stages = tuple(replace(stage, paces=once(stage.paces)) for stage in matrix.stages)
    return replace(matrix, stages=stages, precision="fp32")
