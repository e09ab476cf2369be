"""MNIST and Caffe's LeNet: the workload of the literature on elastic averaging."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from hooke.catalogue.workload import ALONE, Place, Sizes, Workload
from hooke.readers import mnist as mnist_files

if TYPE_CHECKING:
    from hooke.objective.flat import FlatObjective


LENET = Sizes(weights=431_080, data=70_000 * (28 * 28 + 8), activations=20_000)
"""Of LeNet on images of the size of MNIST's, as many as MNIST has."""


class MnistLenet(Workload):
    """MNIST, Caffe's LeNet.

    Data: 60,000 training and 10,000 test images of 28 x 28 pixels with 256 grey levels, ten classes: the
    standard split. One training image in ten is held out as the validation part, 6,000. Four IDX files, plain or
    .gz, in `$HOOKE_DATA/mnist` (or `$HOOKE_DATA`). Inputs are divided by 256, as in Caffe's example.

    Model: convolution 20 of 5 x 5, max-pooling 2, convolution 50 of 5 x 5, max-pooling 2, fully connected 500,
    ReLU, fully connected 10: 431,080 parameters. As in Caffe, there is no ReLU after the convolutions. Weights
    start from Caffe's "xavier" filler, uniform over +-sqrt(3 / fan-in), biases from zero.

    Loss: mean cross-entropy.

    Data and licence: Y. LeCun, C. Cortes, C. Burges, "The MNIST database of handwritten digits"; its publisher
    states no licence. Nothing is downloaded.
    """

    target: ClassVar[float] = 0.98
    classes: ClassVar[int | None] = 10

    def find_data(self) -> None:
        """Find the four files. Raises DataMissing with those to provide."""
        mnist_files.folder("mnist", self.id(), bare=True)

    def memory_sizes(self) -> Sizes:
        """Return those of LeNet, and 70,000 images with labels of 8 bytes."""
        return LENET

    def build(self, place: Place = ALONE) -> FlatObjective:
        """Load the data and build the model; imports torch. Raises DataMissing with the files to provide."""
        from hooke.objective.flat import FlatObjective
        from hooke.objective.models.lenet import lenet

        train, test = mnist_files.load(mnist_files.folder("mnist", self.id(), bare=True))
        return FlatObjective(lenet, train, test, "linear", place=place)
