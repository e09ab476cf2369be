"""Checks of models and parts of data sets that a user gives, by the functions of a file or as arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hooke.errors import DataInvalid
from hooke.objective.parts import FEWEST
from hooke.objective.samples import Mapped, Samples, Source

Parts = tuple[Source, Source | None, Source]
"""Training, validation (None: split off the training part) and test part."""


def checked_model(made: Any, where: str) -> nn.Module:
    """Return a model that can be trained. Raises DataInvalid for anything else; `where` names the function."""
    if not isinstance(made, nn.Module) or not list(made.parameters()):
        raise DataInvalid(f"{where} must return an nn.Module with parameters, not {type(made).__name__}")
    wrong = (n for n, p in made.named_parameters() if p.dtype != torch.float32 or not p.requires_grad)
    if frozen := list(wrong):
        raise DataInvalid(
            f"{where}: every parameter is trained and float32; {frozen[0]} is not: keep constants in buffers"
        )
    return made


def source(part: Any, where: str) -> Source:
    """Return a part of a data set: two tensors or arrays, inputs (n, ...) and labels (n, ...), or a map-style one.

    Inputs are uint8, float32 or int64; other types are converted. Raises DataInvalid, which begins with `where`,
    the name of the part.
    """
    if not _is_pair(part):
        if not hasattr(part, "__getitem__") or not hasattr(part, "__len__") or isinstance(part, _SEQUENCES):
            raise DataInvalid(
                f"{where} must be (inputs, labels), two tensors or arrays, or a map-style data set with len() and "
                f"[i], not {type(part).__name__}"
            )
        if len(part) == 0:
            raise DataInvalid(f"{where} is empty")
        return Mapped(part)
    inputs, labels = (_plain(torch.as_tensor(x), where) for x in part)
    if inputs.dim() == 0 or labels.dim() == 0 or len(inputs) != len(labels) or len(inputs) == 0:
        counts = [len(x) if x.dim() else "no" for x in (inputs, labels)]
        raise DataInvalid(f"{where} has {counts[0]} inputs and {counts[1]} labels")
    return Samples(inputs, labels if labels.dtype != torch.uint8 else labels.long())


def check_size(train: Source, validation: Source | None, where: str, instead: str) -> None:
    """Raise DataInvalid if no validation part can be split off; `instead` says how to give one."""
    if validation is None and len(train) < FEWEST:
        raise DataInvalid(
            f"{where}: no validation part can be split off {len(train)} training items: {instead}, or at least "
            f"{FEWEST} of them"
        )


_SEQUENCES = (tuple, list, str, Tensor, np.ndarray)
"""Not data sets, although they have len() and [i]."""


def _is_pair(part: Any) -> bool:
    arrays = (Tensor, np.ndarray)
    return isinstance(part, tuple | list) and len(part) == 2 and all(isinstance(x, arrays) for x in part)


def _plain(values: Tensor, where: str) -> Tensor:
    if values.is_complex():
        raise DataInvalid(f"{where} has complex numbers: give real and imaginary parts as two channels")
    if values.is_floating_point() or values.dtype == torch.bool:
        return values.float()
    return values if values.dtype in (torch.uint8, torch.int64) else values.long()
