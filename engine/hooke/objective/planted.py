"""Planted problems: sparse items whose labels can be predicted, of any size, from a seed.

Every label has a signature of features. An item draws labels by Zipf's law; it has a random part of the
signature of each, and random features that mean nothing. Values are tf-idf weights, L2-normalised.
"""

from __future__ import annotations

import functools
import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hooke.errors import ArgumentError
from hooke.objective.bags import Bags, Csr, normalised, starts_of

CHUNK = 1 << 15
"""Items that are drawn together, by a generator of their own."""
TRAIN, TEST, SIGNATURES = range(3)
MOST_IDS = (1 << 31) - 1


@dataclass(frozen=True)
class _Drawn:
    """Items before they have values."""

    features: Csr
    occurrences: NDArray[np.int64]
    """Number of times that an item has each of its features, (nnz,)."""
    labels: Csr


_MAKING = threading.Lock()


@dataclass(frozen=True)
class Planted:
    """A planted problem. Raises ArgumentError for sizes that contradict each other.

    Label l has frequency rank l: it is drawn with a probability proportional to (l + 1)^-zipf, so that ids are in
    the order of falling frequency, as log-uniform sampling assumes.
    """

    labels: int
    features: int
    points: int
    """Number of training items; the test part has a tenth as many, at least one."""
    labels_per_item: float = 4.0
    """Mean number of labels that an item draws: 1 + Poisson. Labels drawn twice count once."""
    signature: int = 16
    """Number of features of a label."""
    noise: float = 8.0
    """Mean number of features that are drawn without regard to labels, uniformly: Poisson."""
    zipf: float = 1.0
    """Exponent of the frequencies of labels; 0 is uniform."""
    kept: float = 0.5
    """Probability that an item has a feature of the signature of its label; of each label it has at least one."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.signature <= self.features <= MOST_IDS:
            raise ArgumentError(
                f"a signature of {self.signature} of {self.features} features is impossible: expected "
                f"1 <= signature <= features <= {MOST_IDS}"
            )
        if not (1 <= self.labels <= MOST_IDS and self.points >= 1 and self.seed >= 0):
            raise ArgumentError(
                f"{self.labels} labels, {self.points} points, seed {self.seed}: expected at least one label and "
                "point, and a seed of 0 or more"
            )
        if not (self.labels_per_item >= 1 and self.noise >= 0 and self.zipf >= 0 and 0 < self.kept <= 1):
            raise ArgumentError(
                f"labels_per_item={self.labels_per_item} noise={self.noise} zipf={self.zipf} kept={self.kept}: "
                "expected labels_per_item >= 1, noise >= 0, zipf >= 0, 0 < kept <= 1"
            )

    def signatures(self) -> NDArray[np.int32]:
        """Return the features of every label, (labels, signature), ascending and distinct in a row.

        The features are divided into `signature` intervals of about one size; a label has one feature of each.
        """
        edges = np.arange(self.signature + 1) * self.features // self.signature
        low, width = edges[:-1], np.diff(edges)
        random = np.random.default_rng([self.seed, SIGNATURES])
        place = random.random((self.labels, self.signature), dtype=np.float32)
        place *= width.astype(np.float32)
        found = place.astype(np.int32)
        np.minimum(found, (width - 1).astype(np.int32), out=found)  # rounding in float32
        found += low.astype(np.int32)
        return found

    def popularity(self) -> NDArray[np.float64]:
        """Return the probability with which each label is drawn, (labels,)."""
        weights: NDArray[np.float64] = np.arange(1, self.labels + 1, dtype=np.float64) ** -self.zipf
        weights /= weights.sum()
        return weights

    def parts(self) -> tuple[Bags, Bags]:
        """Return the training and the test part; document frequencies are those of the training part."""
        signatures = self.signatures()
        below = np.cumsum(self.popularity())
        below[-1] = 1.0
        tests = max(1, self.points // 10)
        drawn = {
            part: [
                self._draw(
                    np.random.default_rng([self.seed, part, begin]), min(CHUNK, count - begin), signatures, below
                )
                for begin in range(0, count, CHUNK)
            ]
            for part, count in ((TRAIN, self.points), (TEST, tests))
        }
        frequency = np.zeros(self.features, dtype=np.int64)
        for chunk in drawn[TRAIN]:
            frequency += np.bincount(chunk.features.ids, minlength=self.features)
        rarity = np.log((1 + self.points) / (1 + frequency)) + 1
        return self._part(drawn[TRAIN], rarity), self._part(drawn[TEST], rarity)

    def _draw(
        self, random: np.random.Generator, count: int, signatures: NDArray[np.int32], below: NDArray[np.float64]
    ) -> _Drawn:
        item = np.repeat(np.arange(count), 1 + random.poisson(self.labels_per_item - 1, count))
        label = np.searchsorted(below, random.random(len(item)), side="right")
        item, label = np.divmod(np.unique(item * self.labels + label), self.labels)
        kept = random.random((len(label), self.signature), dtype=np.float32) < self.kept
        kept[np.arange(len(label)), random.integers(0, self.signature, len(label))] = True
        meant = np.repeat(item, kept.sum(axis=1)) * self.features + signatures[label][kept]
        stray = np.repeat(np.arange(count), random.poisson(self.noise, count))
        stray = stray * self.features + random.integers(0, self.features, len(stray))
        keys, occurrences = np.unique(np.concatenate([meant, stray]), return_counts=True)
        owner, feature = np.divmod(keys, self.features)
        return _Drawn(
            Csr(_starts(owner, count), feature.astype(np.int32)),
            occurrences,
            Csr(_starts(item, count), label.astype(np.int32)),
        )

    def _part(self, drawn: list[_Drawn], rarity: NDArray[np.float64]) -> Bags:
        values = []
        for chunk in drawn:
            rows = chunk.features
            weights = (1 + np.log(chunk.occurrences)) * rarity[rows.ids]
            values.append(normalised(rows.starts, weights))
        features, labels = [chunk.features for chunk in drawn], [chunk.labels for chunk in drawn]
        return Bags(
            Csr(_joined(features), np.concatenate([rows.ids for rows in features]), np.concatenate(values)),
            Csr(_joined(labels), np.concatenate([rows.ids for rows in labels])),
            self.features,
            self.labels,
        )


def _starts(owners: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    return starts_of(np.bincount(owners, minlength=count))


def _joined(rows: list[Csr]) -> NDArray[np.int64]:
    return starts_of(np.concatenate([each.counts for each in rows]))


def shared_parts(problem: Planted) -> tuple[Bags, Bags]:
    """Return the parts of a problem, made once for all ranks that are threads of this process: to be read only."""
    with _MAKING:
        return _made(problem)


@functools.lru_cache(maxsize=1)
def _made(problem: Planted) -> tuple[Bags, Bags]:
    return problem.parts()
