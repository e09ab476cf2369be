"""ImageNet-style folders and VGG-19: the workload whose weights are hardest to exchange."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from hooke.catalogue.workload import ALONE, Place, Sizes, Workload
from hooke.readers import imagenet as imagenet_files

if TYPE_CHECKING:
    from torch import nn

    from hooke.objective.flat import FlatObjective


class ImagenetVgg19(Workload):
    """Images in folders, VGG-19.

    Data: JPEG or PNG files in `$HOOKE_DATA/<folder>/train/<class>/` and `.../val/<class>/`, of any size; as many
    classes as there are folders in `train`. They are streamed: a batch is decoded when it is wanted, so the set
    may be larger than memory. Training takes random windows and mirror images, evaluation the center; pixels are
    normalised by ImageNet's mean and deviation per channel. The folder `val` is the test part; the validation
    part, one image in ten but at most 10,000, is split off `train`.

    Model: K. Simonyan, A. Zisserman, arXiv 1409.1556, configuration E: 16 convolutions of 3 x 3 in five stages,
    fully connected 4096, 4096, classes; dropout before the last two: 143,667,240 parameters for 1,000 classes,
    575 MB in every vector. Weights start from Kaiming's uniform distribution, biases from zero.

    Loss: mean cross-entropy.

    Target: 60 %, an expectation, not measured; not applicable to other data sets.

    Licence: that of the images that you put there; ImageNet (O. Russakovsky and others, arXiv 1409.0575) is for
    research only and has to be asked for. Nothing is downloaded.
    """

    target: ClassVar[float] = 0.60
    classes: ClassVar[int | None] = 1000
    data_fields: ClassVar[tuple[str, ...]] = ("folder",)

    folder: imagenet_files.Folder = "imagenet"
    side: imagenet_files.Side = 224
    dropout: float = Field(
        0.5, ge=0, lt=1, title="Dropout", description="Share of the last two layers' inputs that is zeroed."
    )

    def find_data(self) -> None:
        """Find the folders of both parts. Raises DataMissing with those to provide."""
        imagenet_files.find(self.folder, self.id())

    def memory_sizes(self) -> Sizes:
        """Return weights for 1,000 classes, and activations of images of this size; images are streamed."""
        told = "1,000 classes"
        return Sizes(139_570_240 + 4097 * 1000, 0, round(30_000_000 * (self.side / 224) ** 2), told)

    def build(self, place: Place = ALONE) -> FlatObjective:
        """List the images and build the model; imports torch. Raises DataMissing with the files to provide."""
        from hooke.objective.flat import FlatObjective
        from hooke.objective.models.vgg import vgg19

        train, test = imagenet_files.load(self.folder, self.side, self.id())

        def make() -> nn.Module:
            return vgg19(len(train.classes), self.dropout)

        return FlatObjective(make, train, test, "relu", place=place)
