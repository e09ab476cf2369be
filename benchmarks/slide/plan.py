"""What `device` measures, the most important first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from benchmarks.slide.conditions import BATCH, FULL, PROBLEMS, REAL, SLIDE

Place = Literal["gpu", "cores"]
FIRST = 670_091
"""Labels whose batch of BATCH comes first: those of Amazon-670K, which the paper used."""
SMALLER = (100_000, 10_000)
OTHER_BATCHES = (2048, 32)
DWTA, ITEMS = "slide, dwta", "slide, per item"
LARGE = 512
"""Batch of curves."""
CURVES = (FULL, "in-batch", SLIDE, "random-active", "sampled, uniform")
CURVE_RATES = (0.05, 0.025)
SLIDE_TABLES: tuple[Hashed, ...] = (("dwta", 4, 100, 0.5), ("simhash", 9, 50, 0.5))
TRIED: tuple[tuple[float, Hashed], ...] = ((0.0821, ("dwta", 4, 100, 0.5)),)
"""Learning rates and tables that `compare` had no space for, and which find more of the best labels."""
TRAINED: tuple[tuple[Place, str], ...] = (
    ("gpu", FULL), ("cores", SLIDE), ("cores", FULL), ("gpu", "in-batch"), ("cores", "in-batch"),
)  # fmt: skip
ALSO_TRAINED: tuple[tuple[Place, str], ...] = (
    ("gpu", "sampled, uniform"), ("gpu", SLIDE), ("cores", "sampled, uniform"),
)  # fmt: skip
OUTPUTS = 3 << 30
"""Outputs of a step that the layer `full` may hold, float32 (12 GB, and some copies of it)."""


Hashed = tuple[str, int, int, float]
"""Family, hashes per table, tables, uniform share of the active set."""


@dataclass(frozen=True)
class Rate:
    """Samples per second of a layer at one size."""

    place: Place
    layer: str
    labels: int
    batch: int
    precision: Literal["fp32", "bf16"] = "fp32"
    weights: Literal["fp32", "bf16"] = "fp32"
    hashed: Hashed | None = None
    """Tables of `slide`, else those of the map; with them on the real records."""
    real: bool = False
    seconds: float = 0.4


@dataclass(frozen=True)
class Train:
    """A run to the target on the real records; with `lr` and tables of its own, else as `compare` has chosen."""

    place: Place
    layer: str
    seed: int
    batch: int = BATCH
    precision: Literal["fp32", "bf16"] = "fp32"
    lr: float | None = None
    hashed: Hashed | None = None
    limit: float = 30.0
    """Seconds on its clock after which it is given up."""
    labels: int = PROBLEMS[REAL].labels


@dataclass(frozen=True)
class Curve:
    """Precisions on the real records over several passes, with batches that suit a GPU."""

    place: Place
    layer: str
    lr: float
    hashed: Hashed | None = None
    seed: int = 0
    batch: int = LARGE
    precision: Literal["fp32", "bf16"] = "fp32"
    samples: int = 1 << 21
    """Four passes over the training part."""
    every: int = 1 << 17
    limit: float = 20.0
    """Seconds on its clock after which it ends."""
    labels: int = PROBLEMS[REAL].labels


@dataclass(frozen=True)
class Scale:
    """Rates of the kernels of hashing with 1, 2, 4, ... threads."""

    labels: int
    batch: int
    place: Place = "cores"
    seconds: float = 0.3


Cell = Rate | Train | Curve | Scale
PARTS = ("rates", "train", "curves", "threads")
BY_SAMPLES = "samples"
"""A part that only the command line names: curves of cores by samples alone, on a machine that others may use."""


def plan(largest: int = FIRST, parts: tuple[str, ...] = PARTS) -> Iterator[Cell]:
    """Yield all cells; `largest`: labels in the place of FIRST."""
    if BY_SAMPLES in parts:
        yield from by_samples()
    if "rates" in parts:
        yield from rates(largest, BATCH)
    if "train" in parts:
        yield from (Train(place, layer, 0) for place, layer in TRAINED)
        yield from (Train("cores", SLIDE, 0, lr=lr, hashed=hashed) for lr, hashed in TRIED)
    if "curves" in parts:
        yield from curves(0)
    if "threads" in parts:
        yield Scale(largest, BATCH)
    yield from _later(largest, parts)


def _later(largest: int, parts: tuple[str, ...]) -> Iterator[Cell]:
    """Yield what is measured if there is time for it."""
    if "curves" in parts:
        yield from curves(1)
    if "train" in parts:
        yield from (Train(place, layer, 0) for place, layer in ALSO_TRAINED)
        yield Train("gpu", FULL, 0, precision="bf16")
    if "rates" in parts:
        for batch in OTHER_BATCHES:
            yield from rates(largest, batch)
    if "train" in parts:
        for seed in (1, 2):
            yield from (Train(place, layer, seed) for place, layer in TRAINED)
            yield from (Train("cores", SLIDE, seed, lr=lr, hashed=hashed) for lr, hashed in TRIED)
        yield from larger()
    if "rates" in parts:
        yield from narrow(largest)
        for labels in SMALLER:
            if labels < largest:
                for batch in (BATCH, *OTHER_BATCHES):
                    yield from rates(labels, batch)
    if "threads" in parts:
        yield Scale(largest, 2048)


def rates(labels: int, batch: int) -> Iterator[Rate]:
    """Yield the layers of both places at one size."""
    fits = labels * batch <= OUTPUTS
    if fits:
        yield Rate("gpu", FULL, labels, batch)
        yield Rate("gpu", FULL, labels, batch, "bf16")
    for layer in (DWTA, ITEMS, SLIDE):
        yield Rate("cores", layer, labels, batch)
    for layer in ("sampled, uniform", "in-batch", "random-active", SLIDE):
        yield Rate("gpu", layer, labels, batch)
    for layer in ("sampled, uniform", "in-batch", "random-active"):
        yield Rate("cores", layer, labels, batch)
    if labels * batch <= OUTPUTS // 4:
        yield Rate("cores", FULL, labels, batch)


def narrow(labels: int) -> Iterator[Rate]:
    """Yield the cores with products and with weights in bf16."""
    yield Rate("cores", FULL, labels, BATCH, "bf16")
    for layer in (DWTA, "sampled, uniform"):
        yield Rate("cores", layer, labels, BATCH, weights="bf16")


def curves(turn: int) -> Iterator[Curve | Rate]:
    """Yield the curves of one learning rate, and the first time the rates of the cores at their batch."""
    lr = CURVE_RATES[turn]
    for layer in CURVES:
        for hashed in SLIDE_TABLES if layer == SLIDE else (None,):
            yield Curve("gpu", layer, lr, hashed)
            if not turn:
                yield Rate("cores", layer, PROBLEMS[REAL].labels, LARGE, hashed=hashed, real=True)


def by_samples() -> Iterator[Curve]:
    """Yield the curve of every layer on the cores, at one learning rate, the dearest layer first."""
    for layer in (FULL, "sampled, log-uniform", *CURVES[1:]):
        for hashed in SLIDE_TABLES if layer == SLIDE else (None,):
            yield Curve("cores", layer, CURVE_RATES[0], hashed, samples=1 << 20, every=1 << 16, limit=3600.0)


def larger() -> Iterator[Train]:
    """Yield trials of larger batches, with which a GPU computes faster: for both places, seeds of no result."""
    for batch, rate in ((512, 0.0821), (512, 0.2), (2048, 0.2), (2048, 0.5)):
        yield Train("gpu", FULL, 1000, batch, lr=rate)
        yield Train("gpu", "in-batch", 1000, batch, lr=rate)
        yield Train("cores", SLIDE, 1000, batch, lr=rate)
