"""Checks the results of the functions of a user workload, and binds them to an Objective."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

from hooke.catalogue.workload import Place
from hooke.errors import DataInvalid
from hooke.objective.flat import CONSTRUCTION, FlatObjective
from hooke.objective.given import Parts, check_size, checked_model, source
from hooke.objective.samples import Samples
from hooke.objective.task import custom

_SHARED: dict[tuple[int, str], Parts] = {}
"""Tensors are read-only, so ranks that are threads of one process share them; a user's data set may have state."""


def build(module: Any, path: Path, model: dict[str, Any], data: dict[str, Any], place: Place) -> FlatObjective:
    """Call the functions of an executed file. Raises DataInvalid if a result does not have the required form.

    While `data` runs, PyTorch's global generator has the same seed on every rank, so that all ranks draw the same.
    """
    with CONSTRUCTION:
        train, validation, test = _parts(module, path, data)

    def make() -> nn.Module:
        return checked_model(module.model(**model), f"{path}: model()")

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
    found = {
        name: source(part, f"{path}: the {name} part of data()")
        for name, part in zip(names[len(parts)], parts, strict=True)
    }
    three = found["train"], found.get("validation"), found["test"]
    check_size(three[0], three[1], str(path), "data() must return (train, validation, test)")
    if all(isinstance(part, Samples) for part in found.values()):
        _SHARED[key] = three
    return three
