"""Finds, reads and checks the four IDX files of MNIST and data sets of the same form."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING

from hooke.errors import DataInvalid, DataMissing

if TYPE_CHECKING:
    from hooke.objective.samples import Samples

PARTS = ("train", "t10k")
KINDS = {"images-idx3-ubyte": 3, "labels-idx1-ubyte": 1}
SIDE = 28
CLASSES = 10


def folder(data: str, workload: str, bare: bool) -> Path:
    """Return the folder with all four files. Raises DataMissing with the files to provide.

    `data`: its name inside HOOKE_DATA; `bare`: the files may also be in HOOKE_DATA itself.
    """
    wanted = ", ".join(f"{part}-{kind}.gz" for part in PARTS for kind in KINDS)
    root = os.environ.get("HOOKE_DATA")
    if not root:
        raise DataMissing(
            f"{workload} reads {data} from files, and HOOKE_DATA is not set. Put the four IDX files "
            f"({wanted}; or without .gz) into a folder `{data}`, and set HOOKE_DATA to the folder that holds it"
        )
    places = [Path(root) / data, *([Path(root)] if bare else [])]
    lacking = {place: _lacking(place) for place in places}
    for place, names in lacking.items():
        if not names:
            return place
    best = min(places, key=lambda place: len(lacking[place]))
    raise DataMissing(
        f"{workload} does not find {data}: {best} lacks {', '.join(lacking[best])} (HOOKE_DATA={root}). "
        f"Put the four IDX files ({wanted}; or without .gz) there"
    )


def _file(place: Path, part: str, kind: str) -> Path | None:
    names = (f"{part}-{kind}", f"{part}-{kind}.gz")
    return next((place / name for name in names if (place / name).is_file()), None)


def _lacking(place: Path) -> list[str]:
    return [f"{part}-{kind}.gz" for part in PARTS for kind in KINDS if _file(place, part, kind) is None]


@functools.cache
def load(place: Path) -> tuple[Samples, Samples]:
    """Return the training and the test part, read once per process; raises DataInvalid for damaged files."""
    return _samples(place, "train"), _samples(place, "t10k")


def _samples(place: Path, part: str) -> Samples:
    import torch

    from hooke.objective.samples import Samples
    from hooke.readers import idx

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
        raise DataInvalid(f"{place}: the {part} labels go up to {max(labels.data)}; a class is at most 9")
    inputs = torch.frombuffer(images.data, dtype=torch.uint8).view(count, 1, SIDE, SIDE)
    return Samples(inputs, torch.frombuffer(labels.data, dtype=torch.uint8).long(), 1 / 256)
