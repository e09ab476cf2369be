"""The audit's workload in NumPy float64: data, initial weights and gradient, from the formulas.

out = W2 sin(W1 x + b1) + b2;   f = mean over the batch of |out - y|^2 / 2;   d = 4 inputs, 6 units, 3 outputs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SHAPES = ((6, 4), (6,), (3, 6), (3,))
"""W1, b1, W2, b2: in this order they make the flat vector of weights."""
SIZE = 51


def _rounded(values: Array) -> Array:
    """Return the values rounded to float32, the type of data and initial weights."""
    return values.astype(np.float32).astype(np.float64)


def _items(count: int = 300) -> tuple[Array, Array]:
    k = np.arange(1, count + 1)[:, None]
    inputs = _rounded(np.sin(0.37 * k * np.arange(2, 6)))
    return inputs, _rounded(np.cos(0.11 * k * np.arange(1, 4)) * inputs[:, :1] + 0.5 * inputs[:, 1:2])


INPUTS, VALUES = _items()


def start() -> Array:
    """Return the initial weights, (51,)."""
    parts = [0.6 * np.cos(1.0 + i + 2.1 * np.arange(np.prod(shape))) for i, shape in enumerate(SHAPES)]
    return _rounded(np.concatenate(parts))


def matrices(weights: Array) -> list[Array]:
    """Return W1, b1, W2, b2 as views of a flat vector."""
    ends = np.cumsum([np.prod(shape) for shape in SHAPES])
    return [part.reshape(shape) for part, shape in zip(np.split(weights, ends[:-1]), SHAPES, strict=True)]


def gradient(weights: Array, items: NDArray[np.int64], one_output: int = 0) -> Array:
    """Return the gradient of f over these items at these weights, (51,).

    With `one_output` = k > 0 the distance of item n is that of the last output if k divides n, else that of output
    n mod 2.
    """
    w1, b1, w2, b2 = matrices(weights)
    x, inner = INPUTS[items], INPUTS[items] @ w1.T + b1
    hidden = np.sin(inner)
    error = (hidden @ w2.T + b2 - VALUES[items]) / len(items)
    if one_output:
        own = np.where(items % one_output == 0, 2, items % 2)
        error = np.where(np.arange(3) == own[:, None], error, 0.0)
    back = (error @ w2) * np.cos(inner)
    return np.concatenate([(back.T @ x).ravel(), back.sum(0), (error.T @ hidden).ravel(), error.sum(0)])
