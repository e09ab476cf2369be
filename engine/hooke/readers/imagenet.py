"""Folders of images in ImageNet's form: `train/<class>/*.jpg` and `val/<class>/*.jpg`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from hooke.errors import DataMissing
from hooke.readers import places

if TYPE_CHECKING:
    from hooke.objective.image_folder import ImageFolder

Folder = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
        max_length=100,
        title="Folder",
        description="Folder of HOOKE_DATA that holds `train` and `val`.",
    ),
]
"""Parameter of the ImageNet workloads: the folder."""
Side = Annotated[
    int, Field(ge=32, le=512, title="Side", description="Width and height of the model's input in pixels.")
]
"""Parameter of the ImageNet workloads: the image size."""


def find(folder: str, workload: str) -> Path:
    """Return the folder of both parts. Raises DataMissing."""
    put = f"Put train/<class>/*.jpg and val/<class>/*.jpg into a folder `{folder}`"
    root = places.data(workload, "images", put) / folder
    for part in ("train", "val"):
        if not (root / part).is_dir():
            raise DataMissing(f"{workload} does not find its images: there is no folder {root / part}. {put}")
    return root


def load(folder: str, side: int, workload: str) -> tuple[ImageFolder, ImageFolder]:
    """Return the training and the test part as streams; only file names are read. `folder` is relative to
    HOOKE_DATA.

    ImageNet's published validation part, `val`, is the test part here, because the labels of its test part are not
    published. The validation part is split off `train`.
    """
    from hooke.objective.image_folder import ImageFolder

    root = find(folder, workload)
    train = ImageFolder(root / "train", side)
    return train, ImageFolder(root / "val", side, train.classes)
