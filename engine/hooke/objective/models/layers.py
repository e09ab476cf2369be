"""Layers and initialisations shared by several models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn

from hooke.errors import DataInvalid


class Dropout(nn.Dropout):
    """Dropout with its own generator, because ranks may be threads that share the global one."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__(p)
        self.reseed(0)

    def reseed(self, seed: int) -> None:
        """Seed the generator for the next forward pass."""
        self._seed, self._calls = seed, 0
        self._generator: torch.Generator | None = None

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - the name that nn.Module gives it
        """Zero each element with probability p and scale the rest by 1 / (1 - p); no effect in evaluation.

        Each call of a forward pass draws a mask of its own.
        """
        if not self.training or self.p == 0:
            return input
        generator = self._drawing(input.device)
        kept = torch.empty_like(input).bernoulli_(1 - self.p, generator=generator)
        return input * kept.div_(1 - self.p) if self.p < 1 else input * 0

    def _drawing(self, device: torch.device) -> torch.Generator:
        """Return the generator at the draws of this call."""
        if torch._C._current_graph_task_id() != -1:  # in a backward pass, which computes a forward one again
            if self._calls > 1:
                raise DataInvalid(
                    "a dropout that is used several times in a pass cannot be computed again by "
                    "torch.utils.checkpoint: give each place a dropout of its own"
                )
            return torch.Generator(device).manual_seed(self._seed)
        self._calls += 1
        if self._generator is None:
            self._generator = torch.Generator(device).manual_seed(self._seed)
        return self._generator


def localise(model: nn.Module) -> nn.Module:
    """Replace every nn.Dropout by one with the worker's own generator; return the model."""
    if type(model) is nn.Dropout:
        return Dropout(model.p)
    for name, child in list(model._modules.items()):  # a module with two names is in `named_children` once
        if child is not None and (changed := localise(child)) is not child:
            setattr(model, name, changed)
    return model


def kaiming(nonlinearity: Literal["relu", "linear"]) -> Callable[[nn.Module, torch.Generator], None]:
    """Return an initialisation: Kaiming's uniform distribution over the fan-in, norms one, biases zero.

    For `linear` this is Caffe's "xavier" filler, uniform over +-sqrt(3 / fan-in).
    """

    def draw(model: nn.Module, generator: torch.Generator) -> None:
        norms = (nn.modules.batchnorm._BatchNorm, nn.LayerNorm, nn.GroupNorm)
        scales = {id(m.weight) for m in model.modules() if isinstance(m, norms)}
        for parameter in model.parameters():
            if id(parameter) in scales:
                nn.init.ones_(parameter)
            elif parameter.dim() >= 2:
                nn.init.kaiming_uniform_(parameter, nonlinearity=nonlinearity, generator=generator)
            else:
                nn.init.zeros_(parameter)

    return draw
