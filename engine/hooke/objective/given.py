"""Checks of models and parts of data sets that a user gives, by the functions of a file or as arguments."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from hooke.errors import DataInvalid
from hooke.objective.models.layers import Dropout
from hooke.objective.parts import FEWEST
from hooke.objective.samples import Mapped, Samples, Source, classes, numbers

Parts = tuple[Source, Source | None, Source]
"""Training, validation (None: split off the training part) and test part."""


def checked_model(made: Any, where: str) -> nn.Module:
    """Return a model that can be trained. Raises DataInvalid for anything else; `where` names the function."""
    if not isinstance(made, nn.Module) or not list(made.parameters()):
        raise DataInvalid(f"{where} must return an nn.Module with parameters, not {type(made).__name__}")
    if shapeless := [name for name, p in made.named_parameters() if is_lazy(p)]:
        raise DataInvalid(f"{where}: {shapeless[0]} has no shape yet: give lazy layers their number of inputs")
    wrong = (n for n, p in made.named_parameters() if p.dtype != torch.float32 or not p.requires_grad)
    if frozen := list(wrong):
        raise DataInvalid(
            f"{where}: every parameter is trained and float32; {frozen[0]} is not: keep constants in buffers"
        )
    return made


ALIVE: weakref.WeakValueDictionary[tuple[str, int], Any] = weakref.WeakValueDictionary()
"""What the models of this process hold that are still in use, by `_held`."""


def check_own(model: nn.Module) -> None:
    """Raise DataInvalid if a model shares parameters, buffers or a dropout with one that is still in use.

    Ranks that are threads of one process would train each other's. Calls must exclude each other.
    """
    held = list(_held(model))
    for name, key, value in held:
        other = ALIVE.get(key)
        if other is not None and _key(other) == _key(value):
            raise DataInvalid(
                f"`model`: `{name}` is that of another model that was made before, and every worker trains its "
                "own: make it inside of the function, or put copy.deepcopy(...) of it into the model"
            )
    ALIVE.update({key: value for _, key, value in held})


def _held(model: nn.Module) -> Iterator[tuple[str, tuple[str, int], Any]]:
    """Yield name, key and object of all that a model changes in training."""
    own: list[tuple[str, Any]] = [*model.named_parameters(), *model.named_buffers()]
    own += [(name, module) for name, module in model.named_modules() if isinstance(module, Dropout)]
    for name, value in own:
        if (key := _key(value)) is not None:
            yield name, key, value


def _key(value: Any) -> tuple[str, int] | None:
    """Return a parameter or dropout as an object, whose data may move, a buffer as its memory, if it has any."""
    if not isinstance(value, Tensor) or isinstance(value, nn.Parameter):
        return "object", id(value)
    if is_lazy(value) or value.device.type == "meta" or not value.untyped_storage().data_ptr():
        return None
    return "memory", value.untyped_storage().data_ptr()


def source(part: Any, where: str) -> Source:
    """Return a part of a data set: two tensors or arrays, inputs (n, ...) and labels (n, ...), or a map-style one.

    Inputs are uint8, float32 or int64; other types are converted. Raises DataInvalid, which begins with `where`,
    the name of the part.
    """
    if not _is_pair(part):
        if not hasattr(part, "__getitem__") or not hasattr(part, "__len__") or isinstance(part, _SEQUENCES):
            pair = isinstance(part, tuple | list) and len(part) == 2
            kinds = " and ".join(type(each).__name__ for each in part) if pair else type(part).__name__
            raise DataInvalid(
                f"{where} must be (inputs, labels), two tensors or arrays, or a map-style data set with len() and "
                f"[i], not {kinds}" + (": convert them by numpy.asarray" if pair else "")
            )
        if len(part) == 0:
            raise DataInvalid(f"{where} is empty")
        return Mapped(part, where)
    inputs, labels = (numbers(x, where) for x in part)
    if inputs.dim() == 0 or labels.dim() == 0 or len(inputs) != len(labels) or len(inputs) == 0:
        counts = [len(x) if x.dim() else "no" for x in (inputs, labels)]
        raise DataInvalid(f"{where} has {counts[0]} inputs and {counts[1]} labels")
    return Samples(inputs, classes(labels))


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
