"""Handwritten digits of 8 x 8 pixels and a small perceptron: the workload that needs no download."""

from __future__ import annotations

import functools
import gzip
import random
from importlib.resources import files
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from hooke.catalogue.workload import ALONE, Place, Sizes, Workload

if TYPE_CHECKING:
    from hooke.objective.flat import FlatObjective
    from hooke.objective.samples import Samples

PIXELS = 64
TRAIN = 1437
"""Number of training items, including validation; the other 360 of 1,797 are the test part."""
SPLIT_SEED = 1797


class DigitsMLP(Workload):
    """Handwritten digits 8 x 8, multilayer perceptron.

    Data: 1,797 images of 8 x 8 pixels with 17 grey levels, ten classes, part of the package ("Optical Recognition
    of Handwritten Digits", UCI, as scikit-learn distributes it). Inputs are divided by 16. A fixed permutation
    selects 360 of them as the test part; one in ten of the other 1,437, 143 images, is the validation part, and
    1,294 are for training, the same for every seed.

    Model: 64 - 256 - 128 - 10 with ReLU; 50,826 parameters at the default widths. Weights start from Kaiming's
    uniform distribution, biases from zero.

    Loss: mean cross-entropy. A step of 32 samples takes well below a millisecond on one core, so that
    communication dominates.

    Licence of the data: CC BY 4.0 (E. Alpaydin, C. Kaynak, 1998), <https://doi.org/10.24432/C50P49>.
    """

    target: ClassVar[float] = 0.96
    classes: ClassVar[int | None] = 10

    hidden1: int = Field(
        256, ge=1, le=8192, title="First hidden layer", description="Units of the first hidden layer."
    )
    hidden2: int = Field(
        128, ge=1, le=8192, title="Second hidden layer", description="Units of the second hidden layer."
    )

    def memory_sizes(self) -> Sizes:
        """Return weights and activations of three layers, and 1,797 images with labels of 8 bytes."""
        a, b = self.hidden1, self.hidden2
        weights = (PIXELS + 1) * a + (a + 1) * b + (b + 1) * 10
        return Sizes(weights, 1797 * (PIXELS + 8), PIXELS + 2 * (a + b) + 10)

    def build(self, place: Place = ALONE) -> FlatObjective:
        """Load the data and build the model; imports torch."""
        from torch import nn

        from hooke.objective.flat import FlatObjective

        def make() -> nn.Module:
            return nn.Sequential(
                nn.Linear(PIXELS, self.hidden1),
                nn.ReLU(),
                nn.Linear(self.hidden1, self.hidden2),
                nn.ReLU(),
                nn.Linear(self.hidden2, 10),
            )

        train, test = load()
        return FlatObjective(make, train, test, "relu", place=place)


def split(count: int) -> tuple[list[int], list[int]]:
    """Return the indices of the training and of the test items: one fixed permutation, cut at TRAIN."""
    order = list(range(count))
    random.Random(SPLIT_SEED).shuffle(order)  # noqa: S311 - a reproducible split, not a secret
    return order[:TRAIN], order[TRAIN:]


@functools.cache
def load() -> tuple[Samples, Samples]:
    """Return the training and the test part, read once per process."""
    import torch

    from hooke.objective.samples import Samples

    text = gzip.decompress((files("hooke.workloads") / "data" / "digits.csv.gz").read_bytes())
    table = torch.tensor(
        [[int(cell) for cell in line.split(b",")] for line in text.splitlines()], dtype=torch.uint8
    )
    inputs, labels = table[:, :PIXELS].contiguous(), table[:, PIXELS].long()
    train, test = (torch.tensor(part) for part in split(len(table)))
    return Samples(inputs[train], labels[train], 1 / 16), Samples(inputs[test], labels[test], 1 / 16)
