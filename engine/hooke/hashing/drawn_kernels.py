"""Kernels of active sets whose samples share a draw: products with the drawn rows, and the rest row by row.

The drawn rows are copied once per step into one matrix, so that logits, the gradient of the hidden vectors and
those of the drawn rows are products of matrices that stay in cache. Sums go over terms in ascending order, eight
at a time, whatever range of samples or rows a thread has; BLAS does not promise this.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hooke.hashing.family import Ints
from hooke.hashing.jit import compiled, prefetch
from hooke.hashing.kernels import AHEAD, LINE
from hooke.hashing.lists import Longs
from hooke.hashing.step_kernels import AT_ONCE, Real, step_rows

TERMS = 8
"""Terms of a product that are added at once: one load and one store of a sum for eight products."""
BLOCK, NARROW = 32, 256
"""Rows of a factor that are used together, if they have at most NARROW elements: for first-level cache."""
TOGETHER = 8
"""Samples whose logits and derivatives stay in cache between the products."""
SINGLE, SEVERAL = np.uint8(1), np.uint8(2)

_LEAST, _LOG2E, _HALF = np.float32(-87), np.float32(1.4426950408889634), np.float32(0.5)
_1, _LN2 = np.float32(1), np.float32(0.6931471805599453)
_C2, _C3, _C4 = np.float32(0.24022650695910072), np.float32(0.05550410866482158), np.float32(0.009618129107628477)
_C5, _C6, _C7 = (
    np.float32(1.3333558146428443e-3),
    np.float32(1.5403530393381606e-4),
    np.float32(1.525273380405984e-5),
)
_BIAS, _SHIFT = np.int32(127), np.int32(23)


@compiled(helper=True)
def exponential(x: Any) -> Any:
    """Return e**x of a float32 x <= 0, to a relative error of 1e-6 + 1e-7 |x|; of x < -87 e**-87; of NaN NaN.

    2**t = 2**n 2**f with the nearest whole number n: a Taylor polynomial of 2**f, and n in the exponent's bits.
    Unlike a function of the mathematical library it is computed for all lanes of a register at once.
    """
    t = (_LEAST if x < _LEAST else x) * _LOG2E
    n = np.int32(t - _HALF)
    f = t - np.float32(n)
    p = _1 + f * (_LN2 + f * (_C2 + f * (_C3 + f * (_C4 + f * (_C5 + f * (_C6 + f * _C7))))))
    return p * np.int32(np.int32(n + _BIAS) << _SHIFT).view(np.float32)


@compiled(reassociate=True)
def add_products(begin: int, end: int, factors: Real, matrix: Real, sums: Real) -> None:
    """Add sum_j factors[i, j] * matrix[j] to the first elements of sums[i], for i in begin..end-1."""
    terms, lanes = matrix.shape
    block = BLOCK if lanes <= NARROW else TERMS
    for first in range(0, terms, block):
        last = min(first + block, terms)
        for i in range(begin, end):
            j = first
            while j + TERMS <= last:
                a, b, c, d = factors[i, j], factors[i, j + 1], factors[i, j + 2], factors[i, j + 3]
                p, q, r, s = factors[i, j + 4], factors[i, j + 5], factors[i, j + 6], factors[i, j + 7]
                for k in range(lanes):
                    sums[i, k] += (
                        (a * matrix[j, k] + b * matrix[j + 1, k]) + (c * matrix[j + 2, k] + d * matrix[j + 3, k])
                    ) + (
                        (p * matrix[j + 4, k] + q * matrix[j + 5, k])
                        + (r * matrix[j + 6, k] + s * matrix[j + 7, k])
                    )
                j += TERMS
            while j < last:
                a = factors[i, j]
                for k in range(lanes):
                    sums[i, k] += a * matrix[j, k]
                j += 1


@compiled()
def count_rows(ids: Ints, many: NDArray[np.uint8]) -> None:
    """Set many[row] of the rows in `ids` to SINGLE, or to SEVERAL if they are there more than once."""
    for row in ids:
        many[row] = SEVERAL if many[row] > 0 else SINGLE


@compiled(reassociate=True)
def softmax_drawn(
    begin: int, end: int, rows: Real, columns: Real, drawn_bias: Real, target_starts: Longs, targets: Ints,
    starts: Longs, ids: Ints, positives: Longs, hidden: Real, weight: Real, bias: Real, scale: float,
    many: NDArray[np.uint8], first_moment: Real, second_moment: Real, bias_moments: Real, kind: int, hyper: Real,
    touched: NDArray[np.uint8], shared: Real, delta: Real, gradient: Real, loss: NDArray[np.float64],
) -> None:  # fmt: skip
    """Softmax cross-entropy of samples begin..end-1 over the drawn rows and their own ones; see `softmax_rows`.

    shared[i, j] becomes the derivative of drawn row j, delta[e] that of entry e of the own lists; gradient and
    loss are those of `softmax_rows`. If `many` has elements, an own row that it marks as SINGLE takes its step at
    once, while it is in cache: no other sample reads it.
    """
    width, drawn = hidden.shape[1], rows.shape[0]
    zero = hidden.dtype.type(0)
    totals, biases = np.empty((AT_ONCE, width), weight.dtype), np.empty(AT_ONCE, weight.dtype)
    chosen = np.empty(AT_ONCE, np.int32)
    for low in range(begin, end, TOGETHER):
        high = min(low + TOGETHER, end)
        for i in range(low, high):
            for j in range(drawn):
                shared[i, j] = drawn_bias[j]
            for k in range(width):
                gradient[i, k] = zero
        add_products(low, high, hidden, columns, shared)
        for i in range(low, high):
            first, last, from_target, to_target = starts[i], starts[i + 1], target_starts[i], target_starts[i + 1]
            labels = positives[i] + to_target - from_target
            if labels == 0:
                loss[i] = 0.0
                for j in range(drawn):
                    shared[i, j] = zero
                for e in range(first, last):
                    delta[e] = zero
                continue
            own_logits(i, first, last, ids, hidden, weight, bias, many, first_moment, second_moment, delta)
            loss[i] = softmax_in_place(
                shared[i], delta[first:last], targets[from_target:to_target], positives[i], labels, scale
            )
            e = first
            while e < last:
                stop = min(e + 4, last)
                if stop == e + 4:
                    a, b, c, d = ids[e], ids[e + 1], ids[e + 2], ids[e + 3]
                    p, q, r, s = delta[e], delta[e + 1], delta[e + 2], delta[e + 3]
                    for k in range(width):
                        gradient[i, k] += (p * weight[a, k] + q * weight[b, k]) + (
                            r * weight[c, k] + s * weight[d, k]
                        )
                else:
                    for f in range(e, stop):
                        a, p = ids[f], delta[f]
                        for k in range(width):
                            gradient[i, k] += p * weight[a, k]
                e = stop
            n = 0
            for e in range(first, last if many.shape[0] > 0 else first):
                if many[ids[e]] == SINGLE:
                    chosen[n], biases[n] = ids[e], delta[e]
                    for k in range(width):
                        totals[n, k] = delta[e] * hidden[i, k]
                    n += 1
                    if touched.shape[0] > 0:
                        touched[ids[e]] = 1
                if n == AT_ONCE or (n > 0 and e == last - 1):
                    step_rows(
                        chosen, 0, n, totals, biases, weight, bias, first_moment, second_moment, bias_moments,
                        kind, hyper,
                    )  # fmt: skip
                    n = 0
        add_products(low, high, shared, rows, gradient)


@compiled(reassociate=True, helper=True)
def softmax_in_place(drawn: Real, own: Real, targets: Ints, positives: int, labels: int, scale: float) -> float:
    """Replace the logits of a sample's drawn and own rows by derivatives of its loss, times `scale`; return it.

    Labels are drawn[targets] and own[:positives], `labels` of them.
    """
    top = drawn[targets[0]] if len(targets) > 0 else own[0]
    for j in range(len(own)):
        top = max(top, own[j])
    for j in range(len(drawn)):
        top = max(top, drawn[j])
    picked = 0.0
    for j in range(positives):
        picked += own[j]
    for place in targets:
        picked += drawn[place]
    if drawn.itemsize == 4:  # noqa: PLR2004 - bytes of float32; known when this is compiled
        for j in range(len(drawn)):
            drawn[j] = exponential(drawn[j] - top)
        for j in range(len(own)):
            own[j] = exponential(own[j] - top)
    else:
        for j in range(len(drawn)):
            drawn[j] = np.exp(drawn[j] - top)
        for j in range(len(own)):
            own[j] = np.exp(own[j] - top)
    total = 0.0
    for j in range(len(drawn)):
        total += drawn[j]
    for j in range(len(own)):
        total += own[j]
    share, factor = drawn.dtype.type(scale / labels), drawn.dtype.type(scale / total)
    for j in range(len(drawn)):
        drawn[j] *= factor
    for place in targets:
        drawn[place] -= share
    for j in range(len(own)):
        own[j] *= factor
    for j in range(positives):
        own[j] -= share
    loss: float = top + np.log(total) - picked / labels
    return loss


@compiled(reassociate=True, helper=True)
def own_logits(
    i: int, first: int, last: int, ids: Ints, hidden: Real, weight: Real, bias: Real, many: NDArray[np.uint8],
    first_moment: Real, second_moment: Real, delta: Real,
) -> None:  # fmt: skip
    """Write delta[e] = weight[ids[e]] . hidden[i] + bias[ids[e]] for the entries first..last-1 of sample i."""
    width, zero = hidden.shape[1], hidden.dtype.type(0)
    e = first
    while e < last:
        for f in range(e + AHEAD, min(e + AHEAD + 4, len(ids))):  # those of the next sample, too
            for k in range(0, width, LINE):
                prefetch(weight, ids[f], k)
            if many.shape[0] > 0:
                if second_moment.shape[0] > 0:
                    for k in range(0, second_moment.shape[1], LINE):
                        prefetch(second_moment, ids[f], k)
                if first_moment.shape[0] > 0:
                    for k in range(0, width, LINE):
                        prefetch(first_moment, ids[f], k)
        if e + 4 <= last:
            a, b, c, d = ids[e], ids[e + 1], ids[e + 2], ids[e + 3]
            p, q, r, s = zero, zero, zero, zero
            for k in range(width):
                x = hidden[i, k]
                p += x * weight[a, k]
                q += x * weight[b, k]
                r += x * weight[c, k]
                s += x * weight[d, k]
            delta[e], delta[e + 1], delta[e + 2], delta[e + 3] = p, q, r, s
            e += 4
        else:
            a, p = ids[e], zero
            for k in range(width):
                p += hidden[i, k] * weight[a, k]
            delta[e] = p
            e += 1
    if bias.shape[0] > 0:
        for e in range(first, last):
            delta[e] += bias[ids[e]]


@compiled(reassociate=True)
def shared_gradients(begin: int, end: int, shared: Real, hidden: Real, sums: Real) -> None:
    """Write sums[j, :width] = sum_i shared[i, j] * hidden[i] for drawn rows j in begin..end-1.

    If sums have an element more than hidden vectors, it gets sum_i shared[i, j], the gradient of the bias.
    """
    width, zero = hidden.shape[1], hidden.dtype.type(0)
    for j in range(begin, end):
        for k in range(sums.shape[1]):
            sums[j, k] = zero
    add_products(begin, end, shared.T, hidden, sums)
    if sums.shape[1] > width:
        for i in range(len(hidden)):
            for j in range(begin, end):
                sums[j, width] += shared[i, j]
