"""Training of touched rows: hidden vectors, and the gradients of a softmax over active sets.

One step of a network with a sparse input layer (features, width) and an output layer (labels, width):

    h = hidden(inputs, values, w1, b1)
    output = softmax(active, h, w2, b2)
    g = output.gradient * (h > 0)
    optimizer2.step(by_row(active.lists, output.delta, len(w2)), h, w2, b2)
    optimizer1.step(by_row(inputs, values, len(w1)), g, w1)
    b1 -= rate * g.sum(axis=0)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hooke.errors import ArgumentError
from hooke.hashing.active import ActiveSets
from hooke.hashing.entries import check_ids
from hooke.hashing.family import Ints
from hooke.hashing.kernels import copy_rows, hidden_rows, softmax_rows
from hooke.hashing.lists import Lists
from hooke.hashing.step_kernels import Real
from hooke.hashing.threads import ONE, Threads


def hidden(inputs: Lists, values: Real, weight: Real, bias: Real, threads: Threads = ONE) -> Real:
    """Return max(0, bias + sum_e values[e] * weight[inputs.ids[e]]) of every sample, as (samples, width)."""
    check_ids(inputs.ids, len(weight), "features")
    if len(values) != len(inputs.ids):
        raise ArgumentError(f"{len(values)} values given for {len(inputs.ids)} features")
    out = np.empty((len(inputs.starts) - 1, weight.shape[1]), weight.dtype)

    def work(begin: int, end: int) -> None:
        hidden_rows(begin, end, inputs.starts, inputs.ids, values, weight, bias, out)

    threads.over(len(out), work, 4)
    return out


def rows_of(weight: Real, ids: Ints, threads: Threads = ONE) -> Real:
    """Return a copy of these rows of a matrix, whose ids are in range: the result of weight[ids]."""
    found = np.empty((len(ids), weight.shape[1]), weight.dtype)
    none = np.empty((0, 0), weight.dtype)
    threads.over(len(ids), lambda begin, end: copy_rows(begin, end, ids, weight, found, none), 256)
    return found


@dataclass(frozen=True)
class Output:
    """What `softmax` computes."""

    delta: Real
    """Of every entry of the active lists: derivative of the loss by its logit."""
    gradient: Real
    """Derivative of the loss by the hidden vectors, (samples, width)."""
    loss: NDArray[np.float64]
    """Cross-entropy of each sample, not scaled."""


def softmax(
    active: ActiveSets,
    vectors: Real,
    weight: Real,
    bias: Real | None = None,
    *,
    scale: float | None = None,
    hogwild_rate: float = 0.0,
    threads: Threads = ONE,
) -> Output:
    """Return loss and derivatives of a softmax over each sample's active rows.

    `vectors` (samples, width). The target is uniform over a sample's labels. `scale` is a factor of the
    derivatives, by default 1 / samples. The softmax is normalized over active rows only, so loss and gradients are
    biased unless all rows are active.

    With `hogwild_rate` > 0 threads also subtract hogwild_rate * gradient from the rows while others read them
    (Recht et al. 2011). This saves the second phase for SGD; results then depend on the threads.
    """
    check_ids(active.lists.ids, len(weight), "labels")
    n = len(vectors)
    if len(active.positives) != n:
        raise ArgumentError(f"{len(active.positives)} active sets given for {n} hidden vectors")
    if vectors.dtype != weight.dtype or vectors.shape[1] != weight.shape[1]:
        raise ArgumentError(
            f"{vectors.dtype} vectors of {vectors.shape[1]} given to {weight.dtype} rows of {weight.shape[1]}"
        )
    output = Output(np.empty(len(active.lists.ids), weight.dtype), np.empty_like(vectors), np.empty(n))
    factor = 1 / max(n, 1) if scale is None else scale
    biases = np.empty(0, weight.dtype) if bias is None else bias

    def work(begin: int, end: int) -> None:
        softmax_rows(
            begin, end, active.lists.starts, active.lists.ids, active.positives, vectors, weight, biases,
            factor, hogwild_rate, output.delta, output.gradient, output.loss,
        )  # fmt: skip

    threads.over(n, work)
    return output
