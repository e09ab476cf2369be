"""ImageNet-style folders and GoogLeNet: the workload of the literature's weak scaling on thousands of cores."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from hooke.catalogue.workload import ALONE, Place, Sizes, Workload
from hooke.readers import imagenet as imagenet_files

if TYPE_CHECKING:
    from torch import nn

    from hooke.objective.flat import FlatObjective


class ImagenetGooglenet(Workload):
    """Images in folders, GoogLeNet.

    Data: JPEG or PNG files in `$HOOKE_DATA/<folder>/train/<class>/` and `.../val/<class>/`, of any size; as many
    classes as there are folders in `train`. They are streamed: a batch is decoded when it is needed, so the set
    may be larger than memory. Training uses random windows and mirror images, evaluation the center; pixels are
    normalised by ImageNet's mean and deviation per channel. The folder `val` is the test part; the validation
    part, one image in ten but at most 10,000, is split off `train`.

    Model: C. Szegedy and others, arXiv 1409.4842: 22 layers, nine inception modules, local response normalisation
    and, as published, no batch normalisation; two auxiliary classifiers, whose losses count 0.3 in training and
    which are dropped for evaluation: 13,378,280 parameters for 1,000 classes, 6,998,552 of them without the
    auxiliary classifiers. Weights start from Kaiming's uniform distribution, biases from zero.

    Loss: mean cross-entropy, plus 0.3 of that of each auxiliary classifier.

    Target: 60 %, an expectation, not measured; not applicable to other data sets.

    Licence: that of your images; ImageNet (O. Russakovsky and others, arXiv 1409.0575) is for research only and
    available on request. Nothing is downloaded.
    """

    target: ClassVar[float] = 0.60
    classes: ClassVar[int | None] = 1000
    data_fields: ClassVar[tuple[str, ...]] = ("folder",)

    folder: imagenet_files.Folder = "imagenet"
    side: imagenet_files.Side = 224
    dropout: float = Field(
        0.4, ge=0, lt=1, title="Dropout", description="Share of the last layer's inputs that is zeroed."
    )

    def find_data(self) -> None:
        """Find the folders of both parts. Raises DataMissing with those to provide."""
        imagenet_files.find(self.folder, self.id())

    def memory_sizes(self) -> Sizes:
        """Return weights for 1,000 classes, and activations of images of this size; images are streamed."""
        told = "1,000 classes"
        return Sizes(10_303_280 + 3075 * 1000, 0, round(10_000_000 * (self.side / 224) ** 2), told)

    def build(self, place: Place = ALONE) -> FlatObjective:
        """List the images and build the model; imports torch. Raises DataMissing with the files to provide."""
        from hooke.objective.flat import FlatObjective
        from hooke.objective.models.googlenet import WITH_AUXILIARIES, GoogLeNet

        train, test = imagenet_files.load(self.folder, self.side, self.id())

        def make() -> nn.Module:
            return GoogLeNet(len(train.classes), self.dropout)

        return FlatObjective(make, train, test, "relu", task=WITH_AUXILIARIES, place=place)
