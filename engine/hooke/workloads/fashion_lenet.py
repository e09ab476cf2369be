"""Fashion-MNIST and Caffe's LeNet: the format and cost of MNIST, with a harder task."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from hooke.catalogue.workload import ALONE, Place, Sizes, Workload
from hooke.readers import mnist as mnist_files

if TYPE_CHECKING:
    from hooke.objective.flat import FlatObjective


class FashionLenet(Workload):
    """Fashion-MNIST, Caffe's LeNet.

    Data: 60,000 training and 10,000 test images of 28 x 28 pixels with 256 grey levels, ten classes of clothing:
    the published split. One training image in ten is held out as the validation part, 6,000. Four IDX
    files, plain or .gz, in `$HOOKE_DATA/fashion-mnist`. Inputs are divided by 256.

    Model: that of `mnist-lenet`, 431,080 parameters, and its initial weights.

    Loss: mean cross-entropy.

    Licence of the data: MIT, copyright (c) 2017 Zalando SE (H. Xiao, K. Rasul, R. Vollgraf, arXiv 1708.07747).
    Nothing is downloaded.
    """

    target: ClassVar[float] = 0.87
    classes: ClassVar[int | None] = 10

    def find_data(self) -> None:
        """Find the four files. Raises DataMissing with those to provide."""
        mnist_files.folder("fashion-mnist", self.id(), bare=False)

    def memory_sizes(self) -> Sizes:
        """Return those of LeNet, and 70,000 images with labels of 8 bytes."""
        return Sizes(weights=431_080, data=70_000 * (28 * 28 + 8), activations=20_000)

    def build(self, place: Place = ALONE) -> FlatObjective:
        """Load the data and build the model; imports torch. Raises DataMissing with the files to provide."""
        from hooke.objective.flat import FlatObjective
        from hooke.objective.models.lenet import lenet

        train, test = mnist_files.load(mnist_files.folder("fashion-mnist", self.id(), bare=False))
        return FlatObjective(lenet, train, test, "linear", place=place)
