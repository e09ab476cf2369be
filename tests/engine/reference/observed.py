"""What was observed of a run, from which the equations of its method say where it must have ended.

A method names its equations by `reference = "module.function"`: a function in `tests/engine/reference/methods/`
or below a folder of HOOKE_PATH. It takes an `Observed` and returns an `End`. No file of this folder imports the
product.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.engine.reference.descent import Adam, Momentum, Step

SETTINGS = {
    "optimizer": "sgd", "weight_decay": 0.0, "clip_norm": None, "schedule": "constant", "warmup": 0.0,
    "milestone_factor": 1.0,
}  # fmt: skip
"""Of the step, where a method has none of its own."""
METHODS = Path(__file__).resolve().with_name("methods")
Array = NDArray[np.float64]
End = tuple[Sequence[Array], Array]
"""Weights of the workers that can be said, and the weights that are evaluated."""


@dataclass(frozen=True)
class Observed:
    """One run; `gradient(i, t, x)` is that of worker i's step t at x, with the batches that it picked."""

    values: Mapping[str, Any]
    """Every parameter of the method, defaults included."""
    workers: int
    steps: Sequence[int]
    """Local steps of each worker."""
    served: Sequence[int]
    """The worker of each exchange with a server, in order."""
    gradient: Callable[[int, int, Array], Array]
    start: Array
    shapes: Sequence[tuple[int, ...]]
    """Of the layers of the weights."""
    normal: Callable[[int], Array]
    """The first n standard normal numbers of the run's seed, as the product draws them."""
    seed: int
    period: int = 1
    """tau: the value of the parameter that the method declares as its period."""
    budget_steps: int = 0
    """Steps of a worker if all take equally many of the budget's."""

    @property
    def nesterov(self) -> bool:
        """Return whether gradients are taken at the look-ahead point."""
        return bool(self.values["momentum_kind"] == "nesterov")

    def factor(self, t: int) -> float:
        """Return the factor of the learning rate at a worker's step t: linear warm-up, then by the schedule."""
        v, steps = SETTINGS | dict(self.values), self.budget_steps
        warm = round(v["warmup"] * steps)
        done = max(0, min(t, steps) - warm)
        if v["schedule"] == "cosine":
            low = v["final_share"]
            later = low + (1 - low) * 0.5 * (1 + np.cos(np.pi * done / max(1, steps - warm)))
        else:
            reached = [m for m in v["milestones"] if t >= m * steps - 1e-9] if v["schedule"] == "step" else []
            later = v["milestone_factor"] ** len(reached)
        return float(later * (t + 1) / (warm + 1) if t < warm else later)

    def own(self, count: int | None = None, momentum: float | None = None) -> list[Step]:
        """Return a step for each worker, with the settings of the step."""
        v = SETTINGS | dict(self.values)
        sgd = v["optimizer"] == "sgd"
        mu = v["momentum"] if momentum is None else momentum
        default = 0.0 if sgd else 0.1
        decay = default if v["weight_decay"] is None else v["weight_decay"]
        shared: dict[str, Any] = {"decay": decay, "clip": v["clip_norm"], "factor": self.factor}
        number = range(count or self.workers)
        if v["optimizer"] == "adamw":
            return [Adam(v["lr"], **shared) for _ in number]
        if not sgd:
            raise ValueError("the equations of Muon are not stated here: see test_local_step.py")
        return [Momentum(v["lr"], mu, self.nesterov, **shared) for _ in number]

    def rate(self, springs: int) -> float:
        """Return the moving rate a: alpha; beta over the number of springs, or over that and tau; or lr rho."""
        if self.values["alpha"] is not None:
            return float(self.values["alpha"])
        if self.values["beta"] is not None:
            return (
                float(self.values["beta"]) / springs / (self.period if self.values["beta_per"] == "P tau" else 1)
            )
        return float(self.values["lr"] * self.values["rho"])


def equations(reference: str) -> Callable[[Observed], End]:
    """Return the function that a method names: that of this repository, or of the first folder that has it.

    Raises ImportError, which lists where it was looked for, if there is none, and whatever a user's file raises.
    """
    module, name = reference.rsplit(".", 1)
    files = [folder.joinpath(*module.split(".")).with_suffix(".py") for folder in (METHODS, *_folders())]
    for file in files:
        if file.is_file() and hasattr(found := _module(file), name):
            function: Callable[[Observed], End] = getattr(found, name)
            return function
    raise ImportError(f"no function {name!r} for the reference {reference!r} in: {', '.join(map(str, files))}")


def _folders() -> list[Path]:
    return [Path(entry).absolute() for entry in os.environ.get("HOOKE_PATH", "").split(os.pathsep) if entry]


@functools.cache
def _module(file: Path) -> ModuleType:
    if file.is_relative_to(METHODS):
        below = ".".join(file.relative_to(METHODS).with_suffix("").parts)
        return importlib.import_module(f"tests.engine.reference.methods.{below}")
    name = f"hooke_own_reference_{hashlib.sha256(str(file).encode()).hexdigest()[:8]}_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # a dataclass looks here for the names that its annotations use
    try:
        spec.loader.exec_module(module)
    except BaseException:  # no incomplete module may stay
        del sys.modules[name]
        raise
    return module
