"""Further metrics of a network with a wide output layer: rankings, active sets, hash tables."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hooke.catalogue.workload import Score
from hooke.objective.bags import BagPart, Bags
from hooke.objective.ranking import DEPTH, Ranked, inverse_propensities, ranked
from hooke.spec.further import FurtherMetric

TOP = DEPTH
"""Labels with the largest outputs of an item, of which the recall of hash tables is measured."""
_WEIGHTED = "hits weighted by inverse propensities of labels (Jain et al. 2016, a = 0.55, b = 1.5)"

RANKING = (
    *(
        FurtherMetric(
            name=f"p_at_{k}",
            title=f"P@{k}",
            unit="share",
            description=f"Precision at {k}, over all labels.",
            better="higher",
        )
        for k in (3, 5)
    ),
    *(
        FurtherMetric(
            name=f"psp_at_{k}",
            title=f"PSP@{k}",
            unit="share",
            description=f"Precision at {k}, {_WEIGHTED}.",
            better="higher",
        )
        for k in (1, 3, 5)
    ),
)
TRAINING = (
    FurtherMetric(
        name="active_labels",
        title="Active labels",
        unit="labels",
        description="Labels whose outputs a step computes, mean over the steps since the previous evaluation.",
    ),
    FurtherMetric(
        name="active_share",
        title="Active share",
        unit="share",
        description="Active labels as a share of all labels.",
    ),
)
TABLES = (
    FurtherMetric(
        name="retrieved_labels",
        title="Retrieved labels",
        unit="labels",
        description="Of the active labels those that hash tables alone have given, mean over the steps since the "
        "previous evaluation; 0 where the labels of a batch and the uniform share leave no room.",
    ),
    FurtherMetric(
        name="table_recall",
        title="Recall of the tables",
        unit="share",
        description=f"Share of an item's {TOP} labels with the largest outputs that are in one of its buckets; "
        "validation items.",
        better="higher",
    ),
    FurtherMetric(
        name="table_stored",
        title="Stored in the tables",
        unit="share",
        description="Share of the labels that their bucket has not dropped because it is full; mean over tables.",
        better="higher",
    ),
    FurtherMetric(
        name="bucket_largest",
        title="Largest bucket",
        unit="labels",
        description="Labels in the fullest bucket.",
    ),
    FurtherMetric(
        name="bucket_mean",
        title="Mean bucket",
        unit="labels",
        description="Mean number of labels in a bucket that is not empty.",
    ),
    FurtherMetric(
        name="table_builds",
        title="Builds of the tables",
        description="How often tables were built, the first time included; since the start of the attempt.",
    ),
    FurtherMetric(
        name="table_seconds",
        title="Building the tables",
        unit="s",
        description="Time of these builds, the phase `rebuild`; since the start of the attempt.",
        better="lower",
        measured=True,
    ),
    FurtherMetric(
        name="table_hashed",
        title="Rows hashed by a build",
        unit="share",
        description="Share of the labels, mean over the builds since the start of the attempt: 1, or with "
        "`rebuild: touched` of those that have changed.",
    ),
)
"""Means over the workers."""


@runtime_checkable
class Hashed(Protocol):
    """A layer with hash tables of the rows of W2."""

    def table_sums(self) -> tuple[float, ...]:
        """Return 1, share of labels stored, largest and mean bucket, builds, seconds, share of rows hashed.

        The last one is a mean over builds. All are zero without tables.
        """

    def recalled(self, hidden: NDArray[np.float32], top: NDArray[np.int64]) -> tuple[int, int]:
        """Return how many of the labels `top` (b, k) are in a bucket of their item, and how many there are.

        Both are 0 before the first build.
        """

    def build_bytes(self, weights: Tensor) -> int:
        """Return the bytes that a rebuild before the next step moves; 0: none is due."""

    def prepare(self, weights: Tensor) -> None:
        """Rebuild the tables if it is time; the next step then does not."""


NO_TABLES = (0.0,) * 7
OF_TABLES = [metric.name for metric in TABLES if metric.name not in ("retrieved_labels", "table_recall")]
"""What `Hashed.table_sums` returns behind its first number, by name."""


class WideMetrics:
    """The metrics of one rank of a network for the labels of `train`."""

    def __init__(self, train: BagPart) -> None:
        self._labels = train.label_count
        self._weights = np.ones(self._labels)
        if len(train) >= 3:
            self._weights = inverse_propensities(train.label_frequencies(), len(train))
        self._steps, self._active, self._retrieved = 0, 0.0, 0.0

    def declared(self, layer: object) -> tuple[FurtherMetric, ...]:
        """Return the metrics of a network with this output layer."""
        return (*RANKING, *TRAINING, *(TABLES if isinstance(layer, Hashed) else ()))

    def note(self, active: float, retrieved: float = 0.0) -> None:
        """Count a step with so many active and retrieved labels, in the mean over the items of its batch."""
        self._steps += 1
        self._active += active
        self._retrieved += retrieved

    def training_sums(self, layer: object) -> tuple[float, ...]:
        """Return steps, active and retrieved labels since the previous call, and the figures of the tables."""
        sums = float(self._steps), self._active, self._retrieved
        self._steps, self._active, self._retrieved = 0, 0.0, 0.0
        return (*sums, *(layer.table_sums() if isinstance(layer, Hashed) else NO_TABLES))

    def scoring(self, layer: object, recall: bool) -> Scoring:
        """Return an empty sum over items; `recall`: whether the layer's tables are queried, if it has any."""
        return Scoring(self._weights, layer if recall and isinstance(layer, Hashed) else None)

    def values(self, score: Score, training: tuple[float, ...]) -> dict[str, float]:
        """Return the metrics from the sums over all ranks."""
        hits, gained, possible, recalled = np.split(np.array(score.further), [2, 5, 8])
        found = {f"p_at_{k}": n / (k * score.count) for k, n in zip((3, 5), hits, strict=True) if score.count}
        weighted = zip((1, 3, 5), gained, possible, strict=True)
        found |= {f"psp_at_{k}": a / b for k, a, b in weighted if b}
        if recalled[1]:
            found["table_recall"] = recalled[0] / recalled[1]
        if training and training[0]:
            found["active_labels"] = training[1] / training[0]
            found["active_share"] = found["active_labels"] / self._labels
        if training and training[3]:
            if training[0]:
                found["retrieved_labels"] = training[2] / training[0]
            found |= {name: total / training[3] for name, total in zip(OF_TABLES, training[4:], strict=True)}
        return {name: float(value) for name, value in found.items()}


class Scoring:
    """Sums over the items of one evaluation."""

    def __init__(self, weights: NDArray[np.float64], layer: Hashed | None) -> None:
        self._weights, self._layer = weights, layer
        self._ranked, self._recalled, self._of = Ranked(), 0, 0

    def add(self, outputs: Tensor, hidden: Tensor, batch: Bags) -> None:
        """Add the items of a batch: outputs (b, C) over all labels, hidden units (b, d)."""
        top = np.full((len(batch), DEPTH), -1, dtype=np.int64)
        best = torch.topk(outputs, min(DEPTH, outputs.shape[1]), dim=1).indices.cpu().numpy()
        top[:, : best.shape[1]] = best
        self._ranked += ranked(top, batch.labels, self._weights)
        if self._layer is not None:
            recalled, of = self._layer.recalled(hidden.float().cpu().numpy(), best)
            self._recalled += recalled
            self._of += of

    def sums(self) -> tuple[float, ...]:
        """Return hits at 3, 5; weights of hits, largest possible ones at 1, 3, 5; recalled labels, of how many."""
        found = self._ranked
        hits = (float(found.hits[1]), float(found.hits[2]))
        return (*hits, *found.gained, *found.possible, float(self._recalled), float(self._of))
