"""Images in one folder per class, streamed: only one batch of pixels is in memory at a time.

Training (Szegedy et al., arXiv 1409.4842, section 6): a window of 8 % to 100 % of the image's area with an aspect
ratio between 3/4 and 4/3 is resized to a square, and mirrored half of the time. Evaluation: the shorter side is
resized to 256/224 of the square, whose center is cut out.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from hooke.errors import DataInvalid, DataMissing

SUFFIXES = (".jpg", ".jpeg", ".png")
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and standard deviation of ImageNet's training pixels per channel, in 0..1."""
TRIES = 10
"""Number of windows drawn before the center is used; most windows do not fit into long images."""


class ImageFolder:
    """`root/<class>/*.jpg` (or .jpeg, .png) as a source: squares of `side` pixels, normalised as for ImageNet.

    `classes` are the class names in the order of their numbers; by default the sorted folders of `root`. Raises
    DataMissing without any class or image, DataInvalid for a class not in `classes`.
    """

    slow = True
    augments = True
    dtype = torch.uint8
    label_shape: tuple[int, ...] = ()
    label_dtype = torch.int64
    scale = 1 / (255 * torch.tensor(DEVIATION))
    shift = -torch.tensor(MEAN) / torch.tensor(DEVIATION)

    def __init__(self, root: Path, side: int, classes: list[str] | None = None) -> None:
        self.root, self.shape = root, (side, side, 3)
        found = _folders(root)
        self.classes = found if classes is None else classes
        if unknown := sorted(set(found) - set(self.classes)):
            raise DataInvalid(
                f"{root}: {unknown[0]} is not a class of the training set ({len(self.classes)} classes)"
            )
        number = {name: i for i, name in enumerate(self.classes)}
        # Names concatenated in one buffer: Python strings would take a hundred bytes more each.
        names, ends, labels = bytearray(), [0], []
        for folder in found:
            for name in _images(root / folder):
                names += f"{folder}/{name}".encode("utf-8", "surrogateescape")
                ends.append(len(names))
                labels.append(number[folder])
        if not labels:
            raise DataMissing(f"{root}: its {len(found)} folder(s) hold no image ({', '.join(SUFFIXES)})")
        self._names, self._ends = bytes(names), np.array(ends, dtype=np.int64)
        self.labels = torch.tensor(labels)

    def __len__(self) -> int:
        return len(self.labels)

    def path(self, item: int) -> Path:
        """Return the file of an item."""
        start, stop = self._ends[item : item + 2]
        return self.root / self._names[start:stop].decode("utf-8", "surrogateescape")

    def read(self, at: Tensor, items: Tensor, labels: Tensor, random: np.random.Generator | None) -> None:
        """Decode the items. Raises DataInvalid for a damaged file, DataMissing for a removed one."""
        torch.index_select(self.labels, 0, at, out=labels)
        pixels = items.numpy()
        for row, item in enumerate(at.tolist()):
            path = self.path(item)
            try:
                pixels[row] = _square(path, self.shape[0], random)
            except FileNotFoundError:
                raise DataMissing(f"{path} was listed when the run began and no longer exists") from None
            except Exception as error:  # a decoder may raise anything on damaged data
                raise DataInvalid(
                    f"{path} cannot be decoded as an image ({type(error).__name__}: {error}); "
                    "fetch it again or take it out of the folder"
                ) from error


def _folders(root: Path) -> list[str]:
    found = sorted(entry.name for entry in os.scandir(root) if entry.is_dir()) if root.is_dir() else []
    if not found:
        raise DataMissing(f"{root} has no subfolders: put the images of each class into a subfolder of its own")
    return found


def _images(folder: Path) -> list[str]:
    return sorted(e.name for e in os.scandir(folder) if e.name.lower().endswith(SUFFIXES) and e.is_file())


def _square(path: Path, side: int, random: np.random.Generator | None) -> Any:
    with Image.open(path, formats=("JPEG", "PNG")) as image:
        width, height = image.size
        left, top, w, h = _center(width, height) if random is None else _window(width, height, random)
        # A JPEG is decoded at 1/2, 1/4 or 1/8 of its size if that has enough pixels.
        image.draft("RGB", (math.ceil(width * side / w), math.ceil(height * side / h)))
        x, y = image.size[0] / width, image.size[1] / height
        box = (left * x, top * y, (left + w) * x, (top + h) * y)
        square = image.convert("RGB").resize((side, side), Image.Resampling.BILINEAR, box)
    pixels = np.asarray(square)
    return pixels[:, ::-1] if random is not None and random.random() < 0.5 else pixels


def _center(width: int, height: int) -> tuple[float, float, float, float]:
    cut = min(width, height) * 224 / 256
    return (width - cut) / 2, (height - cut) / 2, cut, cut


def _window(width: int, height: int, random: np.random.Generator) -> tuple[float, float, float, float]:
    for _ in range(TRIES):
        area = width * height * random.uniform(0.08, 1)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = math.sqrt(area * ratio), math.sqrt(area / ratio)
        if w <= width and h <= height:
            return random.uniform(0, width - w), random.uniform(0, height - h), w, h
    return _center(width, height)
