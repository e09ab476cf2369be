"""GoogLeNet (Szegedy et al., arXiv 1409.4842, table 1): 22 layers, two auxiliary classifiers."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from hooke.objective.models.layers import Dropout
from hooke.objective.task import CLASSES, Task

AUXILIARY = 0.3
"""Weight of each auxiliary classifier's loss (section 5)."""

INCEPTIONS: dict[str, tuple[int, int, int, int, int, int, int]] = {
    # in, 1x1, 3x3 reduce, 3x3, 5x5 reduce, 5x5, pool projection
    "3a": (192, 64, 96, 128, 16, 32, 32),
    "3b": (256, 128, 128, 192, 32, 96, 64),
    "4a": (480, 192, 96, 208, 16, 48, 64),
    "4b": (512, 160, 112, 224, 24, 64, 64),
    "4c": (512, 128, 128, 256, 24, 64, 64),
    "4d": (512, 112, 144, 288, 32, 64, 64),
    "4e": (528, 256, 160, 320, 32, 128, 128),
    "5a": (832, 256, 160, 320, 32, 128, 128),
    "5b": (832, 384, 192, 384, 48, 128, 128),
}


def _convolution(before: int, after: int, size: int, stride: int = 1) -> nn.Module:
    return nn.Sequential(nn.Conv2d(before, after, size, stride, size // 2), nn.ReLU())


class Inception(nn.Module):
    """Four branches over the same input, with concatenated channels."""

    def __init__(
        self, before: int, one: int, reduce3: int, three: int, reduce5: int, five: int, pool: int
    ) -> None:  # noqa: PLR0913 - a row of the paper's table
        super().__init__()
        self.one = _convolution(before, one, 1)
        self.three = nn.Sequential(_convolution(before, reduce3, 1), _convolution(reduce3, three, 3))
        self.five = nn.Sequential(_convolution(before, reduce5, 1), _convolution(reduce5, five, 5))
        self.pool = nn.Sequential(nn.MaxPool2d(3, 1, 1), _convolution(before, pool, 1))

    def forward(self, x: Tensor) -> Tensor:
        """Return (b, one + three + five + pool, height, width)."""
        return torch.cat([self.one(x), self.three(x), self.five(x), self.pool(x)], 1)


class GoogLeNet(nn.Module):
    """For inputs (b, 3, 224, 224), or any size of at least 32; three outputs in training, see `forward`."""

    def __init__(self, classes: int, dropout: float = 0.4) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            _convolution(3, 64, 7, 2),
            nn.MaxPool2d(3, 2, ceil_mode=True),
            nn.LocalResponseNorm(5),
            _convolution(64, 64, 1),
            _convolution(64, 192, 3),
            nn.LocalResponseNorm(5),
            nn.MaxPool2d(3, 2, ceil_mode=True),
        )
        self.inceptions = nn.ModuleDict({name: Inception(*row) for name, row in INCEPTIONS.items()})
        self.halve = nn.MaxPool2d(3, 2, ceil_mode=True)
        self.auxiliary1, self.auxiliary2 = _auxiliary(512, classes), _auxiliary(528, classes)
        self.answer = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), Dropout(dropout), nn.Linear(1024, classes)
        )

    def forward(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor, Tensor]:
        """Return (b, classes); in training, also the outputs of the auxiliary classifiers after 4a and 4d."""
        x = self.stem(x)
        extra: list[Tensor] = []
        for name, inception in self.inceptions.items():
            x = inception(x)
            if self.training and name in ("4a", "4d"):
                extra.append((self.auxiliary1 if name == "4a" else self.auxiliary2)(x))
            if name in ("3b", "4e"):
                x = self.halve(x)
        answer: Tensor = self.answer(x)
        return (answer, extra[0], extra[1]) if extra else answer


def _auxiliary(before: int, classes: int) -> nn.Module:
    return nn.Sequential(
        nn.AdaptiveAvgPool2d(4),
        _convolution(before, 128, 1),
        nn.Flatten(),
        nn.Linear(128 * 4 * 4, 1024),
        nn.ReLU(),
        Dropout(0.7),
        nn.Linear(1024, classes),
    )


def _loss(output: Tensor | tuple[Tensor, Tensor, Tensor], labels: Tensor) -> Tensor:
    if isinstance(output, Tensor):
        return functional.cross_entropy(output, labels)
    answer, first, second = (functional.cross_entropy(part.float(), labels) for part in output)
    return answer + AUXILIARY * (first + second)


WITH_AUXILIARIES = Task(_loss, CLASSES.score)
"""Cross-entropy of the output; in training plus 0.3 times that of each auxiliary classifier."""
