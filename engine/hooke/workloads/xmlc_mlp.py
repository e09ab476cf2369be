"""Sparse bags of features, one hidden layer and very many labels: the workload of SLIDE."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, model_validator

from hooke.catalogue.workload import ALONE, Place, Sizes, Workload
from hooke.errors import LaunchError
from hooke.spec.spaces import Space

if TYPE_CHECKING:
    from hooke.hashing.active import Assembler
    from hooke.hashing.family import Family
    from hooke.hashing.schedule import RebuildSchedule
    from hooke.hashing.tables import Tables
    from hooke.hashing.threads import Threads
    from hooke.objective.active_labels import Layer
    from hooke.objective.bags import Bags
    from hooke.objective.wide import WideObjective

PLANTED = "planted"
TRAINED: dict[str, Any] = {"per_variant": True}
"""Marks the parameters of training, which a variant of an experiment may set."""
HASHED: dict[str, list[Any]] = {"output": ["slide"]}
"""Where parameters of hash tables count."""


class XmlcMlp(Workload):
    """Extreme classification, one hidden layer.

    Data: `data` names a folder `$HOOKE_DATA/xmlc/NAME` (or `$HOOKE_DATA/NAME`) with `train.txt` and `test.txt`,
    plain or .gz, in the format of the Extreme Classification Repository; see docs/workloads.md. `planted` makes a
    problem of a given size instead: every label has features of its own, which its items show with noise. Items
    without labels are left out. A part of the training items is held out as the validation part, of which the
    first `validation_items` are used.

    Model: features -> `hidden` ReLU -> labels. W1 starts from N(0, 2), W2 from N(0, 1 / hidden), biases from 0.

    Loss: cross-entropy with the item's labels as equally likely targets; accuracy is the precision at 1, over all
    labels. In training the softmax is that of the active set of `output`: all labels (`full`), shared negatives
    with correction (`sampled`), shared random ones without (`random-active`), the batch's own labels (`in-batch`),
    or labels from hash tables (`slide`, arXiv 1903.03129), which are rebuilt at step N0, N0 (1 + e^l), ... With
    `weights: bf16` all weights are bfloat16, which steps round at random; not with `full`, which reads all.

    Target: 70 %, for `planted` at its default size; other data need another.

    Licence: that of your data. Nothing is downloaded.
    """

    target: ClassVar[float] = 0.70
    data_fields: ClassVar[tuple[str, ...]] = ("data",)
    search: ClassVar[Mapping[str, Space]] = {
        "hashes": Space(low=7, high=14, integer=True, when=HASHED),
        "tables": Space(choices=[8, 16, 32, 64], when=HASHED),
        "uniform_share": Space(low=0.3, high=0.95, when=HASHED),
    }

    data: str = Field(
        PLANTED,
        max_length=200,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
        title="Data",
        description="Name of a folder with train.txt and test.txt; `planted`: a generated problem.",
    )
    labels: int = Field(2000, ge=2, le=10**7, title="Labels", description="Of the planted problem.")
    features: int = Field(4000, ge=8, le=10**8, title="Features", description="Of the planted problem.")
    items: int = Field(
        20_000, ge=100, le=10**8, title="Items", description="Training items of the planted problem."
    )
    hidden: int = Field(128, ge=1, le=4096, title="Hidden units", description="Size of the hidden layer.")
    output: Literal["full", "sampled", "random-active", "in-batch", "slide"] = Field(
        "full",
        title="Output layer",
        description="Which labels a training step computes.",
        json_schema_extra=TRAINED,
    )
    active: int = Field(
        1000,
        ge=1,
        le=10**7,
        title="Active set",
        description="Negatives of `sampled`; labels in all of `random-active` and `slide`.",
        json_schema_extra=TRAINED,
    )
    sets: Literal["batch", "item"] = Field(
        "batch",
        title="Sets",
        description="Active sets of `random-active` and `slide`: for the batch, or for each of its items.",
        json_schema_extra=TRAINED,
    )
    distribution: Literal["uniform", "log-uniform"] = Field(
        "uniform",
        title="Distribution",
        description="Of the negatives of `sampled`.",
        json_schema_extra=TRAINED,
    )
    correction: bool = Field(
        True,
        title="Correction",
        description="Whether `sampled` corrects for how often a negative is drawn.",
        json_schema_extra=TRAINED,
    )
    hash_family: Literal["simhash", "simhash-sparse", "wta", "dwta", "minhash"] = Field(
        "simhash",
        title="Hash family",
        description="Of `slide`.",
        json_schema_extra=TRAINED,
    )
    hashes: int = Field(
        9, ge=1, le=24, title="Hashes per table", description="Of `slide` (K).", json_schema_extra=TRAINED
    )
    tables: int = Field(
        50, ge=1, le=1024, title="Tables", description="Of `slide` (L).", json_schema_extra=TRAINED
    )
    bucket: int = Field(
        128,
        ge=1,
        le=65_536,
        title="Bucket size",
        description="Labels that a bucket holds.",
        json_schema_extra=TRAINED,
    )
    bucket_policy: Literal["fifo", "reservoir"] = Field(
        "fifo",
        title="Full buckets",
        description="Keep the last labels, or a uniform sample of them.",
        json_schema_extra=TRAINED,
    )
    uniform_share: float = Field(
        0.5,
        ge=0,
        le=1,
        title="Uniform share",
        description="Least share of the active set drawn uniformly.",
        json_schema_extra=TRAINED,
    )
    queries: int = Field(
        0,
        ge=0,
        le=65_536,
        title="Queries",
        description="Groups of similar items of a batch that ask the tables together; 0: every item asks.",
        json_schema_extra=TRAINED,
    )
    first_rebuild: int = Field(
        50, ge=1, le=10**6, title="First rebuild", description="Step of it (N0).", json_schema_extra=TRAINED
    )
    rebuild_growth: float = Field(
        0.1,
        ge=0,
        le=10,
        title="Growth",
        description="Exponent l of the steps between rebuilds.",
        json_schema_extra=TRAINED,
    )
    weights: Literal["fp32", "bf16"] = Field(
        "fp32",
        title="Weights",
        description="Type in memory; bf16: half of it, each step rounded at random (`sgd`, `sync-sgd`).",
        json_schema_extra=TRAINED,
    )
    validation_items: int = Field(
        2000, ge=0, le=10**7, title="Validation items", description="Items that are scored in a run; 0: all."
    )
    test_items: int = Field(
        0, ge=0, le=10**7, title="Test items", description="Items of the test part that are scored; 0: all."
    )

    @model_validator(mode="after")
    def _has_labels(self) -> XmlcMlp:
        if self.data == PLANTED and self.features < self.labels // 100:
            raise ValueError(
                f"{self.features} features cannot tell {self.labels} labels apart: take more features"
            )
        if self.weights == "bf16" and self.output == "full":
            raise ValueError(
                "weights in bf16 save memory where a step reads few rows, but `full` reads all of them: "
                "choose another output layer, or fp32"
            )
        return self

    def find_data(self) -> None:
        """Find the files. Raises DataMissing with those to provide."""
        if self.data != PLANTED:
            from hooke.readers import xmlc

            xmlc.find(self.data, self.id())

    def memory_sizes(self) -> Sizes | None:
        """Return those of the planted problem; of other data the numbers of features and labels are not known."""
        if self.data != PLANTED:
            return None
        weights = (self.features + 1 + self.labels) * self.hidden + self.labels
        per_item = 50 * 8  # about 40 features with values and 4 labels
        active = self.labels if self.output == "full" else min(self.active, self.labels)
        return Sizes(weights, round(1.1 * self.items) * per_item, 2 * self.hidden + 3 * active)

    def build(self, place: Place = ALONE) -> WideObjective:
        """Read or make the data, build the model; imports torch. Raises DataMissing with the files to provide."""
        from hooke.objective.wide import WideObjective

        of_items = self.sets == "item" and self.output in ("random-active", "slide")
        if place.compute.device == "cuda" and (of_items or self.weights == "bf16"):
            what = "an active set for each item" if of_items else "weights in bf16"
            raise LaunchError(
                f"{self.id()} computes with {what} on the CPU alone: choose the device `auto` or `cpu`"
            )
        train, test = self._parts()
        if of_items:
            return self._of_items(train, test, place)
        layer, narrow = self._layer(train.label_count, place), self.weights == "bf16"
        return WideObjective(
            train, test, self.hidden, layer, validation_items=self.validation_items, place=place, narrow=narrow
        )

    def _of_items(self, train: Bags, test: Bags, place: Place) -> WideObjective:
        """Return the objective with an active set for each item. Raises LaunchError if one has too many labels."""
        from hooke.objective.item_sets import ItemObjective, RandomSets, SlideSets

        assembler, most = self._assembler(train.label_count, place), int(train.labels.counts.max(initial=0))
        if most + assembler.uniform > assembler.cap < train.label_count:
            raise LaunchError(
                f"an item has {most} labels, which with {assembler.uniform} uniform ones exceed an active set of "
                f"{assembler.cap}: raise `active`, lower `uniform_share`, or choose `sets: batch`"
            )
        sets = (
            SlideSets(*self._hashed(train.label_count, place), _threads(place))
            if self.output == "slide"
            else RandomSets(assembler, _threads(place))
        )
        narrow = self.weights == "bf16"
        return ItemObjective(
            train, test, self.hidden, sets, validation_items=self.validation_items, place=place, narrow=narrow
        )

    def _parts(self) -> tuple[Bags, Bags]:
        if self.data == PLANTED:
            from hooke.objective.planted import Planted, shared_parts

            return self._shortened(*shared_parts(Planted(self.labels, self.features, self.items)))
        from hooke.readers import xmlc

        return self._shortened(*xmlc.parts(self.data, self.id()))

    def _shortened(self, train: Bags, test: Bags) -> tuple[Bags, Bags]:
        """Return the parts with the first `test_items` of the test part."""
        if not 0 < self.test_items < len(test):
            return train, test
        import numpy as np

        return train, test.take(np.arange(self.test_items, dtype=np.int64))

    def _layer(self, labels: int, place: Place) -> Layer:
        from hooke.objective import active_labels

        if self.output == "sampled":
            return active_labels.Sampled(labels, self.active, self.distribution, self.correction)
        if self.output == "random-active":
            return active_labels.RandomActive(labels, self.active)
        if self.output == "in-batch":
            return active_labels.InBatch()
        if self.output == "slide":
            from hooke.objective.slide import Slide

            layer = Slide(*self._hashed(labels, place), _threads(place))
            layer.queries = self.queries
            return layer
        return active_labels.Full()

    def _assembler(self, labels: int, place: Place) -> Assembler:
        """Return what adds uniform labels to active sets: all of one that has no others."""
        from hooke.hashing.active import Assembler

        size = min(self.active, labels)
        seed = 4096 * place.seed + place.rank + (place.thread << 45)  # above the largest of a worker
        share = self.uniform_share if self.output == "slide" else 0.0
        return Assembler(labels, size, int(size * share), 0 if self.output == "slide" else size, seed=seed)

    def _hashed(self, labels: int, place: Place) -> tuple[Family, Tables, Assembler, RebuildSchedule]:
        """Return hash functions and tables, uniform labels, and the steps at which tables are built anew."""
        from hooke.hashing.families import make_family
        from hooke.hashing.schedule import RebuildSchedule
        from hooke.hashing.tables import Tables

        family = make_family(self.hash_family, self.hidden, self.hashes, self.tables, place.seed)
        tables = Tables(family.tables, family.bits, self.bucket, self.bucket_policy, place.seed)
        rebuilds = RebuildSchedule(self.first_rebuild, self.rebuild_growth)
        return family, tables, self._assembler(labels, place), rebuilds


def _threads(place: Place) -> Threads:
    """Return the threads that build and ask hash tables: as many as PyTorch has."""
    from hooke.hashing.threads import Threads
    from hooke.objective.device import threads

    return Threads(threads(place.compute))
