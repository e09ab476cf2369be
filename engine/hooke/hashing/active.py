"""Active sets: the rows of the output layer that a sample, or a batch, trains."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from hooke.errors import ArgumentError
from hooke.hashing.active_kernels import assemble, assemble_own, seat
from hooke.hashing.family import Ints
from hooke.hashing.jit import key_of
from hooke.hashing.lists import Lists, Longs
from hooke.hashing.threads import ONE, Threads


@dataclass(frozen=True)
class ActiveSets:
    """The active set of every sample: a list of different rows whose first positives[i] ones are its labels."""

    lists: Lists
    positives: Longs


@dataclass(frozen=True)
class DrawnSets:
    """Active sets whose samples share a draw: of each sample the rows `drawn`, and those of its own list."""

    drawn: Ints
    """Different rows."""
    own: ActiveSets
    """The other rows of each sample; the first positives[i] ones are labels."""
    targets: Lists
    """The labels of each sample that are drawn, as places in `drawn`."""

    @property
    def sizes(self) -> Longs:
        """The number of active rows of each sample."""
        return self.own.lists.sizes + len(self.drawn)

    def of(self, sample: int) -> Ints:
        """Return the active rows of one sample."""
        return np.concatenate([self.drawn, self.own.lists.of(sample)])


@dataclass(frozen=True)
class SharedSet:
    """One active set for all samples of a batch."""

    ids: Ints
    """Different rows in ascending order."""
    labels: Lists
    """The different labels of each sample, as places in `ids`."""
    retrieved: int
    """How many of them are there as candidates alone: neither labels nor drawn."""


class Assembler:
    """Assembles active sets of rows of a layer with `labels` rows, as a function of (seed, step) and its inputs.

    Every set has all labels of its sample, a draw of `uniform` rows, candidates (as of hash tables) as far as
    `cap` allows, and, if it has fewer than `least` rows then, further uniform ones. Draws follow one another on
    random permutations of all rows, a new one for every pass: labels / (uniform * groups) steps use every row,
    whatever the tables return. Without this, rows that are in no bucket of a query are never trained as negatives.
    The samples of a batch are divided into `groups` that share a draw; few groups make
    few different rows, and steps fast.

    Draws are part of the sets whose labels they contain, too, so that a set may have less than `uniform` rows
    that are not labels.
    """

    def __init__(
        self, labels: int, cap: int, uniform: int, least: int = 0, groups: int = 1, seed: int = 0
    ) -> None:
        for name, value, low in (("labels", labels, 1), ("uniform", uniform, 0), ("groups", groups, 1)):
            if value < low:
                raise ArgumentError(f"{name} of active sets is {value}; it must be at least {low}")
        if not max(uniform, least, 0) <= cap:
            raise ArgumentError(f"the cap of active sets is {cap}, but uniform is {uniform} and least is {least}")
        if seed < 0 or least < 0:
            raise ArgumentError(f"seed is {seed} and least is {least}; both must be at least 0")
        self.labels, self.cap, self.uniform, self.least = labels, cap, min(uniform, labels), least
        self.groups, self.seed = groups, seed
        self._orders: OrderedDict[int, Ints] = OrderedDict()

    def draws(self, step: int, groups: int | None = None) -> Ints:
        """Return the uniform rows of each group at `step` (from 0), as (groups, uniform)."""
        groups = groups or self.groups
        size = groups * self.uniform
        places = np.arange(step * size, (step + 1) * size)
        rows = np.empty(size, np.int32)
        for number in range(step * size // self.labels, ((step + 1) * size - 1) // self.labels + 1):
            mine = places // self.labels == number
            rows[mine] = self._order(number)[places[mine] % self.labels]
        return rows.reshape(groups, self.uniform)

    def per_sample(
        self, step: int, labels: Lists, candidates: Lists | None = None, threads: Threads = ONE
    ) -> ActiveSets:
        """Return the active sets of a batch with these labels and candidates.

        Raises:
            ArgumentError: a sample has more labels than the cap leaves room for, or a label is out of range.
        """
        b = len(labels.starts) - 1
        candidates = Lists.empty(b) if candidates is None else candidates
        self._check(labels, candidates, b)
        draws, key = self.draws(step), key_of(self.seed, 7, step)
        rows = np.empty((b, self.cap), np.int32)
        sizes, positives = np.zeros(b, np.int64), np.zeros(b, np.int64)
        order, least = self._order(step * self.groups * self.uniform // self.labels), min(self.least, self.labels)

        def work(begin: int, end: int) -> None:
            assemble(
                begin, end, labels.starts, labels.ids, candidates.starts, candidates.ids, draws, order, least,
                key, rows, sizes, positives,
            )  # fmt: skip

        threads.over(b, work, 4)
        return ActiveSets(Lists.of_matrix(rows, sizes), positives)

    def drawn(
        self, step: int, labels: Lists, candidates: Lists | None = None, threads: Threads = ONE
    ) -> DrawnSets:
        """Return the same active sets as `per_sample` for one group, with their common draw apart."""
        if self.groups != 1:
            raise ArgumentError(f"samples of {self.groups} groups share no draw: it must be one group")
        b = len(labels.starts) - 1
        candidates = Lists.empty(b) if candidates is None else candidates
        self._check(labels, candidates, b)
        draw, key, least = self.draws(step).ravel(), key_of(self.seed, 7, step), min(self.least, self.labels)
        seats, drawn = np.empty(max(16, 4 << len(draw).bit_length()), np.int32), np.empty(len(draw), np.int32)
        drawn = drawn[: seat(draw, seats, drawn)]
        most = int(labels.sizes.max(initial=0))
        rows = np.empty((b, max(1, min(self.cap, self.labels) - len(drawn))), np.int32)
        targets = np.empty((b, max(1, most)), np.int32)
        sizes, positives, hits = (np.zeros(b, np.int64) for _ in range(3))
        order = self._order(step * self.uniform // self.labels)

        def work(begin: int, end: int) -> None:
            assemble_own(
                begin, end, labels.starts, labels.ids, candidates.starts, candidates.ids, drawn, seats, order,
                least, self.cap, key, rows, sizes, positives, targets, hits,
            )  # fmt: skip

        threads.over(b, work, 4)
        own = ActiveSets(Lists.of_matrix(rows, sizes), positives)
        return DrawnSets(drawn, own, Lists.of_matrix(targets, hits))

    def shared(self, step: int, labels: Lists, candidates: Ints | None = None) -> SharedSet:
        """Return one active set for a batch: all its labels, one draw, then candidates up to the cap.

        The cap is exceeded only if labels and draw alone exceed it. Candidates that come first are kept.
        """
        fixed = np.union1d(labels.ids, self.draws(step, 1).ravel() if self.uniform else labels.ids[:0])
        ids = fixed.astype(np.int32)
        if candidates is not None and len(ids) < self.cap:
            new = candidates[~np.isin(candidates, ids)]
            _, first = np.unique(new, return_index=True)
            ids = np.union1d(ids, new[np.sort(first)[: self.cap - len(ids)]]).astype(np.int32)
        b = len(labels.starts) - 1
        pairs = np.unique(np.repeat(np.arange(b), labels.sizes) * np.int64(self.labels) + labels.ids)
        starts = np.searchsorted(pairs, np.arange(b + 1) * np.int64(self.labels))
        places = np.searchsorted(ids, pairs % self.labels).astype(np.int32)
        return SharedSet(ids, Lists(starts, places), len(ids) - len(fixed))

    def _order(self, number: int) -> Ints:
        """Return the permutation of pass `number`; the last two are kept."""
        if number not in self._orders:
            order = np.arange(self.labels, dtype=np.int32)
            np.random.default_rng((self.seed, 8, number)).shuffle(order)
            self._orders[number] = order
            if len(self._orders) > 2:
                self._orders.popitem(last=False)
        return self._orders[number]

    def _check(self, labels: Lists, candidates: Lists, b: int) -> None:
        if len(candidates.starts) - 1 != b:
            raise ArgumentError(f"candidates of {len(candidates.starts) - 1} samples given for {b} samples")
        for name, ids in (("labels", labels.ids), ("candidates", candidates.ids)):
            if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < self.labels:
                raise ArgumentError(f"{name} are {ids.min()} to {ids.max()}; they must be in range({self.labels})")
        most = int(labels.sizes.max(initial=0))
        if most + self.uniform > self.cap and self.cap < self.labels:
            raise ArgumentError(
                f"sample {int(labels.sizes.argmax())} of the batch has {most} labels, which with {self.uniform} "
                f"uniform negatives exceed the cap of {self.cap} active rows: raise the cap"
            )
