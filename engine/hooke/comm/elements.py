"""Arithmetic on the element types that travel: float32, float64, float16, and bfloat16 in disguise.

NumPy has no bfloat16, so an array of uint16 is one by convention, everywhere in this package: its elements
are the upper halves of float32. Sums of half types are formed in float32 and rounded to nearest, ties to
even, by torch, which does it with vector instructions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

BF16 = np.dtype(np.uint16)
"""The disguise of bfloat16."""
_NAN_BF16 = 0x7FC0

Array = NDArray[Any]


def add(target: Array, other: Array) -> None:
    """Add in place; each element of a half type is rounded once."""
    if target.dtype.itemsize == 2:
        tensor(target).add_(tensor(other))
    else:
        target += other


def add_scaled(target: Array, other: Any, alpha: float) -> None:
    """Add alpha * other in place. A tensor is added by `Tensor.add_`: the bits of whoever writes that himself."""
    if isinstance(other, np.ndarray):
        target += np.float32(alpha) * other
    else:
        tensor(target).add_(other, alpha=alpha)


def spoil(target: Array) -> None:
    """Overwrite every element by NaN."""
    target.fill(_NAN_BF16 if target.dtype == BF16 else np.nan)


def portable(array: Array) -> Array:
    """Return the array as a type that every MPI library can move: float16 is not one."""
    return array.view(np.uint16) if array.dtype == np.float16 else array


def tensor(array: Array) -> Any:
    """Return the torch tensor that shares memory with the array; bfloat16 without its disguise."""
    import torch  # late: ranks that exchange float32 arrays need no torch

    if array.dtype == BF16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def host(vector: Any) -> Any:
    """Return a vector's elements as an array in host memory: shared where it lies there, else a copy."""
    return (vector.cpu() if hasattr(vector, "cpu") else vector).numpy()
