"""The output layer of SLIDE: active are the labels whose hash codes collide with those of the hidden units."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hooke.comm.elements import bits, is_bf16
from hooke.hashing.active import Assembler
from hooke.hashing.changed import Sums, sums_of
from hooke.hashing.family import Family
from hooke.hashing.half_weights import Widened
from hooke.hashing.lists import Lists
from hooke.hashing.schedule import RebuildSchedule
from hooke.hashing.tables import Strategy, Tables
from hooke.hashing.threads import ONE, Threads
from hooke.objective.active_labels import Active, Labels
from hooke.objective.wide_metrics import NO_TABLES

STATE = "slide."
"""Beginning of the names of its state."""
ROUNDS = 2
"""Of the search for groups of items that ask the tables together."""
_SMALLEST = np.float32(1e-12)
_ORDER = 9
"""Purpose of a random stream, part of its seed: the order in which retrieved labels are taken up to the cap."""


class Rebuilt:
    """Hash tables of the rows of W2, rebuilt at the steps of `rebuilds`.

    They are in main memory, wherever the weights are: a rebuild copies these, and a query the hidden units.
    They are part of the state, so that a resumed run has those of an undisturbed one. The number of threads
    changes nothing but the time that they take.

    A rebuild hashes all rows or, with `changed_only`, those whose bits have changed since the rebuild before, by
    whomever: steps, exchanges with other workers, or a merge. The tables are the same, whatever the policy of full
    buckets. That takes 8 bytes per row, and reading all rows once.
    """

    strategy: Strategy
    """Which labels of its buckets a query takes; see `Tables.query`."""
    times = 2
    """Tables in which a label has to be found, with the strategy `threshold`."""
    changed_only = False

    def __init__(
        self,
        family: Family,
        tables: Tables,
        assembler: Assembler,
        rebuilds: RebuildSchedule,
        threads: Threads = ONE,
    ) -> None:
        """`assembler`: completes what is retrieved to an active set."""
        self.family, self.tables, self.threads = family, tables, threads
        self._assembler, self._rebuilds, self._steps = assembler, rebuilds, 0
        self._builds, self._seconds, self._hashed = 0, 0.0, 0
        self._sums: Sums | None = None
        self._ready = -1
        """The step for which `prepare` has built the tables."""

    def build_bytes(self, weights: Tensor) -> int:
        """Return the bytes that a rebuild before the next step moves, 0 if none is due.

        It reads these rows once and writes the number of each row, 4 bytes, to every table.
        """
        due = self.tables.rows != len(weights) or self._rebuilds.is_rebuild(self._steps)
        if not due or self._ready == self._steps:
            return 0
        return weights.numel() * weights.element_size() + 4 * self.tables.tables * len(weights)

    def prepare(self, weights: Tensor) -> None:
        """Rebuild the tables of these rows, (C, d), if it is time; the next step then does not."""
        if self.build_bytes(weights):
            self.rebuild(weights)
            self._ready = self._steps

    def advance(self, weights: Tensor) -> int:
        """Begin a step with these rows, (C, d): rebuild the tables if it is time; return its number, from 0."""
        self.prepare(weights)
        self._steps += 1
        return self._steps - 1

    def rebuild(self, weights: Tensor) -> None:
        """Make the tables those of these rows, (C, d)."""
        began = time.perf_counter()
        rows: Widened | NDArray[np.float32]
        words: NDArray[Any] = bits(weights) if is_bf16(weights) else weights.cpu().numpy().view(np.uint32)
        rows = Widened(words) if is_bf16(weights) else words.view(np.float32)
        changed = self._changed(words) if self.changed_only else None
        if changed is None:
            self.tables.build_from(self.family, rows, self.threads)
        else:
            self.tables.update_from(self.family, rows, changed, self.threads, last=False)
        self._builds += 1
        self._hashed += len(weights) if changed is None else len(changed)
        self._seconds += time.perf_counter() - began

    def _changed(self, words: NDArray[Any]) -> NDArray[np.int64] | None:
        """Return the rows that are not those of the rebuild before; None: there was none."""
        before, self._sums = self._sums, sums_of(words, self.threads)
        return None if before is None else np.flatnonzero(before != self._sums)

    def table_sums(self) -> tuple[float, ...]:
        """Return 1, share of labels stored, largest and mean bucket, builds, seconds, share of rows hashed.

        The last one is a mean over builds. All are zero without tables.
        """
        if not (ids := self.tables.tables * self.tables.rows):
            return NO_TABLES
        load, share = self.tables.statistics(), self._hashed / max(1, self._builds * self.tables.rows)
        stored = 1 - load.dropped / ids
        return 1.0, stored, float(load.most), load.mean, float(self._builds), self._seconds, share

    def recalled(self, hidden: NDArray[np.float32], top: NDArray[np.int64]) -> tuple[int, int]:
        """Return how many of the labels `top` (b, k) are in a bucket of their item, and how many there are."""
        rows = self.tables.rows
        if not rows:
            return 0, 0
        found = self.tables.query(self.family.codes(hidden, self.threads), "union", threads=self.threads)
        there, hits = np.zeros(rows, dtype=bool), 0
        for item, best in enumerate(top):  # sorting all ids of a batch would take most of an evaluation
            own = found.of(item)
            there[own] = True
            hits += int(there[best].sum())
            there[own] = False
        return hits, top.size

    def state(self) -> dict[str, Any]:
        """Return the number of steps, the state of the tables, and sums of the rows that they are of."""
        held = {f"{STATE}{name}": array for name, array in self.tables.state().items()}
        if self.changed_only:
            sums = np.empty(0, np.uint64) if self._sums is None else self._sums
            held[f"{STATE}sums"] = sums.view(np.int64).copy()
        return held | {f"{STATE}steps": np.array([self._steps], dtype=np.int64)}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from the result of `state`."""
        held = {name.removeprefix(STATE): np.asarray(array) for name, array in state.items()}
        self._steps, self._ready = int(held.pop("steps")[0]), -1
        if (sums := held.pop("sums", None)) is not None:
            self._sums = sums.view(np.uint64) if len(sums) else None
        if held["codes"].shape[1]:
            self.tables.restore(held, self.threads)


class Slide(Rebuilt):
    """Labels retrieved from hash tables of the rows of W2, for the batch as a whole (arXiv 1903.03129, section 3).

    The active set has the labels of the batch, a draw of uniform ones (`assembler`), and labels in the buckets of
    the hidden units of its items, by default those in most of them, up to the assembler's cap: none, where labels
    and draw exceed it. With `queries` > 0
    not every item asks the tables, but the mean directions of so many groups of similar ones.

    Readings: the paper retrieves a set for every item (`hooke.objective.item_sets`); here the batch has one, so
    that products are those of matrices. As in the paper the softmax is that of the active set, without correction.
    """

    strategy: Strategy = "top-k"
    queries = 0
    """Groups of items that ask together; 0: every item asks."""

    def choose(self, own: Labels, hidden: Tensor, weights: Tensor, random: np.random.Generator) -> Active:
        """Return the labels of the batch, uniform ones, and retrieved ones."""
        del random  # draws and tables have streams of their own
        step = self.advance(weights)
        asking = hidden.float().cpu().numpy()
        if 0 < self.queries < len(asking):
            asking = directions(asking, self.queries)
        room = max(len(asking), self._assembler.cap - self._assembler.uniform)
        codes = self.family.codes(asking, self.threads)
        found = self.tables.union_of_batch(codes, room, step, self.threads, self.strategy, self.times)
        drawn = np.random.default_rng((self._assembler.seed, _ORDER, step))
        found = drawn.permutation(found)  # up to the cap the first ones are taken, which had the lowest numbers
        labels = Lists(np.array([0, len(own)]), own.astype(np.int32))
        shared = self._assembler.shared(step, labels, found)
        return Active(torch.from_numpy(shared.ids.astype(np.int64)), retrieved=shared.retrieved)


def directions(vectors: NDArray[np.float32], groups: int) -> NDArray[np.float32]:
    """Return the mean directions of groups of vectors (n, d) with similar directions, (groups, d), of length 1.

    ROUNDS rounds of spherical k-means (Dhillon and Modha 2001), begun at every n/groups-th vector. Hash functions
    see directions only, so that lengths do not count. A group that no vector is nearest to keeps its direction.
    """
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), _SMALLEST)
    means: NDArray[np.float32] = unit[np.arange(groups) * len(unit) // groups]
    for _ in range(ROUNDS):
        nearest = (unit @ means.T).argmax(axis=1)
        sums = (np.arange(groups)[:, None] == nearest).astype(np.float32) @ unit
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        means = np.where(lengths > _SMALLEST, sums / np.maximum(lengths, _SMALLEST), means)
    return means
