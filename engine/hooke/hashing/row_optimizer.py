"""Optimizers of the rows that samples touch."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hooke.errors import ArgumentError
from hooke.hashing.entries import Entries, check_ids
from hooke.hashing.family import Ints
from hooke.hashing.kernels import apply_rows
from hooke.hashing.step_kernels import ADAGRAD, LAZY_ADAM, ROW_ADAM, SGD, Real
from hooke.hashing.threads import ONE, Threads

Kind = Literal["sgd", "adagrad", "row-adam", "lazy-adam"]

_KINDS = {"sgd": SGD, "adagrad": ADAGRAD, "row-adam": ROW_ADAM, "lazy-adam": LAZY_ADAM}
_GIVEN_AT_ONCE = 256
_LEAST = 128
"""Entries of a range of threads, on average."""
_SECOND = {"sgd": 0, "adagrad": 1, "row-adam": 3}


class RowOptimizer:
    """An optimizer of a layer's rows that changes a row only in steps that touch it.

    kinds: sgd; adagrad and row-adam, with one second moment per row (4 and 12 bytes per row); lazy-adam, with two
    moments per element, as torch.optim.SparseAdam. `momentum` gives row-adam a first moment per element. Rows
    that are not touched stay bit for bit as they are: unlike in dense Adam, they do not move on by their momentum.
    Equations: `hooke.hashing.step_kernels.step_rows`.
    """

    def __init__(
        self,
        kind: Kind,
        shape: tuple[int, ...],
        rate: float = 0.01,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        epsilon: float = 1e-8,
        momentum: bool = False,
        biased: bool = False,
        dtype: Any = np.float32,
    ) -> None:
        if kind not in _KINDS:
            raise ArgumentError(f"no optimizer of rows is called {kind!r}; there are: {', '.join(_KINDS)}")
        if not (rate > 0 and min(betas) >= 0 and max(betas) < 1 and epsilon > 0):
            raise ArgumentError(
                f"rate is {rate}, betas are {betas}, epsilon is {epsilon}: rate and epsilon must be "
                "positive, betas in [0, 1)"
            )
        rows, width = shape
        moments = kind == "lazy-adam" or (kind == "row-adam" and momentum)
        self.kind, self.rate, self.steps, self.biased = kind, rate, 0, biased
        self._shape = (rows, width)
        self._betas, self._epsilon = betas, epsilon
        self.first = np.zeros((rows if moments else 0, width), dtype)
        self.second = np.zeros((0 if kind == "sgd" else rows, _SECOND.get(kind, width)), dtype)
        self.bias_moments = np.zeros((rows if moments and biased else 0, 2), dtype)

    @property
    def bytes(self) -> int:
        """Memory of the moments."""
        return self.first.nbytes + self.second.nbytes + self.bias_moments.nbytes

    def step(
        self, entries: Entries, vectors: Real, weight: Real, bias: Real | None = None,
        threads: Threads = ONE, touched: NDArray[np.uint8] | None = None,
    ) -> None:  # fmt: skip
        """Step each touched row along the sum of values[e] * vectors[samples[e]] over its entries.

        touched[row] is set to 1, if given, for an update of hash tables.
        """
        self.begin(weight, bias)
        self.apply(entries, vectors, weight, bias, threads, touched=touched)

    def step_given(
        self, rows: Ints, gradients: Real, weight: Real, bias: Real | None = None, threads: Threads = ONE
    ) -> None:
        """Step `rows`, different ones, along `gradients` as `gradients` returns them."""
        check_ids(rows, len(weight), "rows")
        if gradients.shape != (len(rows), weight.shape[1] + (bias is not None)):
            raise ArgumentError(
                f"gradients of shape {gradients.shape} given for {len(rows)} rows of {weight.shape}"
            )
        self.begin(weight, bias)
        self.apply_given(rows, gradients, weight, bias, threads)

    def begin(self, weight: Real, bias: Real | None = None) -> None:
        """Begin a step, which is taken by calls of `apply` and `apply_given` for different rows."""
        if weight.shape != self._shape:
            raise ArgumentError(f"weights of shape {weight.shape} given to an optimizer of {self._shape}")
        if (bias is not None) != self.biased:
            raise ArgumentError(f"an optimizer with biased = {self.biased} was given bias = {bias!r:.40}")
        self.steps += 1

    def arguments(self, dtype: Any) -> tuple[Real, Real, Real, int, Real]:
        """Return what kernels need for steps: moments of rows and biases, kind and numbers of `step_rows`."""
        return self.first, self.second, self.bias_moments, _KINDS[self.kind], self._hyper(dtype)

    def apply_given(
        self, rows: Ints, gradients: Real, weight: Real, bias: Real | None = None, threads: Threads = ONE,
        touched: NDArray[np.uint8] | None = None,
    ) -> None:  # fmt: skip
        """Step `rows`, different ones, along their gradients."""
        n = len(rows)
        parts = np.append(np.arange(0, n, _GIVEN_AT_ONCE), n)
        own = np.arange(n)
        entries = Entries(
            (n, len(weight)), parts, np.diff(parts), rows, own, own.astype(np.int32), np.ones(n, weight.dtype)
        )
        self.apply(entries, gradients, weight, bias, threads, touched=touched)

    def gradients(
        self, entries: Entries, vectors: Real, weight: Real, threads: Threads = ONE, more: int = 0
    ) -> tuple[Ints, Real]:
        """Return the touched rows and their gradients (rows, width); the last column is the bias's if `biased`.

        The gradients have so many rows `more`, behind those, for the caller to write.
        """
        rows = entries.touched
        into = np.empty((len(rows) + more, weight.shape[1] + self.biased), weight.dtype)
        if len(rows):
            self.apply(entries, vectors, weight, None, threads, gradients=into)
        return rows, into

    def apply(
        self, entries: Entries, vectors: Real, weight: Real, bias: Real | None, threads: Threads = ONE,
        *, touched: NDArray[np.uint8] | None = None, gradients: Real | None = None,
    ) -> None:  # fmt: skip
        """Step touched rows, or, with `gradients`, write their gradients there."""
        if entries.shape != (len(vectors), len(weight)) or entries.values.dtype != vectors.dtype:
            raise ArgumentError(
                f"{entries.values.dtype} entries of a matrix of shape {entries.shape} given for {len(vectors)} "
                f"{vectors.dtype} vectors and {len(weight)} rows"
            )
        b = np.empty(0, weight.dtype) if bias is None else bias
        into = np.empty((0, 0), weight.dtype) if gradients is None else gradients
        flags = np.empty(0, np.uint8) if touched is None else touched
        places = entries.places
        first, second, bias_moments, kind, hyper = self.arguments(weight.dtype)

        def work(begin: int, end: int) -> None:
            apply_rows(
                begin, end, entries.parts, entries.distinct, entries.rows, entries.starts, entries.samples,
                entries.values, vectors, weight, b, first, second, bias_moments, kind, hyper, flags, into, places,
            )  # fmt: skip

        threads.over(len(entries.distinct), work, entries.grain(_LEAST))

    def _hyper(self, dtype: Any) -> Real:
        """Return the numbers that `step_rows` uses."""
        (beta1, beta2), rate = self._betas, self.rate
        if self.kind == "lazy-adam":
            steps = max(self.steps, 1)
            rate *= math.sqrt(1 - beta2**steps) / (1 - beta1**steps)
        return np.array([rate, beta1, 1 - beta1, beta2, 1 - beta2, self._epsilon], dtype)
