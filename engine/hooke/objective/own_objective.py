"""Checks the results of the functions of a user workload, and binds them to an Objective."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from hooke.catalogue.workload import Place
from hooke.errors import DataInvalid
from hooke.objective.flat import CONSTRUCTION, FlatObjective
from hooke.objective.parts import FEWEST
from hooke.objective.samples import Mapped, Samples, Source
from hooke.objective.task import custom

Parts = tuple[Source, Source | None, Source]
"""Training, validation (None: split off the training part) and test part."""

_SHARED: dict[tuple[int, str], Parts] = {}
"""Tensors are read-only, so ranks that are threads of one process share them; a user's data set may have state."""


def build(module: Any, path: Path, model: dict[str, Any], data: dict[str, Any], place: Place) -> FlatObjective:
    """Call the functions of an executed file. Raises DataInvalid if a result does not have the required form.

    While `data` runs, PyTorch's global generator has the same seed on every rank, so that all ranks draw the same.
    """
    with CONSTRUCTION:
        train, validation, test = _parts(module, path, data)

    def make() -> nn.Module:
        made = module.model(**model)
        if not isinstance(made, nn.Module) or not list(made.parameters()):
            kind = type(made).__name__
            raise DataInvalid(f"{path}: model() must return an nn.Module with parameters, not {kind}")
        wrong = (n for n, p in made.named_parameters() if p.dtype != torch.float32 or not p.requires_grad)
        if frozen := list(wrong):
            raise DataInvalid(
                f"{path}: every parameter is trained and float32; {frozen[0]} is not: keep constants in buffers"
            )
        return made

    task = custom(module.loss, getattr(module, "score", None))
    objective = FlatObjective(make, train, test, validation=validation, task=task, initialise="own", place=place)
    objective.notes["workload"] = str(path)
    return objective


def _parts(module: Any, path: Path, data: dict[str, Any]) -> Parts:
    key = id(module), repr(data)
    if key in _SHARED:
        return _SHARED[key]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        parts = module.data(**data)
    names = {2: ("train", "test"), 3: ("train", "validation", "test")}
    if not isinstance(parts, tuple | list) or len(parts) not in names:
        raise DataInvalid(
            f"{path}: data() must return (train, test) or (train, validation, test), not {type(parts).__name__}"
        )
    found = {name: _source(path, name, part) for name, part in zip(names[len(parts)], parts, strict=True)}
    if "validation" not in found and len(found["train"]) < FEWEST:
        raise DataInvalid(
            f"{path}: no validation part can be split off {len(found['train'])} training items: data() must "
            f"return (train, validation, test), or at least {FEWEST} of them"
        )
    three = found["train"], found.get("validation"), found["test"]
    if all(isinstance(part, Samples) for part in found.values()):
        _SHARED[key] = three
    return three


def _source(path: Path, name: str, part: Any) -> Source:
    pair = isinstance(part, tuple | list) and len(part) == 2 and all(isinstance(x, Tensor) for x in part)
    if not pair:
        if not hasattr(part, "__getitem__") or not hasattr(part, "__len__") or isinstance(part, tuple | list):
            raise DataInvalid(
                f"{path}: the {name} part of data() must be (inputs, labels), two tensors, or a map-style data "
                f"set with len() and [i], not {type(part).__name__}"
            )
        if len(part) == 0:
            raise DataInvalid(f"{path}: the {name} part of data() is empty")
        return Mapped(part)
    inputs, labels = (_plain(x) for x in part)
    if len(inputs) != len(labels) or len(inputs) == 0:
        raise DataInvalid(f"{path}: the {name} part of data() has {len(inputs)} inputs and {len(labels)} labels")
    return Samples(inputs, labels if labels.dtype != torch.uint8 else labels.long())


def _plain(values: Tensor) -> Tensor:
    if values.is_floating_point() or values.dtype == torch.bool:
        return values.float()
    return values if values.dtype in (torch.uint8, torch.int64) else values.long()
