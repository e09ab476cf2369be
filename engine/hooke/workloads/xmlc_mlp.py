"""Sparse bags of features, one hidden layer and very many labels: the workload of SLIDE."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from hooke.catalogue.workload import ALONE, Place, Sizes, Workload
from hooke.hashing.sizes import BITS, WIDTH, bytes_of_tables, fault_of_hashes, usual_hashes
from hooke.spec.spaces import Space

if TYPE_CHECKING:
    from hooke.objective.bags import BagPart
    from hooke.objective.wide import WideObjective

PLANTED = "planted"
TRAINED: dict[str, Any] = {"per_variant": True}
"""Marks the parameters of training, which a variant of an experiment may set."""
HASHED: dict[str, list[Any]] = {"output": ["slide"]}
"""Where parameters of hash tables count."""
SAMPLED: dict[str, list[Any]] = {"output": ["sampled"]}
SETS: dict[str, list[Any]] = {"output": ["random-active", "slide"], "sets": ["batch"]}
"""Where a set has the labels of the batch among its own: about 300 of 128 items with two or three labels each."""
SIGNS: dict[str, list[Any]] = {"hash_family": [name for name, bits in BITS.items() if bits == 1]}
WINNERS: dict[str, list[Any]] = {"hash_family": [name for name, bits in BITS.items() if bits > 1]}


class XmlcMlp(Workload):
    """Extreme classification, one hidden layer.

    Data: `data` names a folder `$HOOKE_DATA/xmlc/NAME` (or `$HOOKE_DATA/NAME`) with `train.txt` and `test.txt`,
    plain or .gz, in the format of the Extreme Classification Repository, or with `histories.txt`, the items of
    users in the order of time, of which the next one is predicted; or files `$HOOKE_DATA/libsvm/NAME` and `NAME.t`
    in the LIBSVM format; see docs/workloads.md. `planted` makes a problem of a given size instead: every label has
    features of its own, which its items show with noise. Items without labels are left out. A part of the training
    items is held out as the validation part; the first `validation_items` are used.

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
    search: ClassVar[Mapping[str, Space | tuple[Space, ...]]] = {
        "hashes": (
            Space(low=7, high=14, integer=True, when=HASHED | SIGNS),
            Space(low=3, high=6, integer=True, when=HASHED | WINNERS),
        ),
        "tables": Space(choices=[8, 16, 32, 64], when=HASHED),
        "uniform_share": Space(low=0.3, high=0.95, when=HASHED),
        "active": (
            Space(low=30, high=1000, scale="log", integer=True, when=SAMPLED),
            Space(low=330, high=1300, scale="log", integer=True, when=SETS),
        ),
    }

    data: str = Field(
        PLANTED,
        max_length=200,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
        title="Data",
        description="Name of a folder with train.txt and test.txt, or with histories.txt, or of a file in the "
        "LIBSVM format; `planted`: a generated problem.",
    )
    labels: int = Field(2000, ge=2, le=10**7, title="Labels", description="Of the planted problem.")
    features: int = Field(4000, ge=8, le=10**8, title="Features", description="Of the planted problem.")
    items: int = Field(
        20_000, ge=100, le=10**8, title="Items", description="Training items of the planted problem."
    )
    window: int = Field(
        50, ge=1, le=10_000, title="Window", description="Items of a history that predict the next one."
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
        description="Of the negatives of `sampled`; log-uniform: over the labels by falling frequency.",
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
    hashes: int | None = Field(
        None,
        ge=1,
        le=24,
        title="Hashes per table",
        description="Of `slide` (K): at most 24 of `simhash`, 8 of `wta`, `dwta` and `minhash`; empty: 9, and 4.",
        json_schema_extra=TRAINED,
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
    sampling: Literal["union", "vanilla", "top-k", "threshold"] | None = Field(
        None,
        title="Sampling",
        description="Which labels of its buckets a query of `slide` takes; empty: `top-k` with `sets: batch`, "
        "`union` with `item`.",
        json_schema_extra=TRAINED,
    )
    threshold: int = Field(
        2,
        ge=1,
        le=1024,
        title="Threshold",
        description="Tables that have to return a label, with `sampling: threshold`.",
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
    rebuild: Literal["all", "touched"] = Field(
        "all",
        title="Rebuild",
        description="Rows that a rebuild hashes: all, or those that have changed; the tables are the same.",
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

    @field_validator("hash_family")
    @classmethod
    def _is_wide_enough(cls, family: str, known: ValidationInfo) -> str:
        if known.data.get("output") == "slide" and BITS[family] > 1 and known.data.get("hidden", WIDTH) < WIDTH:
            raise ValueError(
                f"a hash of {family} compares {WIDTH} hidden units, and there are {known.data['hidden']}: "
                "take more, or `simhash`"
            )
        return family

    @field_validator("hashes")
    @classmethod
    def _fits(cls, hashes: int | None, known: ValidationInfo) -> int | None:
        family = known.data.get("hash_family") if known.data.get("output") == "slide" else None
        if hashes is not None and family and (why := fault_of_hashes(family, hashes)):
            raise ValueError(why)
        return hashes

    @model_validator(mode="after")
    def _has_labels(self) -> XmlcMlp:
        if self.data == PLANTED and self.features < self.labels // 100:
            raise ValueError(
                f"{self.features} features cannot tell {self.labels} labels apart: take more features"
            )
        if self.output == "slide" and self.sampling == "threshold" and self.threshold > self.tables:
            raise ValueError(
                f"no label is in {self.threshold} of {self.tables} tables: lower `threshold`, or take more tables"
            )
        if self.output == "slide" and self.sets == "item" and self.queries:
            raise ValueError(
                f"{self.queries} groups of items cannot ask the tables where every item has a set of its own: "
                "set `queries` to 0, or choose `sets: batch`"
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
            from hooke.readers import labelled

            labelled.find(self.data, self.id())

    def memory_sizes(self) -> Sizes | None:
        """Return those of the planted problem; of other data the numbers of features and labels are not known."""
        if self.data != PLANTED:
            return None
        weights = (self.features + 1 + self.labels) * self.hidden + self.labels
        per_item = 50 * 8  # about 40 features with values and 4 labels
        active = self.labels if self.output == "full" else min(self.active, self.labels)
        bits = self.hashes_per_table() * BITS[self.hash_family]
        tables = bytes_of_tables(self.labels, self.tables, bits) if self.output == "slide" else 0
        data = round(1.1 * self.items) * per_item
        return Sizes(weights, data, 2 * self.hidden + 3 * active, kept=tables)

    def hashes_per_table(self) -> int:
        """Return K: what is given, or as many as the family usually has."""
        return self.hashes or usual_hashes(self.hash_family)

    def build(self, place: Place = ALONE) -> WideObjective:
        """Read or make the data, build the model; imports torch. Raises DataMissing with the files to provide."""
        from hooke.objective.wide_building import objective_of

        return objective_of(self, self._parts(), place)

    def _parts(self) -> tuple[BagPart, BagPart, BagPart | None]:
        """Return training and test part, and the validation part if it is not split off the training part."""
        if self.data == PLANTED:
            from hooke.objective.planted import Planted, shared_parts

            return *shared_parts(Planted(self.labels, self.features, self.items)), None
        from hooke.readers import labelled

        return labelled.parts(self.data, self.window, self.id())
