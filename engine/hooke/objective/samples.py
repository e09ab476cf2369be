"""Parts of a data set in memory, as read by an objective; `image_folder` streams from disk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hooke.errors import DataInvalid, HookeError
from hooke.objective.parts import held_out


class Source(Protocol):
    """A part of a data set. Items are read into buffers of the loader; nothing is allocated per batch."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one item as stored; of an image (height, width, channels)."""

    @property
    def dtype(self) -> torch.dtype:
        """Type of items as stored: uint8 or float32 (the model's input is item * scale + shift), or int64."""

    @property
    def label_shape(self) -> tuple[int, ...]:
        """Shape of one label; () for a number."""

    @property
    def label_dtype(self) -> torch.dtype:
        """Type of labels; int64 for classes."""

    @property
    def scale(self) -> Tensor | float:
        """Factor on stored items; for images optionally one number per channel."""

    @property
    def shift(self) -> Tensor | float:
        """Summand after scaling."""

    @property
    def augments(self) -> bool:
        """Whether `read` with a generator differs from `read` without."""

    @property
    def slow(self) -> bool:
        """Whether reading is slow enough to be done ahead in another thread."""

    def __len__(self) -> int: ...

    def read(self, at: Tensor, items: Tensor, labels: Tensor, random: np.random.Generator | None) -> None:
        """Fill the buffers with the items `at`, augmented with draws from `random`; None: without augmentation."""


class Samples:
    """A part of a data set in memory, shared by every Objective of the process and never written.

    `inputs` (n, ...) are preferably uint8 as in the files, a quarter of the memory of float32. The model's input
    is `inputs * scale + shift`; for images (n, channels, height, width) both may be one number per channel.
    `labels` (n, ...) are classes, int64, or any type that the loss accepts.

    `crop` and `flip` augment training images as in He et al. (arXiv 1512.03385, section 4.2): padding with `crop`
    pixels of zeros, a random window of the original size, mirrored half of the time.
    """

    slow = False

    def __init__(
        self,
        inputs: Tensor,
        labels: Tensor,
        scale: float | Sequence[float] = 1.0,
        shift: float | Sequence[float] = 0.0,
        crop: int = 0,
        flip: bool = False,
    ) -> None:
        self.inputs, self.labels = inputs, labels
        # Images are stored in channels-last order, for convolutions; with one channel no copy is needed.
        rows = inputs.permute(0, 2, 3, 1).contiguous() if inputs.dim() == 4 else inputs.contiguous()
        self.rows = rows
        self.shape, self.dtype = tuple(rows.shape[1:]), rows.dtype
        self.label_shape, self.label_dtype = tuple(labels.shape[1:]), labels.dtype
        self.scale, self.shift = constant(scale), constant(shift)
        self._crop, self._flip = crop, flip
        self.augments = bool(crop or flip)

    def __len__(self) -> int:
        return len(self.labels)

    def read(self, at: Tensor, items: Tensor, labels: Tensor, random: np.random.Generator | None) -> None:
        """Gather items and labels; see `Source`."""
        torch.index_select(self.rows, 0, at, out=items)
        torch.index_select(self.labels, 0, at, out=labels)
        if random is not None and self.augments:
            self._augment(items.numpy(), random)

    def _augment(self, images: Any, random: np.random.Generator) -> None:
        count, height, width = images.shape[:3]
        pad = self._crop
        down, right = random.integers(0, 2 * pad + 1, (2, count))
        mirrored = random.integers(0, 2, count) if self._flip else np.zeros(count, dtype=np.int64)
        room = np.zeros((height + 2 * pad, width + 2 * pad, *images.shape[3:]), dtype=images.dtype)
        inner = room[pad : pad + height, pad : pad + width]
        for i in range(count):
            inner[...] = images[i]
            window = room[down[i] : down[i] + height, right[i] : right[i] + width]
            images[i] = window[:, ::-1] if mirrored[i] else window


def constant(value: float | Sequence[float]) -> Tensor | float:
    """Return a number unchanged, a sequence (one number per channel) as a tensor."""
    return float(value) if isinstance(value, (int, float)) else torch.tensor(value, dtype=torch.float32)


def numbers(values: Any, where: str) -> Tensor:
    """Return a user's numbers as uint8, float32 or int64. Raises DataInvalid, which begins with `where`."""
    try:
        found = torch.as_tensor(_native(values, where) if isinstance(values, np.ndarray | np.generic) else values)
    except (TypeError, ValueError, RuntimeError):
        kind = type(values).__name__
        raise DataInvalid(f"{where}: numbers are needed, as a tensor, an array or a number, not {kind}") from None
    if found.is_complex():
        raise DataInvalid(f"{where} has complex numbers: give real and imaginary parts as two channels")
    if found.is_floating_point() or found.dtype == torch.bool:
        return found.float()
    return found if found.dtype in (torch.uint8, torch.int64) else found.long()


def _native(values: Any, where: str) -> Any:
    """Return an array as PyTorch takes it: numbers in the machine's order of bytes, with positive strides."""
    if values.dtype.kind not in "biufc":
        raise DataInvalid(f"{where}: an array of numbers is needed, not of {values.dtype}: convert it by astype()")
    values = values.astype(values.dtype.newbyteorder("="), copy=False)
    return values.copy() if any(stride < 0 for stride in values.strides) else values


def classes(labels: Tensor) -> Tensor:
    """Return labels that are integers as int64."""
    return labels.long() if labels.dtype == torch.uint8 else labels


class Windows:
    """A text for next-character prediction: item i is `length` characters from i * stride, labels the next ones.

    `codes` (n,) are the characters as small integers, uint8.
    """

    slow = False
    augments = False
    dtype = label_dtype = torch.int64
    scale, shift = 1.0, 0.0

    def __init__(self, codes: Tensor, length: int, stride: int) -> None:
        self.codes = codes
        self._stride = stride
        self._span = torch.arange(length + 1)
        self.shape = self.label_shape = (length,)
        self._count = max(0, (len(codes) - length - 1) // stride + 1)

    def __len__(self) -> int:
        return self._count

    def read(self, at: Tensor, items: Tensor, labels: Tensor, random: np.random.Generator | None) -> None:
        """Cut the windows out; see `Source`."""
        del random
        text = self.codes[at[:, None] * self._stride + self._span]
        items.copy_(text[:, :-1])
        labels.copy_(text[:, 1:])


class Mapped:
    """A map-style data set of a user: `dataset[i]` is (input, label), of one shape and type for all i.

    Both are tensors, arrays or numbers, converted by `numbers` and `classes`; images (channels, height, width).
    Raises DataInvalid, which begins with `where`, the name of the part, for an item of another form.
    """

    augments = False
    slow = True
    scale, shift = 1.0, 0.0

    def __init__(self, dataset: Any, where: str = "the data set") -> None:
        self._dataset, self._where = dataset, where
        try:
            item, label = self._at(0)
        except HookeError:
            raise
        except Exception as error:  # of the user's data set
            raise DataInvalid(
                f"{where}: its first item, [0], cannot be read: {type(error).__name__}: {error}"
            ) from error
        self.shape, self.dtype = tuple(item.shape), item.dtype
        self.label_shape, self.label_dtype = tuple(label.shape), label.dtype

    def _at(self, index: int) -> tuple[Tensor, Tensor]:
        pair, where = self._dataset[index], f"{self._where}: item {index}"
        if not isinstance(pair, tuple | list):
            raise DataInvalid(f"{where} must be (input, label), not {type(pair).__name__}")
        if len(pair) != 2:
            raise DataInvalid(f"{where} must be (input, label), not a {type(pair).__name__} of {len(pair)}")
        item, label = numbers(pair[0], where), classes(numbers(pair[1], where))
        return (item.permute(1, 2, 0) if item.dim() == 3 else item), label

    def __len__(self) -> int:
        return len(self._dataset)

    def read(self, at: Tensor, items: Tensor, labels: Tensor, random: np.random.Generator | None) -> None:
        """Read one item after the other from the data set; see `Source`."""
        del random
        for row, index in enumerate(at.tolist()):
            item, label = self._at(index)
            if (item.shape, label.shape) != (items.shape[1:], labels.shape[1:]):
                raise DataInvalid(
                    f"{self._where}: item {index} has the shapes {tuple(item.shape)} and {tuple(label.shape)}, "
                    f"not {self.shape} and {self.label_shape} as item 0: all items need the same"
                )
            items[row].copy_(item)
            labels[row].copy_(label)


class Subset:
    """A subset of a `source`, in the order of the indices `items`, (n,) int64; nothing is copied."""

    def __init__(self, source: Source, items: NDArray[np.int64]) -> None:
        self.source, self.items = source, torch.from_numpy(items)
        self.shape, self.dtype = source.shape, source.dtype
        self.label_shape, self.label_dtype = source.label_shape, source.label_dtype
        self.scale, self.shift = source.scale, source.shift
        self.augments, self.slow = source.augments, source.slow

    def __len__(self) -> int:
        return len(self.items)

    def read(self, at: Tensor, items: Tensor, labels: Tensor, random: np.random.Generator | None) -> None:
        """Read items of the subset; see `Source`."""
        self.source.read(self.items[at], items, labels, random)


def split_off(train: Source) -> tuple[Subset, Subset]:
    """Split a training part into training and validation part, by the rule of `hooke.objective.parts`."""
    kept, held = held_out(len(train))
    return Subset(train, kept), Subset(train, held)
