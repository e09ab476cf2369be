"""A small Transformer that predicts the next character (decoder only, normalisation first, no dropout)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional


class Block(nn.Module):
    """x + attention(norm(x)), then x + mlp(norm(x)); causal attention."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        """Return (b, t, width) for (b, t, width)."""
        count, length, width = x.shape
        parts = self.attend(self.norm1(x)).view(count, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.project(seen.transpose(1, 2).reshape(count, length, width))
        wide = functional.gelu(self.widen(self.norm2(x)))
        narrow: Tensor = self.narrow(wide)
        return x + narrow


class Transformer(nn.Module):
    """Maps characters (b, t), int64, to logits of the next ones (b, t, vocabulary)."""

    def __init__(self, vocabulary: int, context: int, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.character = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.answer = nn.Linear(width, vocabulary, bias=False)

    def forward(self, characters: Tensor) -> Tensor:
        """Return (b, t, vocabulary): position i predicts the character after 0..i."""
        positions = torch.arange(characters.shape[1], device=characters.device)
        scores: Tensor = self.answer(self.norm(self.blocks(self.character(characters) + self.position(positions))))
        return scores


def initialise(model: nn.Module, generator: torch.Generator) -> None:
    """Draw weights as GPT-2: normal, deviation 0.02; 0.02 / sqrt(2 layers) at the end of a residual branch."""
    layers = sum(isinstance(m, Block) for m in model.modules())
    for name, parameter in model.named_parameters():
        ends = name.endswith(("project.weight", "narrow.weight"))
        if parameter.dim() >= 2:
            parameter.normal_(0, 0.02 / (math.sqrt(2 * layers) if ends else 1), generator=generator)
        else:
            parameter.fill_(1.0 if "norm" in name and name.endswith("weight") else 0.0)
