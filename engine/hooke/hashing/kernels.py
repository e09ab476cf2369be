"""Kernels of training: hidden vectors, softmax over active rows, entries sorted by row, optimizer steps of rows.

Phase 1 (`hidden_rows`, `softmax_rows`) runs over samples and only reads weights. Phase 2 (`count_entries`,
`scatter_entries`, `sort_parts`, `apply_rows`) runs over rows: each touched row gets the gradients of all samples
that touch it, summed in the order of the samples, and one step. So no two threads write the same numbers, and no
sum depends on the number of threads. Loops over rows take four at a time: their memory accesses overlap.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hooke.hashing.family import Ints
from hooke.hashing.jit import compiled, prefetch
from hooke.hashing.lists import Longs
from hooke.hashing.step_kernels import AT_ONCE, step_rows

Real = NDArray[np.floating[Any]]

AHEAD = 8
"""Rows by which loops over rows at random request memory in advance."""
LINE = 16
"""Elements of float32 in a cache line."""


@compiled()
def copy_rows(begin: int, end: int, ids: Ints, weight: Real, rows: Real, columns: Real) -> None:
    """Write weight[ids[j]] to rows[j] and, if it has any, to columns[:, j], for j in begin..end-1."""
    width = weight.shape[1]
    for j in range(begin, end):
        if j + AHEAD < end:
            for k in range(0, width, LINE):
                prefetch(weight, ids[j + AHEAD], k)
        row = ids[j]
        for k in range(width):
            rows[j, k] = weight[row, k]
        if columns.shape[0] > 0:
            for k in range(width):
                columns[k, j] = weight[row, k]


@compiled(reassociate=True)
def hidden_rows(
    begin: int, end: int, starts: Longs, ids: Ints, values: Real, weight: Real, bias: Real, hidden: Real
) -> None:
    """Write hidden[i] = max(0, bias + sum over entries e of sample i of values[e] * weight[ids[e]])."""
    width = weight.shape[1]
    for i in range(begin, end):
        for k in range(width):
            hidden[i, k] = bias[k]
        e, last = starts[i], starts[i + 1]
        while e + 4 <= last:
            for f in range(e + AHEAD, min(e + AHEAD + 4, last)):
                for k in range(0, width, LINE):
                    prefetch(weight, ids[f], k)
            a, b, c, d = ids[e], ids[e + 1], ids[e + 2], ids[e + 3]
            p, q, r, s = values[e], values[e + 1], values[e + 2], values[e + 3]
            for k in range(width):
                hidden[i, k] += (p * weight[a, k] + q * weight[b, k]) + (r * weight[c, k] + s * weight[d, k])
            e += 4
        while e < last:
            a, p = ids[e], values[e]
            for k in range(width):
                hidden[i, k] += p * weight[a, k]
            e += 1
        for k in range(width):
            if hidden[i, k] < 0:  # noqa: PLR1730 - max() may lose NaN
                hidden[i, k] = 0


@compiled(reassociate=True)
def softmax_rows(
    begin: int, end: int, starts: Longs, ids: Ints, positives: Longs, hidden: Real, weight: Real, bias: Real,
    scale: float, rate: float, delta: Real, gradient: Real, loss: NDArray[np.float64],
) -> None:  # fmt: skip
    """Softmax cross-entropy of samples begin..end-1 over their active rows; the target is uniform over the labels.

    For entry e of sample i, with row c = ids[e] and logits z = weight[c] . hidden[i] + bias[c]:
    delta[e] = scale * (softmax(z)[e] - [e is a label] / labels), gradient[i] = sum_e delta[e] * weight[c],
    loss[i] = logsumexp(z) - mean of z over the labels. A sample without labels has no loss and no gradient.
    With rate > 0 the rows take a step of SGD at once, without regard to other threads (Hogwild).
    """
    width = hidden.shape[1]
    zero = hidden.dtype.type(0)
    for i in range(begin, end):
        first, last, labels = starts[i], starts[i + 1], positives[i]
        loss[i] = 0.0
        for k in range(width):
            gradient[i, k] = zero
        if labels == 0:
            for e in range(first, last):
                delta[e] = zero
            continue
        e = first
        while e + 4 <= last:
            for f in range(e + AHEAD, min(e + AHEAD + 4, last)):
                for k in range(0, width, LINE):
                    prefetch(weight, ids[f], k)
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
        while e < last:
            a, p = ids[e], zero
            for k in range(width):
                p += hidden[i, k] * weight[a, k]
            delta[e] = p
            e += 1
        if bias.shape[0] > 0:
            for e in range(first, last):
                delta[e] += bias[ids[e]]
        top = delta[first]
        for e in range(first, last):
            top = max(top, delta[e])
        picked = 0.0
        for e in range(first, first + labels):
            picked += delta[e]
        total = 0.0
        for e in range(first, last):
            delta[e] = np.exp(delta[e] - top)
            total += delta[e]
        loss[i] = top + np.log(total) - picked / labels
        for e in range(first, last):
            delta[e] *= scale / total
        for e in range(first, first + labels):
            delta[e] -= scale / labels
        e = first
        while e + 4 <= last:
            a, b, c, d = ids[e], ids[e + 1], ids[e + 2], ids[e + 3]
            p, q, r, s = delta[e], delta[e + 1], delta[e + 2], delta[e + 3]
            for k in range(width):
                gradient[i, k] += (p * weight[a, k] + q * weight[b, k]) + (r * weight[c, k] + s * weight[d, k])
            e += 4
        while e < last:
            a, p = ids[e], delta[e]
            for k in range(width):
                gradient[i, k] += p * weight[a, k]
            e += 1
        if rate > 0:
            for e in range(first, last):
                a, p = ids[e], hidden.dtype.type(rate * delta[e])
                for k in range(width):
                    weight[a, k] -= p * hidden[i, k]
                if bias.shape[0] > 0:
                    bias[a] -= p


@compiled()
def count_entries(begin: int, end: int, bounds: Longs, starts: Longs, ids: Ints, mask: int, counts: Longs) -> None:
    """Add to counts[chunk, p] the entries of the chunk's samples whose row is in part p = row & mask."""
    for chunk in range(begin, end):
        for e in range(starts[bounds[chunk]], starts[bounds[chunk + 1]]):
            counts[chunk, ids[e] & mask] += 1


@compiled()
def scatter_entries(
    begin: int, end: int, bounds: Longs, starts: Longs, ids: Ints, values: Real, mask: int, places: Longs,
    rows: Ints, samples: Ints, moved: Real,
) -> None:  # fmt: skip
    """Write the entries of each chunk to the places of its parts, in the order of the samples."""
    for chunk in range(begin, end):
        for i in range(bounds[chunk], bounds[chunk + 1]):
            for e in range(starts[i], starts[i + 1]):
                part = ids[e] & mask
                place = places[chunk, part]
                places[chunk, part] = place + 1
                rows[place] = ids[e]
                samples[place] = i
                moved[place] = values[e]


@compiled()
def sort_parts(
    begin: int, end: int, parts: Longs, shift: int, keys: int, entry_rows: Ints, entry_samples: Ints,
    entry_values: Real, rows: Ints, starts: Longs, samples: Ints, values: Real, distinct: Longs,
) -> None:  # fmt: skip
    """Sort the entries of parts begin..end-1 by row, stably; rows appear in the order of their first entries.

    Part p has the entries parts[p]..parts[p + 1]; its distinct[p] rows are rows[parts[p] + j], and the entries of
    such a row begin at starts[parts[p] + j]. Within a part rows differ in row >> shift, less than `keys`.
    """
    count = np.zeros(keys, np.int32)
    for p in range(begin, end):
        first, last = parts[p], parts[p + 1]
        n = 0
        for e in range(first, last):
            key = entry_rows[e] >> shift
            if count[key] == 0:
                rows[first + n] = entry_rows[e]
                n += 1
            count[key] += 1
        place = 0
        for j in range(n):
            key = rows[first + j] >> shift
            starts[first + j] = first + place
            size = count[key]
            count[key] = place
            place += size
        for e in range(first, last):
            key = entry_rows[e] >> shift
            to = first + count[key]
            count[key] += 1
            samples[to] = entry_samples[e]
            values[to] = entry_values[e]
        for j in range(n):
            count[rows[first + j] >> shift] = 0
        distinct[p] = n


@compiled(reassociate=True)
def apply_rows(
    begin: int, end: int, parts: Longs, distinct: Longs, rows: Ints, starts: Longs, samples: Ints, values: Real,
    vectors: Real, weight: Real, bias: Real, first_moment: Real, second_moment: Real, bias_moments: Real,
    kind: int, hyper: Real, touched: NDArray[np.uint8], gradients: Real, places: Longs,
) -> None:  # fmt: skip
    """Give every row of parts begin..end-1 one step along sum_e values[e] * vectors[samples[e]] (see `step_rows`).

    If vectors have an element more than rows, each row has one entry, whose bias has that element as its gradient.
    If `gradients` has rows, the sums go to gradients[places[p] + j] instead, for row j of part p; a column after
    the last one gets sum_e values[e], the gradient of the bias.
    """
    width = weight.shape[1]
    given = vectors.shape[1] > width
    totals, biases = np.empty((AT_ONCE, width), weight.dtype), np.empty(AT_ONCE, weight.dtype)
    for part in range(begin, end):
        for j in range(distinct[part]):
            at, slot = parts[part] + j, j % AT_ONCE
            if j + AHEAD < distinct[part]:
                for k in range(0, width, LINE):
                    prefetch(weight, rows[at + AHEAD], k)
                if second_moment.shape[0] > 0:
                    for k in range(0, second_moment.shape[1], LINE):
                        prefetch(second_moment, rows[at + AHEAD], k)
                if first_moment.shape[0] > 0:
                    for k in range(0, width, LINE):
                        prefetch(first_moment, rows[at + AHEAD], k)
            e = starts[at]
            last = starts[at + 1] if j + 1 < distinct[part] else parts[part + 1]
            a, p = samples[e], values[e]
            bias_total = p * vectors[a, width] if given else p
            for k in range(width):
                totals[slot, k] = p * vectors[a, k]
            e += 1
            while e + 4 <= last:
                a, b, c, d = samples[e], samples[e + 1], samples[e + 2], samples[e + 3]
                p, q, r, s = values[e], values[e + 1], values[e + 2], values[e + 3]
                bias_total += (p + q) + (r + s)
                for k in range(width):
                    totals[slot, k] += (p * vectors[a, k] + q * vectors[b, k]) + (
                        r * vectors[c, k] + s * vectors[d, k]
                    )
                e += 4
            while e < last:
                a, p = samples[e], values[e]
                bias_total += p
                for k in range(width):
                    totals[slot, k] += p * vectors[a, k]
                e += 1
            if gradients.shape[0] > 0:
                for k in range(width):
                    gradients[places[part] + j, k] = totals[slot, k]
                if gradients.shape[1] > width:
                    gradients[places[part] + j, width] = bias_total
            else:
                biases[slot] = bias_total
                if slot == AT_ONCE - 1 or j + 1 == distinct[part]:
                    step_rows(
                        rows, at - slot, slot + 1, totals, biases, weight, bias, first_moment, second_moment,
                        bias_moments, kind, hyper,
                    )  # fmt: skip
            if touched.shape[0] > 0:
                touched[rows[at]] = 1
