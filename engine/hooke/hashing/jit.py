"""Compilation of kernels by numba, and random numbers that are functions of their keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from hooke.errors import ArgumentError

try:
    import numba
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.extending import intrinsic
except ImportError as missing:
    raise ArgumentError(
        "hashed output layers need numba, which is not installed: pip install -c constraints.txt -e "
        "'engine[compute]' in the clone of Hooke"
    ) from missing

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def compiled(*, reassociate: bool = False, helper: bool = False) -> Callable[[Kernel], Kernel]:
    """Return a decorator that compiles a function on its first call; the call releases the GIL.

    `helper`: only other kernels call it, and it becomes part of them; this saves its own compilation.
    `reassociate` lets the compiler reorder sums in order to vectorize them. The order is then fixed in the
    compiled code: it depends neither on the number of threads nor on the data. NaN and Inf propagate. Code is
    cached on disk where a folder can be written (NUMBA_CACHE_DIR), else compiled in every process.
    """
    flags = {"contract", "nsz", "arcp"} | ({"reassoc"} if reassociate else set())
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": flags, "no_cfunc_wrapper": True}
    if helper:
        options |= {"forceinline": True, "no_cpython_wrapper": True}

    def decorate(function: Kernel) -> Kernel:
        try:
            kernel = numba.njit(cache=True, **options)(function)
        except RuntimeError:  # numba found no folder that it may write
            kernel = numba.njit(**options)(function)
        return cast(Kernel, kernel)

    return decorate


_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_30, _27, _31 = np.uint64(30), np.uint64(27), np.uint64(31)


@compiled(helper=True)
def mix(key: np.uint64, index: int) -> np.uint64:
    """Return 64 random bits: output `index` of SplitMix64 (Steele et al. 2014) from state `key`."""
    z = key + (np.uint64(index) + np.uint64(1)) * _STEP
    z = (z ^ (z >> _30)) * _FIRST
    z = (z ^ (z >> _27)) * _SECOND
    return z ^ (z >> _31)


def key_of(*parts: int) -> np.uint64:
    """Return the key of a stream of random numbers: a function of `parts`, each at least 0."""
    return np.uint64(np.random.SeedSequence(parts).generate_state(1, np.uint64)[0])


def _prefetch(_: Any, array: Any, row: Any, column: Any) -> Any:
    """Return type and code of `prefetch`."""

    address_of: Any = cgutils.get_item_pointer

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        matrix = context.make_array(array)(context, builder, arguments[0])
        places = [
            context.cast(builder, argument, kind, types.intp)
            for argument, kind in zip(arguments[1:], signature.args[1:], strict=True)
        ]
        element = address_of(context, builder, array, matrix, places, wraparound=False)
        number, address = ir.IntType(32), cgutils.voidptr_t
        kind = ir.FunctionType(ir.VoidType(), [address, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [address], kind)
        read, keep, data = number(0), number(3), number(1)
        builder.call(function, [builder.bitcast(element, address), read, keep, data])
        return context.get_dummy_value()

    return types.void(array, row, column), generate


prefetch: Any = intrinsic(_prefetch)
"""prefetch(matrix, row, column): begin to load the cache line of an element; rows at random are not foreseen by
processors. Of no effect on results."""
