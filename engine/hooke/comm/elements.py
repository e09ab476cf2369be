"""Arithmetic on the element types of messages: float32, float64, float16 and bfloat16.

NumPy has no bfloat16. In this package an array of uint16 holds bfloat16 by convention: its elements are the
upper halves of float32. Sums of half types are formed in float32 and rounded to nearest, ties to even, by
torch, which uses vector instructions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

BF16 = np.dtype(np.uint16)
"""NumPy type that holds bfloat16."""
_NAN_BF16 = 0x7FC0

Array = NDArray[Any]


def add(target: Array, other: Array) -> None:
    """Add `other` to `target` in place; each element of a half type is rounded once."""
    if target.dtype.itemsize == 2:
        tensor(target).add_(tensor(other))
    else:
        target += other


def add_scaled(target: Array, other: Any, alpha: float) -> None:
    """Add alpha * other in place; for a tensor with `Tensor.add_`, so that the bits are the same as with torch."""
    if isinstance(other, np.ndarray):
        target += np.float32(alpha) * other
    else:
        tensor(target).add_(other, alpha=alpha)


def spoil(target: Array) -> None:
    """Overwrite every element with NaN."""
    target.fill(_NAN_BF16 if target.dtype == BF16 else np.nan)


def portable(array: Array) -> Array:
    """Return the array in a type that every MPI library supports, which float16 is not."""
    return array.view(np.uint16) if array.dtype == np.float16 else array


def tensor(array: Array) -> Any:
    """Return the torch tensor that shares memory with the array; uint16 becomes bfloat16."""
    import torch  # late: ranks that exchange float32 arrays need no torch

    if array.dtype == BF16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def host(vector: Any) -> Any:
    """Return a vector's elements as an array in host memory: a view of a host tensor, else a copy.

    Of bfloat16 it is an array of type BF16.
    """
    here = vector.cpu() if hasattr(vector, "cpu") else vector
    try:
        return here.numpy()
    except TypeError:  # NumPy has no bfloat16
        return bits(here)


def numbers(vector: Any) -> Any:
    """Return by what single elements of a vector are read and written: its array in host memory, or itself.

    An element of a tensor takes some ten times as long as one of the array that shares its memory.
    """
    there = str(getattr(vector, "device", "cpu")) == "cpu" and not is_bf16(vector)
    return host(vector) if there and hasattr(vector, "numpy") else vector


def is_bf16(vector: Any) -> bool:
    """Return whether a vector is a tensor of bfloat16."""
    return str(getattr(vector, "dtype", "")) == "torch.bfloat16"


def sendable(vector: Any) -> Any:
    """Return a vector as communicators take it: of a bfloat16 tensor the array that shares its memory."""
    return bits(vector) if is_bf16(vector) else vector


def bits(tensor: Any) -> Array:
    """Return the array of type BF16 that shares memory with a bfloat16 tensor in host memory."""
    import torch

    return tensor.view(torch.int16).numpy().view(BF16)  # type: ignore[no-any-return]


def single(vector: Any, copied: bool = True) -> Array:
    """Return a vector's elements in float32 in host memory: a copy, or without `copied` themselves if possible."""
    array: Array = host(vector)
    if array.dtype == BF16:
        return np.asarray(tensor(array).float().numpy())
    return array.copy() if copied else array
