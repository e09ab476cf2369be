"""CIFAR-10 and AlexNet: the second workload of the literature on scaling elastic averaging."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from hooke.catalogue.workload import ALONE, Place, Sizes, Workload
from hooke.readers import cifar as cifar_files

if TYPE_CHECKING:
    from torch import nn

    from hooke.objective.flat import FlatObjective


class CifarAlexnet(Workload):
    """CIFAR-10, AlexNet for 32 x 32 pixels.

    Data: 50,000 training and 10,000 test images of 32 x 32 pixels in colour, ten classes: the standard split.
    One training image in ten is held out as the validation part, 5,000. In `$HOOKE_DATA/cifar10` the six files of
    the binary version, plain or .gz; or in `$HOOKE_DATA/cifar10-jpeg` an archive of JPEG files, whose pixels
    differ from the original ones, so that accuracies are not exactly comparable with published ones. Pixels are
    normalised per channel by mean and deviation of the published training set.

    Model: five convolutions of 3 x 3 (64, 192, 384, 256, 256 channels; max-pooling after the first, second and
    fifth) and three fully connected layers, ReLU, dropout before the first two of these: 7,506,762 parameters at
    the default width. Weights start from Kaiming's uniform distribution, biases from zero.

    Loss: mean cross-entropy. Dropout and augmentation use a separate random stream for each worker.

    Target: 70 %, an expectation, not measured.

    Data and licence: A. Krizhevsky, "Learning Multiple Layers of Features from Tiny Images" (2009); its publisher
    states no licence. Nothing is downloaded.
    """

    target: ClassVar[float] = 0.70
    classes: ClassVar[int | None] = 10
    data_fields: ClassVar[tuple[str, ...]] = ("form",)

    hidden: int = Field(
        1024, ge=1, le=8192, title="Fully connected", description="Units of the first two fully connected layers."
    )
    dropout: float = Field(
        0.5, ge=0, lt=1, title="Dropout", description="Share of the fully connected layers' inputs that is zeroed."
    )
    augment: cifar_files.Augment = False
    form: cifar_files.Form = "auto"

    def find_data(self) -> None:
        """Find the files of the form. Raises DataMissing with those to provide."""
        cifar_files.find(self.form, self.id())

    def memory_sizes(self) -> Sizes:
        """Return weights and activations of five convolutions and three layers, and 60,000 images with labels."""
        h = self.hidden
        weights = 2_251_584 + (4096 + 1) * h + (h + 1) * h + (h + 1) * 10
        return Sizes(weights, 60_000 * (3 * 32 * 32 + 8), 380_000 + 6 * h)

    def build(self, place: Place = ALONE) -> FlatObjective:
        """Load the data and build the model; imports torch. Raises DataMissing with the files to provide."""
        from hooke.objective.flat import FlatObjective
        from hooke.objective.models.alexnet import alexnet

        form, files = cifar_files.find(self.form, self.id())
        train, test = cifar_files.load(form, files, self.augment)

        def make() -> nn.Module:
            return alexnet(self.hidden, self.dropout)

        objective = FlatObjective(make, train, test, "relu", place=place)
        objective.notes["data"] = form
        return objective
