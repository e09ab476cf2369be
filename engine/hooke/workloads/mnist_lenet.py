"""MNIST and Caffe's LeNet: the workload of the literature on elastic averaging."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from hooke.errors import DataInvalid, DataMissing
from hooke.workload import Workload

if TYPE_CHECKING:
    from torch import nn

    from hooke.flat import FlatProblem, Samples

PARTS = ("train", "t10k")
KINDS = {"images-idx3-ubyte": 3, "labels-idx1-ubyte": 1}
SIDE = 28
CLASSES = 10


class MnistLenet(Workload):
    """MNIST, Caffe's LeNet.

    Data: 60,000 training and 10,000 test images of 28 x 28 pixels with 256 grey levels, ten classes: the
    standard split. Four IDX files, plain or .gz, in `$HOOKE_DATA/mnist` (or `$HOOKE_DATA`). Inputs are divided by
    256, as in Caffe's example.

    Model: convolution 20 of 5 x 5, max-pooling 2, convolution 50 of 5 x 5, max-pooling 2, fully connected 500,
    ReLU, fully connected 10: 431,080 parameters. As in Caffe, nothing bends between the convolutions. Weights
    start from Caffe's "xavier" filler, uniform over +-sqrt(3 / fan-in), biases from zero.

    Loss: mean cross-entropy.

    Data and licence: Y. LeCun, C. Cortes, C. Burges, "The MNIST database of handwritten digits"; its publisher
    states no licence. Nothing is downloaded.
    """

    target: ClassVar[float] = 0.98

    def build(self) -> FlatProblem:
        """Load the data and make the model; imports torch. Raises DataMissing, saying what to put where."""
        from hooke.flat import FlatProblem

        train, test = load(folder())
        return FlatProblem(lenet, train, test, nonlinearity="linear")


def lenet() -> nn.Module:
    """Return Caffe's LeNet for inputs (b, 1, 28, 28)."""
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(1, 20, 5),
        nn.MaxPool2d(2),
        nn.Conv2d(20, 50, 5),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(800, 500),
        nn.ReLU(),
        nn.Linear(500, CLASSES),
    )


def folder() -> Path:
    """Return the folder that holds all four files, or raise DataMissing, saying what to put where."""
    wanted = ", ".join(f"{part}-{kind}.gz" for part in PARTS for kind in KINDS)
    root = os.environ.get("HOOKE_DATA")
    if not root:
        raise DataMissing(
            "mnist-lenet reads MNIST from files, and HOOKE_DATA is not set. Put the four IDX files "
            f"({wanted}; or without .gz) into a folder `mnist`, and set HOOKE_DATA to the folder that holds it"
        )
    places = [Path(root) / "mnist", Path(root)]
    lacking = {place: _lacking(place) for place in places}
    for place, names in lacking.items():
        if not names:
            return place
    best = min(places, key=lambda place: len(lacking[place]))
    raise DataMissing(
        f"mnist-lenet does not find MNIST: {best} lacks {', '.join(lacking[best])} (HOOKE_DATA={root}). "
        f"Put the four IDX files ({wanted}; or without .gz) there"
    )


def _file(place: Path, part: str, kind: str) -> Path | None:
    names = (f"{part}-{kind}", f"{part}-{kind}.gz")
    return next((place / name for name in names if (place / name).is_file()), None)


def _lacking(place: Path) -> list[str]:
    return [f"{part}-{kind}.gz" for part in PARTS for kind in KINDS if _file(place, part, kind) is None]


@functools.cache
def load(place: Path) -> tuple[Samples, Samples]:
    """Return the training and the test set, read once per process; raises DataInvalid for damaged files."""
    return _samples(place, "train"), _samples(place, "t10k")


def _samples(place: Path, part: str) -> Samples:
    import torch

    from hooke.flat import Samples
    from hooke.workloads import idx

    arrays = []
    for kind, dimensions in KINDS.items():
        path = _file(place, part, kind)
        if path is None:
            raise DataMissing(f"{place} lacks {part}-{kind}.gz")
        arrays.append(idx.read(path, dimensions))
    images, labels = arrays
    count = labels.shape[0]
    if count == 0 or images.shape != (count, SIDE, SIDE):
        raise DataInvalid(
            f"{place}: {part} images have shape {images.shape} for {count} labels; "
            f"expected ({count or 'n'}, {SIDE}, {SIDE}), one image per label"
        )
    if max(labels.data) >= CLASSES:
        raise DataInvalid(f"{place}: the {part} labels go up to {max(labels.data)}; a digit is at most 9")
    inputs = torch.frombuffer(images.data, dtype=torch.uint8).view(count, 1, SIDE, SIDE)
    return Samples(inputs, torch.frombuffer(labels.data, dtype=torch.uint8).long(), 1 / 256)
