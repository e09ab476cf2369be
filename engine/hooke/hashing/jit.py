"""Compilation of kernels by numba, random numbers that are functions of their keys, and threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
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
        "hashed output layers need numba, which is not installed: pip install 'hooke[compute]'"
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


class Threads:
    """`count` threads, the calling one among them, that run kernels over ranges.

    Kernels release the GIL. Results never depend on `count`: a range writes only what belongs to it, and sums
    over ranges are taken in the order of the ranges. Instances may be used from several threads.
    """

    def __init__(self, count: int = 1) -> None:
        if count < 1:
            raise ArgumentError(f"the number of threads is {count}; it must be at least 1")
        self.count = count
        self._pool = ThreadPoolExecutor(count - 1, thread_name_prefix="hashing") if count > 1 else None

    def over(self, n: int, work: Callable[[int, int], object], grain: int = 1) -> None:
        """Call `work(begin, end)` on ranges that together are range(n), of at least `grain` if n is."""
        pieces = min(1 if self._pool is None else 4 * self.count, max(1, n // grain))
        bounds = [n * piece // pieces for piece in range(pieces + 1)]
        remaining = iter(range(pieces))  # next() is atomic: a thread that is free takes the next range

        def take() -> None:
            for piece in remaining:
                work(bounds[piece], bounds[piece + 1])

        others = [self._pool.submit(take) for _ in range(min(self.count, pieces) - 1)] if self._pool else []
        take()
        for other in others:
            other.result()


ONE = Threads(1)


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
