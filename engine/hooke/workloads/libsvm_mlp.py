"""Perceptrons on rows of a data set in the LIBSVM format."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from hooke.catalogue.workload import ALONE, Place, Sizes, Workload
from hooke.readers.bag_files import Name

if TYPE_CHECKING:
    from hooke.objective.bags import Bags
    from hooke.objective.flat import FlatObjective
    from hooke.objective.samples import Source

PUBLISHED = {"a9a": (123, 2, 48_842), "w8a": (300, 2, 64_700)}
"""Data set -> its features, classes and items, with those of the test file."""
DENSE_BYTES = 4 * 2**30
"""Largest memory of dense rows, training and test part together."""


class LibsvmMlp(Workload):
    """Classes from LIBSVM rows, multilayer perceptron.

    Data: `data` names files `$HOOKE_DATA/libsvm/NAME` and `NAME.t` (or in `$HOOKE_DATA`), such as a9a, w8a and
    covtype; see docs/workloads.md. Every item has one label. Dense rows take items x features x 4 bytes of memory,
    at most 4 GiB; sparse ones stay as they are, and every batch is made dense, with the same results. Without a
    test file one item in ten is the test part.

    Model: features -> `layers` hidden layers of `hidden` units -> classes. With ReLU weights start from Kaiming's
    uniform distribution; with sigmoid, as in Ma and Rusu (arXiv 2004.08771), from Glorot's times 4. Biases are 0.

    Loss: mean cross-entropy.

    Target: 84 %, an expectation, not measured; it is that of a9a, and other data need another.

    Licence: that of your data. Nothing is downloaded.
    """

    target: ClassVar[float] = 0.84
    data_fields: ClassVar[tuple[str, ...]] = ("data",)

    data: Name = "a9a"
    layers: int = Field(2, ge=0, le=32, title="Hidden layers", description="Number of hidden layers.")
    hidden: int = Field(64, ge=1, le=8192, title="Hidden units", description="Of each hidden layer.")
    activation: Literal["relu", "sigmoid"] = Field("relu", title="Activation", description="Of the hidden layers.")

    rows: Literal["dense", "sparse"] = Field(
        "dense", title="Rows", description="In memory: dense, or sparse, of which every batch is made dense."
    )

    def find_data(self) -> None:
        """Find the files. Raises DataMissing with those to provide."""
        from hooke.readers import libsvm

        libsvm.find(self.data, self.id())

    def memory_sizes(self) -> Sizes | None:
        """Return those of the published data sets of this name; others are not known before they are read."""
        if self.data not in PUBLISHED:
            return None
        features, classes, items = PUBLISHED[self.data]
        widths = [features, *[self.hidden] * self.layers, classes]
        weights = sum((a + 1) * b for a, b in zip(widths, widths[1:], strict=False))
        data = items * (features * 4 + 8) if self.rows == "dense" else items * 16 * 8
        told = f"{self.data} as published"
        return Sizes(weights, data, features + 2 * self.hidden * self.layers + classes, told)

    def build(self, place: Place = ALONE) -> FlatObjective:
        """Read the data and build the model; imports torch. Raises DataMissing, or DataInvalid."""
        from torch import nn

        from hooke.objective.flat import FlatObjective

        train, test, features, classes = _parts(self.data, self.id(), self.rows == "sparse")
        sizes = [features, *[self.hidden] * self.layers]

        def make() -> nn.Module:
            active = nn.ReLU if self.activation == "relu" else nn.Sigmoid
            hidden = [
                layer for a, b in zip(sizes, sizes[1:], strict=False) for layer in (nn.Linear(a, b), active())
            ]
            return nn.Sequential(*hidden, nn.Linear(sizes[-1], classes))

        drawn = None if self.activation == "relu" else _glorot
        return FlatObjective(make, train, test, "relu", initialise=drawn, place=place)


def _glorot(model: Any, generator: Any) -> None:
    """Draw weights from Glorot's uniform distribution times 4, for sigmoids; biases are 0."""
    import torch
    from torch import nn

    with torch.no_grad():
        for each in model.modules():
            if isinstance(each, nn.Linear):
                bound = 4 * (6 / (each.in_features + each.out_features)) ** 0.5
                each.weight.uniform_(-bound, bound, generator=generator)
                each.bias.zero_()


@functools.cache
def _parts(name: str, workload: str, sparse: bool = False) -> tuple[Source, Source, int, int]:
    """Return training and test part, the number of features and of classes; read once per process."""
    from hooke.readers import libsvm

    train, test = libsvm.parts(name, workload)
    if not sparse:
        _check_memory(name, len(train) + len(test), train.feature_count)
    made = _sparse if sparse else _dense
    return made(train, name), made(test, name), train.feature_count, max(2, train.label_count)


def _check_memory(name: str, items: int, features: int) -> None:
    """Raise DataInvalid if dense rows would take more memory than DENSE_BYTES."""
    from hooke.errors import DataInvalid

    if (size := 4 * items * features) > DENSE_BYTES:
        raise DataInvalid(
            f"{name}: {items:,} items x {features:,} features are {size / 2**30:.1f} GiB as dense float32, more "
            f"than {DENSE_BYTES / 2**30:.1f} GiB: choose `rows: sparse`, which makes every batch dense instead"
        )


def _labels(bags: Bags, name: str) -> Any:
    """Return the class of every item. Raises DataInvalid if one has none or several."""
    import numpy as np
    import torch

    from hooke.errors import DataInvalid

    counts = bags.labels.counts
    if (counts != 1).any():
        item = int(np.argmax(counts != 1)) + 1
        raise DataInvalid(f"{name}: item {item} has {counts[item - 1]} labels, but a class is exactly one")
    return torch.from_numpy(np.asarray(bags.labels.ids, dtype=np.int64))


def _sparse(bags: Bags, name: str) -> Source:
    from hooke.objective.sparse_rows import SparseRows

    return SparseRows(bags.features, bags.feature_count, _labels(bags, name))


def _dense(bags: Bags, name: str) -> Source:
    import numpy as np
    import torch

    from hooke.objective.samples import Samples

    labels, features = _labels(bags, name), bags.features
    rows = np.zeros((len(bags), bags.feature_count), dtype=np.float32)
    at = np.repeat(np.arange(len(bags)), features.counts)
    rows[at, features.ids] = 1.0 if features.values is None else features.values
    return Samples(torch.from_numpy(rows), labels)
