"""CIFAR-10 and ResNet-20: few parameters, much arithmetic, and batch normalisation."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from hooke.catalogue.workload import ALONE, Place, Sizes, Workload
from hooke.readers import cifar as cifar_files

if TYPE_CHECKING:
    from torch import nn

    from hooke.objective.flat import FlatObjective


class CifarResnet20(Workload):
    """CIFAR-10, ResNet-20.

    Data: 50,000 training and 10,000 test images of 32 x 32 pixels in colour, ten classes: the standard split.
    One training image in ten is held out as the validation part, 5,000. Files as for `cifar-alexnet`. Training
    images are cropped at random after 4 pixels of padding, and mirrored half of the time, as in section
    4.2 of the reference; pixels are normalised per channel.

    Model: K. He, X. Zhang, S. Ren, J. Sun, arXiv 1512.03385: a convolution, three stages of three residual blocks
    (16, 32, 64 channels), shortcuts without parameters, average pooling, fully connected 10: 269,722 parameters.
    Weights start from Kaiming's uniform distribution, scales of the batch normalisation from one.

    Batch normalisation: running statistics are local to a worker and never exchanged. For an evaluation they are
    computed from 1,024 fixed training images.

    Loss: mean cross-entropy.

    Target: 80 %, an expectation, not measured.

    Data and licence: A. Krizhevsky, "Learning Multiple Layers of Features from Tiny Images" (2009); its publisher
    states no licence. Nothing is downloaded.
    """

    target: ClassVar[float] = 0.80
    classes: ClassVar[int | None] = 10
    data_fields: ClassVar[tuple[str, ...]] = ("form",)

    blocks: int = Field(
        3, ge=1, le=32, title="Blocks", description="Residual blocks per stage n: 6n + 2 layers, 3 for ResNet-20."
    )
    augment: cifar_files.Augment = True
    form: cifar_files.Form = "auto"

    def find_data(self) -> None:
        """Find the files of the form. Raises DataMissing with those to provide."""
        cifar_files.find(self.form, self.id())

    def memory_sizes(self) -> Sizes:
        """Return weights and activations of three stages, and 60,000 images with labels."""
        n = self.blocks
        stem, first = 16 * 27 + 32, n * (2 * 16 * 16 * 9 + 64)
        second = 32 * 16 * 9 + 32 * 32 * 9 + 128 + (n - 1) * (2 * 32 * 32 * 9 + 128)
        third = 64 * 32 * 9 + 64 * 64 * 9 + 256 + (n - 1) * (2 * 64 * 64 * 9 + 256)
        maps = 32 * 32 * 16 + 16 * 16 * 32 + 8 * 8 * 64
        return Sizes(stem + first + second + third + 650, 60_000 * (3 * 32 * 32 + 8), 6 * n * maps)

    def build(self, place: Place = ALONE) -> FlatObjective:
        """Load the data and build the model; imports torch. Raises DataMissing with the files to provide."""
        from hooke.objective.flat import FlatObjective
        from hooke.objective.models.resnet import resnet

        form, files = cifar_files.find(self.form, self.id())
        train, test = cifar_files.load(form, files, self.augment)

        def make() -> nn.Module:
            return resnet(self.blocks)

        objective = FlatObjective(make, train, test, "relu", place=place)
        objective.notes["data"] = form
        return objective
