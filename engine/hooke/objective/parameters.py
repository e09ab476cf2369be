"""Where the parameters of a model are in the flat vector, and which of them bf16 lowers."""

from __future__ import annotations

from torch import nn

from hooke.comm.base import Slice


def layout_of(model: nn.Module) -> tuple[Slice, ...]:
    """Return the slice of every parameter, in the order of the model."""
    parts: list[Slice] = []
    start = 0
    tables = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    last = [name for name, parameter in model.named_parameters() if parameter.dim() > 1][-1:]  # the output layer
    for name, parameter in model.named_parameters():
        hidden = id(parameter) not in tables and name not in last
        parts.append(Slice(name, start, start + parameter.numel(), tuple(parameter.shape), hidden))
        start = parts[-1].stop
    return tuple(parts)


def lowered(model: nn.Module) -> frozenset[str]:
    """Return the parameters that autocast would cast in every module that reads them."""
    casting = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
    cast = {id(p) for m in model.modules() if isinstance(m, casting) for p in m.parameters(recurse=False)}
    other = {id(p) for m in model.modules() if not isinstance(m, casting) for p in m.parameters(recurse=False)}
    return frozenset(name for name, p in model.named_parameters() if id(p) in cast - other)
