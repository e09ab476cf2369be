"""ResNets for CIFAR-10 (He et al., arXiv 1512.03385, section 4.2): 6n + 2 layers, shortcuts without parameters."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional


class Block(nn.Module):
    """y = relu(x + bn(conv(relu(bn(conv(x)))))); where the size halves, x is subsampled and padded with zeros."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(after)
        self.stride, self.more = stride, after - before

    def forward(self, x: Tensor) -> Tensor:
        """Return y of shape (b, after, height / stride, width / stride)."""
        inner = self.norm2(self.conv2(functional.relu(self.norm1(self.conv1(x)))))
        if self.stride > 1 or self.more:
            x = functional.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, 0, self.more))
        return functional.relu(inner + x)


def resnet(blocks: int, classes: int = 10) -> nn.Module:
    """Return the network of 6 `blocks` + 2 layers for inputs (b, 3, 32, 32); ResNet-20 has 3 blocks per stage."""
    stages = [
        Block(before if i == 0 else after, after, stride if i == 0 else 1)
        for before, after, stride in ((16, 16, 1), (16, 32, 2), (32, 64, 2))
        for i in range(blocks)
    ]
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, 1, 1, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        *stages,
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, classes),
    )
