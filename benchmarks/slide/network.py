"""The network that is measured, and planted batches for it: every label has twelve features of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
from hooke.hashing import rows
from hooke.hashing.active import Assembler
from hooke.hashing.drawn import train
from hooke.hashing.entries import by_row
from hooke.hashing.family import Family
from hooke.hashing.lists import Lists
from hooke.hashing.row_optimizer import RowOptimizer
from hooke.hashing.tables import Tables
from hooke.hashing.threads import Threads
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Taken = tuple[NDArray[Any], NDArray[Any], Callable[[], int]]
"""Of a step: gradient of the hidden vectors, sizes of the active sets, what counts the different rows."""
Batch = tuple[Lists, Floats, Lists]
Timed = Callable[[str], AbstractContextManager[None]]


@dataclass(frozen=True)
class Settings:
    """Sizes; see the options of the command."""

    labels: int
    features: int
    hidden: int
    batch: int
    nnz: int
    positives: int
    per_table: int
    tables: int
    limit: int
    uniform: int
    least: int
    groups: int
    threads: int
    family: str
    strategy: str


def batches(settings: Settings, number: int) -> Iterator[Batch]:
    """Yield batches whose labels have a heavy-tailed distribution."""
    random, b, s = np.random.default_rng(0), settings.batch, settings
    for _ in range(number):
        draws = random.pareto(1.2, (b, s.positives)) * s.labels / 200
        labels = np.minimum(draws.astype(np.int64), s.labels - 1)
        own = (labels[:, :, None] * 7919 + np.arange(12) * 104729) % s.features
        features = np.concatenate([own.reshape(b, -1), random.integers(0, s.features, (b, s.nnz))], axis=1)[
            :, : s.nnz
        ]
        values = np.full(features.size, 8 / np.sqrt(s.nnz), np.float32)
        yield (
            Lists(np.arange(0, features.size + 1, s.nnz), features.ravel().astype(np.int32)),
            values,
            Lists(np.arange(0, labels.size + 1, s.positives), labels.ravel().astype(np.int32)),
        )


LISTS, DRAWN, HOGWILD = "lists", "drawn", "hogwild"
"""Ways to take a step: over the list of every sample; with the draw that all share as a matrix; over lists, where
threads step the rows of the output layer without locks while others read them, for SGD alone."""


class Network:
    """Features -> rectified hidden vector -> softmax over active labels, without biases."""

    def __init__(self, settings: Settings, family: Family, way: str = LISTS) -> None:
        self.way = way
        random = np.random.default_rng(1)
        self.settings, self.family, self.threads = settings, family, Threads(settings.threads)
        self.w1 = 0.01 * random.standard_normal((settings.features, settings.hidden), np.float32)
        self.w2 = 0.01 * random.standard_normal((settings.labels, settings.hidden), np.float32)
        self.zero = np.zeros(settings.hidden, np.float32)
        self.tables = Tables(family.tables, family.bits, seed=1)
        cap = settings.positives + settings.uniform + settings.limit
        self.assembler = Assembler(
            settings.labels, max(cap, settings.least), settings.uniform, settings.least, settings.groups
        )
        self.rebuild()

    def rebuild(self) -> None:
        self.tables.build_from(self.family, self.w2, self.threads)

    def step(
        self, step: int, batch: Batch, optimizers: list[RowOptimizer], part: Timed, touched: NDArray[np.uint8]
    ) -> tuple[NDArray[Any], Callable[[], int]]:
        """Take one step; return the sizes of the active sets and what counts the different rows."""
        (inputs, values, labels), s, threads = batch, self.settings, self.threads
        with part("hidden"):
            h = rows.hidden(inputs, values, self.w1, self.zero, threads)
        with part("hashing"):
            codes = self.family.codes(h, threads)
        with part("query"):
            candidates = self.tables.query(codes, s.strategy, s.limit, step=step, threads=threads)  # type: ignore[arg-type]
        take = self._of_draw if self.way == DRAWN else self._of_lists
        gradient, sizes, distinct = take(step, labels, candidates, h, optimizers[0], part, touched)
        with part("input rows"):
            entries = by_row(inputs, values, s.features, threads)
            optimizers[1].step(entries, gradient * (h > 0), self.w1, None, threads)
        return sizes, distinct

    def _of_lists(
        self, step: int, labels: Lists, candidates: Lists, h: Floats, optimizer: RowOptimizer, part: Timed,
        touched: NDArray[np.uint8],
    ) -> Taken:  # fmt: skip
        with part("assembly"):
            active = self.assembler.per_sample(step, labels, candidates, self.threads)
        rate = optimizer.rate if self.way == HOGWILD else 0.0
        with part("softmax"):
            output = rows.softmax(active, h, self.w2, hogwild_rate=rate, threads=self.threads)
        if self.way == HOGWILD:
            return output.gradient, active.lists.sizes, lambda: len(np.unique(active.lists.ids))
        with part("sort"):
            entries = by_row(active.lists, output.delta, self.settings.labels, self.threads)
        with part("output rows"):
            optimizer.step(entries, h, self.w2, None, self.threads, touched)
        return output.gradient, active.lists.sizes, lambda: int(entries.distinct.sum())

    def _of_draw(
        self, step: int, labels: Lists, candidates: Lists, h: Floats, optimizer: RowOptimizer, part: Timed,
        touched: NDArray[np.uint8],
    ) -> Taken:  # fmt: skip
        with part("assembly"):
            sets = self.assembler.drawn(step, labels, candidates, self.threads)
        with part("softmax, output rows"):
            output = train(sets, h, self.w2, optimizer, threads=self.threads, touched=touched)
        return output.gradient, sets.sizes, lambda: len(sets.drawn) + len(np.unique(sets.own.lists.ids))
