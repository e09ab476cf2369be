"""What was observed of a run, from which the equations of its method say where it must have ended.

A method names its equations by `reference = "module.function"`: a function in `tests/engine/reference/methods/`
that takes an `Observed` and returns an `End`. None of these files imports the product.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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

    @property
    def nesterov(self) -> bool:
        """Return whether gradients are taken at the look-ahead point."""
        return bool(self.values["momentum_kind"] == "nesterov")

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
    """Return the function that a method names; ImportError or AttributeError where there is none."""
    module, name = reference.rsplit(".", 1)
    found: Callable[[Observed], End] = getattr(
        importlib.import_module(f"tests.engine.reference.methods.{module}"), name
    )
    return found
